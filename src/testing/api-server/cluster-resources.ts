/**
 * Cluster resources: what every Kubernetes API server serves, as far as operators meet it.
 */
import { configMaps, pods } from '../../kubernetes/objects.ts';
import { servedDefinitions } from './custom/definitions.ts';
import { forbiddenValue } from './failure.ts';
import { equalJson, isJsonObject, type JsonObject } from './json-value.ts';
import { defaultedTemplateSpec } from './pod-defaults.ts';
import { podStrategy } from './pods.ts';
import type { ServedResource } from './served-resource.ts';
import type { AnyObject, Strategy } from './strategy.ts';

/** Neither status nor generation: plain data. */
const data = { status: false, generation: false, conditionalUpdate: false, managedFields: true } as const;
const core = { group: '', version: 'v1', namespaced: true } as const;

const namespaceStrategy: Strategy = {
  prepare(object, old, { subresource }) {
    if (old !== undefined && subresource !== 'finalize') return { ...object, spec: old.spec };
    if (old !== undefined) return object;
    const { metadata } = object;
    const labels = { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name };
    const spec = { finalizers: ['kubernetes'] };
    return { ...object, metadata: { ...metadata, labels }, spec, status: { phase: 'Active' } };
  },
  terminating: (object) => {
    const { deletionGracePeriodSeconds, ...metadata } = object.metadata;
    return { ...object, metadata, status: { phase: 'Terminating' } };
  },
  isHeld: ({ spec }) => isJsonObject(spec) && Array.isArray(spec.finalizers) && spec.finalizers.length > 0,
};

/** Defaults of what runs Pods. `fields` gives what the kind alone has. */
function workloadStrategy(fields: (spec: JsonObject) => JsonObject): Strategy {
  return {
    prepare(object, old, { subresource }) {
      if (subresource === 'status' || !isJsonObject(object.spec)) return object;
      const spec = { ...fields(object.spec), ...object.spec, template: templateOf(object.spec.template) };
      return { ...object, spec, ...(old === undefined && { status: {} }) };
    },
  };
}

/** A ConfigMap or a Secret: once it is immutable its data stay as they are, and it stays immutable. */
const sourceStrategy: Strategy = {
  validate(object, old) {
    const [before, after] = [old ?? {}, object] as unknown as readonly [JsonObject, JsonObject];
    if (before.immutable !== true) return [];
    return ['immutable', 'data', 'binaryData']
      .filter((field) => !equalJson(before[field], after[field]))
      .map((field) => forbiddenValue(field, 'field is immutable when `immutable` is set'));
  },
};

function templateOf(template: unknown): unknown {
  if (!isJsonObject(template) || !isJsonObject(template.spec)) return template;
  return { ...template, spec: defaultedTemplateSpec(template.spec) };
}

function templateIn({ spec }: AnyObject): unknown {
  return isJsonObject(spec) ? spec.template : undefined;
}

const deploymentStrategy = workloadStrategy(() => ({
  replicas: 1,
  strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
  revisionHistoryLimit: 10,
  progressDeadlineSeconds: 600,
}));
const statefulSetStrategy = workloadStrategy(() => ({
  replicas: 1,
  podManagementPolicy: 'OrderedReady',
  updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
  revisionHistoryLimit: 10,
  persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
}));
const daemonSetDefaults = workloadStrategy(() => ({
  updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
  revisionHistoryLimit: 10,
}));
const generationAnnotation = 'deprecated.daemonset.template.generation';
/** The server counts the templates of a DaemonSet. */
const daemonSetStrategy: Strategy = {
  prepare(object, old, context) {
    const made = daemonSetDefaults.prepare?.(object, old, context) ?? object;
    if (context.subresource === 'status') return made;
    const before = Number(old?.metadata.annotations?.[generationAnnotation] ?? 0);
    const isSame = equalJson(templateIn(made), old && templateIn(old));
    const generation = String(isSame ? before : before + 1);
    const annotations = { ...made.metadata.annotations, [generationAnnotation]: generation };
    return { ...made, metadata: { ...made.metadata, annotations } };
  },
};
const replicaSetStrategy = workloadStrategy(() => ({ replicas: 1 }));

const apps = {
  group: 'apps',
  version: 'v1',
  namespaced: true,
  conditionalUpdate: false,
  managedFields: true,
} as const;

const disruptionBudgetStrategy: Strategy = {
  prepare: (object: AnyObject, old) =>
    old === undefined
      ? {
          ...object,
          status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
        }
      : object,
};

export const servedPods: ServedResource = {
  ...pods,
  conditionalUpdate: false,
  returnsDeleted: true,
  managedFields: true,
  statusTakesMetadata: true,
  selectableFields: [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'status.phase',
    'status.podIP',
    'status.nominatedNodeName',
  ],
  subresources: ['eviction', 'binding'],
  strategy: podStrategy,
};

export const servedNamespaces: ServedResource = {
  ...core,
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
  generation: false,
  conditionalUpdate: false,
  returnsDeleted: true,
  selectableFields: ['status.phase'],
  subresources: ['finalize'],
  strategy: namespaceStrategy,
};

/** All of them but Roles and their bindings: where those are served, too, rights are asked for. */
export const clusterResources: readonly ServedResource[] = [
  servedDefinitions,
  servedPods,
  servedNamespaces,
  { ...configMaps, ...data, strategy: sourceStrategy },
  {
    ...{ ...core, ...data, plural: 'secrets', kind: 'Secret', selectableFields: ['type'] },
    strategy: sourceStrategy,
  },
  { ...core, ...data, plural: 'serviceaccounts', kind: 'ServiceAccount', returnsDeleted: true },
  {
    ...core,
    ...data,
    managedFields: false,
    plural: 'events',
    kind: 'Event',
    selectableFields: ['involvedObject.name', 'involvedObject.uid', 'reason', 'type'],
  },
  { ...core, ...data, managedFields: false, plural: 'nodes', kind: 'Node', namespaced: false, status: true },
  { ...core, ...data, plural: 'resourcequotas', kind: 'ResourceQuota', status: true, returnsDeleted: true },
  { ...core, plural: 'services', kind: 'Service', namespaced: true, status: true, generation: false },
  {
    ...data,
    group: 'events.k8s.io',
    version: 'v1',
    plural: 'events',
    kind: 'Event',
    namespaced: true,
    managedFields: false,
    selectableFields: ['regarding.name', 'reason', 'type'],
  },
  {
    ...data,
    group: 'coordination.k8s.io',
    version: 'v1',
    plural: 'leases',
    kind: 'Lease',
    namespaced: true,
    managedFields: false,
  },
  {
    ...apps,
    plural: 'deployments',
    kind: 'Deployment',
    subresources: ['scale'],
    strategy: deploymentStrategy,
  },
  {
    ...apps,
    plural: 'replicasets',
    kind: 'ReplicaSet',
    subresources: ['scale'],
    strategy: replicaSetStrategy,
  },
  {
    ...apps,
    plural: 'statefulsets',
    kind: 'StatefulSet',
    subresources: ['scale'],
    strategy: statefulSetStrategy,
  },
  { ...apps, plural: 'daemonsets', kind: 'DaemonSet', strategy: daemonSetStrategy },
  { ...apps, ...data, plural: 'controllerrevisions', kind: 'ControllerRevision' },
  { ...apps, group: 'batch', plural: 'jobs', kind: 'Job' },
  {
    ...apps,
    group: 'policy',
    plural: 'poddisruptionbudgets',
    kind: 'PodDisruptionBudget',
    conditionalUpdate: true,
    strategy: disruptionBudgetStrategy,
  },
];
