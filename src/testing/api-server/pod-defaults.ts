/**
 * Pod defaults: what the API server fills into the spec of a new Pod, as far as a client that reads it back notices.
 */
import { isJsonObject, type JsonObject } from './json-value.ts';

const specDefaults = {
  restartPolicy: 'Always',
  terminationGracePeriodSeconds: 30,
  dnsPolicy: 'ClusterFirst',
  securityContext: {},
  schedulerName: 'default-scheduler',
  tolerations: [],
  priority: 0,
  enableServiceLinks: true,
  preemptionPolicy: 'PreemptLowerPriority',
};

const notReady = ['not-ready', 'unreachable'].map((state) => ({
  key: `node.kubernetes.io/${state}`,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 300,
}));

const containerDefaults = {
  resources: {},
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
};

/** What a template of Pods gets as well. */
export function defaultedTemplateSpec(spec: JsonObject): JsonObject {
  const { priority, tolerations, enableServiceLinks, preemptionPolicy, ...defaults } = specDefaults;
  return { ...withContainers(spec), ...missing(defaults, spec) };
}

export function defaultedPodSpec(spec: JsonObject): JsonObject {
  const serviceAccount = spec.serviceAccountName ?? spec.serviceAccount ?? 'default';
  const given = Array.isArray(spec.tolerations) ? spec.tolerations : [];
  const added = notReady.filter(({ key }) => !given.some((toleration) => toleration?.key === key));
  return {
    ...withContainers(spec),
    ...missing({ ...specDefaults, serviceAccountName: serviceAccount, serviceAccount }, spec),
    tolerations: [...given, ...added],
  };
}

function missing(defaults: JsonObject, spec: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(defaults).filter(([key]) => spec[key] === undefined));
}

function withContainers(spec: JsonObject): JsonObject {
  const result: Record<string, unknown> = { ...spec };
  for (const key of ['containers', 'initContainers']) {
    const list = spec[key];
    if (Array.isArray(list)) result[key] = list.map(defaultedContainer);
  }
  return result;
}

function defaultedContainer(container: unknown): unknown {
  if (!isJsonObject(container)) return container;
  return {
    ...container,
    ...missing({ ...containerDefaults, imagePullPolicy: pullPolicyOf(container.image) }, container),
  };
}

/** An image without a tag, or with `latest`, is pulled for each start. */
function pullPolicyOf(image: unknown): string {
  const last =
    String(image ?? '')
      .split('/')
      .at(-1) ?? '';
  const isPinned = last.includes('@') || (last.includes(':') && !last.endsWith(':latest'));
  return isPinned ? 'IfNotPresent' : 'Always';
}

/** The class by which a kubelet evicts. */
export function qosClassOf(spec: JsonObject): string {
  const containers = [...listOf(spec.containers), ...listOf(spec.initContainers)];
  const resources = containers.map(({ resources }) => (isJsonObject(resources) ? resources : {}));
  const isSet = (value: unknown) => isJsonObject(value) && Object.keys(value).length > 0;
  if (!resources.some(({ requests, limits }) => isSet(requests) || isSet(limits))) return 'BestEffort';
  const isGuaranteed = resources.every(({ requests, limits }) => {
    if (!isJsonObject(limits)) return false;
    const wanted = isJsonObject(requests) ? requests : limits;
    return ['cpu', 'memory'].every(
      (name) => limits[name] !== undefined && (wanted[name] ?? limits[name]) === limits[name],
    );
  });
  return isGuaranteed ? 'Guaranteed' : 'Burstable';
}

export function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
