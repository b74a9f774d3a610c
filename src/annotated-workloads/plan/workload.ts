/** Workload: a Deployment, StatefulSet or DaemonSet, as far as it matters for the ConfigWatcher that it asks for. */
import { workloadAnnotation } from '../../api/configwatcher-constants.ts';
import type { Container, KubernetesObject, ObjectMeta, PodSpec } from '../../kubernetes/objects.ts';
import type { LabelSelector } from '../../kubernetes/selector.ts';

export interface Workload extends KubernetesObject {
  readonly spec?: {
    /** Of a Deployment. */
    readonly paused?: boolean;
    readonly selector?: LabelSelector;
    readonly template?: {
      readonly metadata?: Partial<ObjectMeta>;
      readonly spec?: PodSpec;
    };
  };
}

export type Annotations = Readonly<Record<string, string>>;

/** Which workloads ask for something. */
export interface Modes {
  /** Annotations of Reloader count, too. */
  readonly reloaderAnnotations: boolean;
  /** Every workload asks as if it had Reloader's `auto: "true"`. */
  readonly autoReloadAll: boolean;
}

/** Of Reloader's own Deployment: it sends alerts. */
export const alertVariable = 'ALERT_ON_RELOAD';

/** Whether any of these is an annotation of Reloader. */
export function hasReloaderAnnotation(annotations: Annotations | undefined): boolean {
  return Object.keys(annotations ?? {}).some((key) => /(^|\.)reloader\.stakater\.com\//.test(key));
}

function containersOf(spec: PodSpec | undefined): readonly Container[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
}

/** Whether the workload has to be looked at. */
export function asksForSomething(
  { metadata: { annotations = {} }, spec }: Workload,
  { reloaderAnnotations, autoReloadAll }: Modes,
): boolean {
  if (annotations[workloadAnnotation.restartOnChange] !== undefined || autoReloadAll) return true;
  if (!reloaderAnnotations) return false;
  const { metadata, spec: podSpec } = spec?.template ?? {};
  return (
    hasReloaderAnnotation(annotations) ||
    hasReloaderAnnotation(metadata?.annotations) ||
    containersOf(podSpec).some(({ env = [] }) => env.some(({ name }) => name === alertVariable))
  );
}

/** Of a workload that asks for nothing, which one it is; of another one besides, what its ConfigWatcher is made of. */
export function transformWorkload(workload: Workload, modes: Modes): Workload {
  const { name, namespace, uid, resourceVersion, generation, deletionTimestamp } = workload.metadata;
  const identity = {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(generation !== undefined && { generation }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
  };
  if (!asksForSomething(workload, modes)) return { metadata: identity };
  const { paused, selector, template: { metadata, spec } = {} } = workload.spec ?? {};
  const annotations = transformAnnotations(workload.metadata.annotations);
  const template = {
    metadata: { labels: metadata?.labels ?? {}, annotations: transformAnnotations(metadata?.annotations) },
    ...(spec && { spec: transformPodSpec(spec) }),
  };
  return {
    metadata: { ...identity, annotations },
    spec: { ...(paused && { paused }), ...(selector && { selector }), template },
  };
}

const own: ReadonlySet<string> = new Set(Object.values(workloadAnnotation));

function transformAnnotations(annotations: Annotations = {}): Annotations {
  const kept = Object.entries(annotations).filter(
    ([key, value]) => own.has(key) || hasReloaderAnnotation({ [key]: value }),
  );
  return Object.fromEntries(kept);
}

function transformPodSpec({ containers = [], initContainers = [], volumes = [] }: PodSpec): PodSpec {
  const transformContainer = ({ name, env = [], envFrom = [], volumeMounts = [] }: Container): Container => ({
    name,
    env: env
      .filter(({ name: variable, valueFrom }) => valueFrom || variable === alertVariable)
      .map(({ name: variable, valueFrom }) => ({ name: variable, ...(valueFrom && { valueFrom }) })),
    envFrom,
    volumeMounts: volumeMounts.map((mount) => ({ name: mount.name })),
  });
  return {
    containers: containers.map(transformContainer),
    initContainers: initContainers.map(transformContainer),
    volumes: volumes.filter(
      ({ configMap, secret, projected, csi }) => configMap ?? secret ?? projected ?? csi,
    ),
  };
}
