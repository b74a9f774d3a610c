/**
 * Pod defaults: what a Pod gets where its template says nothing, so that a bare command runs with as few
 * rights as it can and passes Pod Security "restricted". What the template says always wins.
 */
import { isJson, type Json } from './template.ts';

/** The usual id of a user without rights, as in distroless images. */
const nonRootId = 65_532;

/** The PodSpec with secure defaults, for itself and for every container in it. */
export function withSecureDefaults(spec: Json): Json {
  const secured = { automountServiceAccountToken: false, ...spec };
  // The API server refuses security settings of Linux on a Pod for Windows.
  if (isJson(spec.os) && spec.os.name === 'windows') {
    return secured;
  }
  return {
    ...secured,
    securityContext: podSecurityContext(settingsOf(spec.securityContext)),
    ...securedContainers('containers', spec),
    ...securedContainers('initContainers', spec),
  };
}

function settingsOf(value: unknown): Json {
  return isJson(value) ? value : {};
}

function podSecurityContext(given: Json): Json {
  // A template that asks for root, or for the user of the image, keeps that user.
  const chosen = given.runAsUser === 0 || given.runAsNonRoot === false;
  return {
    ...(chosen ? {} : { runAsNonRoot: true, runAsUser: nonRootId, runAsGroup: nonRootId }),
    seccompProfile: { type: 'RuntimeDefault' },
    ...given,
  };
}

function securedContainers(field: string, spec: Json): Json {
  const containers = spec[field];
  if (!Array.isArray(containers)) {
    return {};
  }
  return {
    [field]: containers.filter(isJson).map((container) => ({
      ...container,
      securityContext: containerSecurityContext(settingsOf(container.securityContext)),
    })),
  };
}

function containerSecurityContext(given: Json): Json {
  const privileged = given.privileged === true;
  // The API server refuses allowPrivilegeEscalation: false for a container that is privileged anyway.
  const elevated = privileged || addedCapabilities(given).includes('CAP_SYS_ADMIN');
  return {
    ...(elevated ? {} : { allowPrivilegeEscalation: false }),
    ...(privileged ? {} : { capabilities: { drop: ['ALL'] } }),
    // Otherwise the Pod's runAsNonRoot would keep a container that asks for root from ever starting.
    ...(given.runAsUser === 0 ? { runAsNonRoot: false } : {}),
    ...given,
  };
}

function addedCapabilities(given: Json): readonly unknown[] {
  const added = settingsOf(given.capabilities).add;
  return Array.isArray(added) ? added : [];
}
