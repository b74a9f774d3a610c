/**
 * Pod Security: the standards baseline and restricted, where a namespace enforces one by its label.
 */
import type { Etcd } from '../etcd.ts';
import { forbidden } from '../failure.ts';
import { isJsonObject, type JsonObject } from '../json-value.ts';
import { listOf } from '../pod-defaults.ts';
import { specOf } from '../pods.ts';
import type { Router } from '../route.ts';
import type { Admit } from './admission.ts';

const label = 'pod-security.kubernetes.io/enforce';

/** Undefined: the Pod keeps the rule. */
type Check = (spec: JsonObject) => string | undefined;

/** @returns what refuses a Pod that violates the standard of its namespace with 403. */
export function podSecurity(etcd: Etcd, router: Router): Admit {
  return ({ operation, resource, subresource, namespace, name, object }) => {
    const isPod = resource.plural === 'pods' && resource.group === '' && subresource === '';
    if (operation !== 'CREATE' || !isPod || object === undefined) return;
    const namespaces = router.find('', 'v1', 'namespaces');
    const labels = namespaces && etcd.get(namespaces, '', namespace)?.metadata.labels;
    const level = labels?.[label] ?? '';
    const violations = (checks[level] ?? []).flatMap((check) => check(specOf(object)) ?? []);
    if (violations.length === 0) return;
    const version = labels?.[`${label}-version`] ?? 'latest';
    const why = `violates PodSecurity "${level}:${version}": ${violations.join(', ')}`;
    throw forbidden(resource, name, why);
  };
}

function contextOf(value: JsonObject): JsonObject {
  return isJsonObject(value.securityContext) ? value.securityContext : {};
}

function containersOf(spec: JsonObject): readonly JsonObject[] {
  return [...listOf(spec.initContainers), ...listOf(spec.containers)];
}

function counted(noun: string, names: readonly unknown[]): string {
  const quoted = names.map((name) => `"${name}"`).join(', ');
  return `${noun}${names.length === 1 ? '' : 's'} ${quoted}`;
}

/** The containers of which something holds, as `container "a"` or `containers "a", "b"`. */
function offending(spec: JsonObject, isBad: (context: JsonObject) => boolean): string | undefined {
  const names = containersOf(spec)
    .filter((container) => isBad(contextOf(container)))
    .map(({ name }) => name);
  return names.length === 0 ? undefined : counted('container', names);
}

const hostNamespaces: Check = (spec) => {
  const used = ['hostNetwork', 'hostPID', 'hostIPC'].filter((field) => spec[field] === true);
  return used.length === 0
    ? undefined
    : `host namespaces (${used.map((field) => `${field}=true`).join(', ')})`;
};

const hostPathVolumes: Check = (spec) => {
  const names = listOf(spec.volumes).flatMap(({ name, hostPath }) => (hostPath === undefined ? [] : [name]));
  return names.length === 0 ? undefined : `hostPath volumes (${counted('volume', names)})`;
};

const privileged: Check = (spec) => {
  const bad = offending(spec, (context) => context.privileged === true);
  return bad && `privileged (${bad} must not set securityContext.privileged=true)`;
};

const escalation: Check = (spec) => {
  const bad = offending(spec, (context) => context.allowPrivilegeEscalation !== false);
  return (
    bad &&
    `allowPrivilegeEscalation != false (${bad} must set securityContext.allowPrivilegeEscalation=false)`
  );
};

const capabilities: Check = (spec) => {
  const bad = offending(spec, ({ capabilities: given }) => {
    const drop = isJsonObject(given) && Array.isArray(given.drop) ? given.drop : [];
    return !drop.includes('ALL');
  });
  return bad && `unrestricted capabilities (${bad} must set securityContext.capabilities.drop=["ALL"])`;
};

const allowedVolumes = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
];

const restrictedVolumes: Check = (spec) => {
  const bad = listOf(spec.volumes).flatMap(({ name, ...sources }) => {
    const [type] = Object.keys(sources).filter((source) => !allowedVolumes.includes(source));
    return type === undefined ? [] : [{ name, type }];
  });
  if (bad.length === 0) return undefined;
  const types = [...new Set(bad.map(({ type }) => `"${type}"`))];
  const uses = bad.length === 1 ? 'uses' : 'use';
  const noun = types.length === 1 ? 'type' : 'types';
  const volumes = counted(
    'volume',
    bad.map(({ name }) => name),
  );
  return `restricted volume types (${volumes} ${uses} restricted volume ${noun} ${types.join(', ')})`;
};

const nonRoot: Check = (spec) => {
  const ofPod = contextOf(spec).runAsNonRoot;
  const denying = offending(spec, ({ runAsNonRoot }) => runAsNonRoot === false);
  const setters = [...(ofPod === false ? ['pod'] : []), ...(denying === undefined ? [] : [denying])];
  const prefix = 'runAsNonRoot != true';
  if (setters.length > 0)
    return `${prefix} (${setters.join(' and ')} must not set securityContext.runAsNonRoot=false)`;
  if (ofPod === true) return undefined;
  const silent = offending(spec, ({ runAsNonRoot }) => runAsNonRoot === undefined);
  return silent && `${prefix} (pod or ${silent} must set securityContext.runAsNonRoot=true)`;
};

const user: Check = (spec) => {
  const bad = offending(spec, ({ runAsUser }) => runAsUser === 0);
  const setters = [...(contextOf(spec).runAsUser === 0 ? ['pod'] : []), ...(bad === undefined ? [] : [bad])];
  return setters.length === 0 ? undefined : `runAsUser=0 (${setters.join(' and ')} must not set runAsUser=0)`;
};

const seccomp: Check = (spec) => {
  const isSet = (context: JsonObject) => isJsonObject(context.seccompProfile);
  if (isSet(contextOf(spec))) return undefined;
  const silent = offending(spec, (context) => !isSet(context));
  return (
    silent &&
    `seccompProfile (pod or ${silent} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`
  );
};

const checks: Readonly<Record<string, readonly Check[]>> = {
  baseline: [hostNamespaces, hostPathVolumes, privileged],
  restricted: [
    hostNamespaces,
    privileged,
    escalation,
    capabilities,
    restrictedVolumes,
    nonRoot,
    user,
    seccomp,
  ],
};
