/** Which Pods a ConfigWatcher selects, by a reading that shares nothing with the operator's own. */
import type { ConfigWatcher, ConfigWatcherSpec } from '../../src/api/configwatcher.generated.ts';
import { type Container, controllerOf, type Pod } from '../../src/kubernetes/objects.ts';
import type { SourceRef } from './content.ts';

export function selects(spec: ConfigWatcherSpec, pod: Pod): boolean {
  return hasLabels(spec, pod) && isConcerned(spec, pod);
}

/** Whether the watcher is for such Pods: one that a workload controls is for those of this workload alone. */
export function isFor(watcher: ConfigWatcher, pod: Pod): boolean {
  const owner = controllerOf(watcher);
  if (!owner?.apiVersion.startsWith('apps/')) return true;
  const { 'pod-template-hash': hash } = pod.metadata.labels ?? {};
  return controllerOf(pod)?.name === (owner.kind === 'Deployment' ? `${owner.name}-${hash}` : owner.name);
}

/** Whether it has the labels that the selector asks for. */
export function hasLabels(spec: ConfigWatcherSpec, pod: Pod): boolean {
  const labels = pod.metadata.labels ?? {};
  const wanted = Object.entries(spec.podSelector ?? {});
  if (wanted.length === 0) return false;
  return (
    wanted.every(([key, value]) => labels[key] === value) &&
    (spec.podSelectorExpressions ?? []).every((one) => meets(one, labels[one.key]))
  );
}

/** Whether it refers to a source, where that is asked for. */
export function isConcerned(spec: ConfigWatcherSpec, pod: Pod): boolean {
  return spec.onlyReferencing !== true || sourcesOf(spec).some((source) => refersTo(pod, source));
}

function meets(
  { operator, values = [] }: { readonly operator: string; readonly values?: readonly string[] },
  value: string | undefined,
): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    default:
      return value === undefined;
  }
}

export function sourcesOf(spec: ConfigWatcherSpec): SourceRef[] {
  const { configMap, keys = [], sources = [] } = spec;
  const main = configMap === undefined ? [] : [{ kind: 'ConfigMap', name: configMap, keys, optional: false }];
  return [
    ...main,
    ...sources.map((one) => ({ ...one, keys: one.keys ?? [], optional: one.optional ?? false })),
  ];
}

/** Whether any container or volume of the Pod names the source. */
export function refersTo({ spec }: Pod, { kind, name }: Pick<SourceRef, 'kind' | 'name'>): boolean {
  const isSecret = kind === 'Secret';
  const inContainer = ({ env = [], envFrom = [] }: Container) =>
    env.some(({ valueFrom }) =>
      [isSecret ? valueFrom?.secretKeyRef?.name : valueFrom?.configMapKeyRef?.name].includes(name),
    ) || envFrom.some(({ configMapRef, secretRef }) => (isSecret ? secretRef : configMapRef)?.name === name);
  const inVolume = (spec.volumes ?? []).some(({ configMap, secret, projected }) => {
    const names = (projected?.sources ?? []).map((one) =>
      isSecret ? one.secret?.name : one.configMap?.name,
    );
    return [isSecret ? secret?.secretName : configMap?.name, ...names].includes(name);
  });
  return inVolume || [...spec.containers, ...(spec.initContainers ?? [])].some(inContainer);
}
