/** Whether a Pod may run on a node: selector, affinity to one node's name, taints, capacity. */
import type { Node, PodSpec, Taint, Toleration } from './objects.ts';

export const unreachableTaint = 'node.kubernetes.io/unreachable';
const unschedulableTaint = 'node.kubernetes.io/unschedulable';

/** The node that `affinity` names, as the Pods of a DaemonSet have it; undefined: any. */
export function affineNode({ affinity }: PodSpec): string | undefined {
  const terms = (affinity as NodeAffinity | undefined)?.nodeAffinity
    ?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return terms
    ?.flatMap(({ matchFields = [] }) => matchFields)
    .find(({ key, operator }) => key === 'metadata.name' && operator === 'In')?.values?.[0];
}

interface NodeAffinity {
  readonly nodeAffinity?: {
    readonly requiredDuringSchedulingIgnoredDuringExecution?: {
      readonly nodeSelectorTerms?: readonly {
        readonly matchFields?: readonly {
          readonly key: string;
          readonly operator: string;
          readonly values?: readonly string[];
        }[];
      }[];
    };
  };
}

/** An affinity that only the node of this name fulfills. */
export function affinityTo(node: string): object {
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node] }];
  return {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
    },
  };
}

export function matchesNode(spec: PodSpec, { metadata }: Node): boolean {
  const { labels = {} } = metadata;
  const selected = Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value);
  return selected && (affineNode(spec) ?? metadata.name) === metadata.name;
}

export function tolerates(tolerations: readonly Toleration[] | undefined, taint: Taint): boolean {
  return (tolerations ?? []).some((toleration) => isTolerated(toleration, taint));
}

/** The toleration that answers a taint, of which the shortest time counts. */
export function isTolerated(
  { key, operator = 'Equal', value = '', effect }: Toleration,
  taint: Taint,
): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  return operator === 'Exists' || (key !== undefined && value === (taint.value ?? ''));
}

/** The taints of a node with one of these effects that the Pod does not tolerate. */
export function untolerated(
  spec: PodSpec,
  { spec: node = {} }: Node,
  effects: readonly string[],
): readonly Taint[] {
  const cordon: Taint[] = node.unschedulable ? [{ key: unschedulableTaint, effect: 'NoSchedule' }] : [];
  return [...(node.taints ?? []), ...cordon].filter(
    (taint) => effects.includes(taint.effect) && !tolerates(spec.tolerations, taint),
  );
}

/** How many Pods fit on it. */
export function podCapacity({ status }: Node): number {
  return Number(status?.allocatable?.pods ?? status?.capacity?.pods ?? 110);
}
