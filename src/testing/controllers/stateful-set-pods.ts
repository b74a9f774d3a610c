/** The Pods of a StatefulSet as objects: each ordinal has its name, its labels and a revision. */
import { controllerOf, type KubernetesObject } from '../../kubernetes/objects.ts';
import type { Pod, PodSpec, PodTemplate } from '../objects.ts';
import { conditionOf, isTerminating } from '../pod-facts.ts';
import { type ControllerRevision, type StatefulSet, statefulSets } from '../workloads.ts';
import { workloadRef } from './claim.ts';
import { revisionLabel, templateOf } from './revisions.ts';

const nameLabel = 'statefulset.kubernetes.io/pod-name';
const indexLabel = 'apps.kubernetes.io/pod-index';

/** The ordinal in a Pod's name; undefined for a name of another form. */
export function ordinalOf(setName: string, name: string): number | undefined {
  if (!name.startsWith(`${setName}-`)) return undefined;
  const suffix = name.slice(setName.length + 1);
  return /^(0|[1-9]\d*)$/.test(suffix) ? Number(suffix) : undefined;
}

export function isMember(set: StatefulSet): (object: KubernetesObject) => boolean {
  return ({ metadata }) => ordinalOf(set.metadata.name, metadata.name) !== undefined;
}

export function podOfOrdinal(set: StatefulSet, revision: ControllerRevision, ordinal: number): Pod {
  const { name: setName, namespace = '' } = set.metadata;
  const name = `${setName}-${ordinal}`;
  const template: PodTemplate = templateOf(revision);
  const { labels, annotations, finalizers } = template.metadata ?? {};
  const { serviceName } = set.spec;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      labels: {
        ...labels,
        [nameLabel]: name,
        [indexLabel]: String(ordinal),
        [revisionLabel]: revision.metadata.name,
      },
      ...(annotations && { annotations }),
      ...(finalizers && { finalizers }),
      ownerReferences: [workloadRef(statefulSets, set)],
    },
    spec: {
      ...template.spec,
      ...volumesOf(set, name, template),
      ...{ hostname: name, ...(serviceName && { subdomain: serviceName }) },
    },
  };
}

/** Each claim of the set replaces a volume of its name. The claims themselves are not made. */
function volumesOf({ spec }: StatefulSet, pod: string, template: PodTemplate): Pick<PodSpec, 'volumes'> {
  const claims = (spec.volumeClaimTemplates ?? []).map(({ metadata: { name } }) => ({
    name,
    persistentVolumeClaim: { claimName: `${name}-${pod}` },
  }));
  const others = (template.spec.volumes ?? []).filter(({ name }) => claims.every((one) => one.name !== name));
  return claims.length === 0 ? {} : { volumes: [...others, ...claims] };
}

export function podRevisionOf({ metadata }: Pod): string {
  return metadata.labels?.[revisionLabel] ?? '';
}

export function isRunningAndReady(pod: Pod): boolean {
  return pod.status?.phase === 'Running' && conditionOf(pod, 'Ready')?.status === 'True';
}

export function isHealthy(pod: Pod): boolean {
  return isRunningAndReady(pod) && !isTerminating(pod);
}

export function isOwnedBy(pod: Pod, { metadata }: StatefulSet): boolean {
  return controllerOf(pod)?.uid === metadata.uid;
}
