/** Victims: which Pods a ReplicaSet gives up first (controller.ActivePodsWithRanks). */
import type { Pod } from '../objects.ts';
import { createdAt, isReady, readySince, restartsOf } from '../pod-facts.ts';

const deletionCost = 'controller.kubernetes.io/pod-deletion-cost';

interface Surroundings {
  readonly related: readonly Pod[];
  readonly now: number;
}

/** The first `count` in the order of deletion. */
export function victims(pods: readonly Pod[], count: number, { related, now }: Surroundings): readonly Pod[] {
  if (count <= 0) return [];
  if (count >= pods.length) return pods;
  const crowd = new Map<string, number>();
  for (const { spec } of related) {
    if (spec.nodeName) crowd.set(spec.nodeName, (crowd.get(spec.nodeName) ?? 0) + 1);
  }
  const ranked = pods.map((pod) => ({ pod, rank: rankOf(pod, crowd, now) }));
  ranked.sort((a, b) => compare(a.rank, b.rank) || compareText(a.pod.metadata.uid, b.pod.metadata.uid));
  return ranked.slice(0, count).map(({ pod }) => pod);
}

/** Lower goes first, the first difference decides. */
function rankOf(pod: Pod, crowd: ReadonlyMap<string, number>, now: number): readonly number[] {
  const ready = isReady(pod);
  return [
    pod.spec.nodeName ? 1 : 0,
    phaseRank(pod),
    ready ? 1 : 0,
    costOf(pod),
    -(crowd.get(pod.spec.nodeName ?? '') ?? 0),
    ready ? ageClass(now - (readySince(pod) ?? now)) : 0,
    -restartsOf(pod),
    ageClass(now - createdAt(pod)),
  ];
}

function phaseRank({ status }: Pod): number {
  if (status?.phase === 'Running') return 2;
  return status?.phase === 'Unknown' ? 1 : 0;
}

/** An annotation that is no 32-bit integer counts as 0. */
function costOf({ metadata }: Pod): number {
  const text = metadata.annotations?.[deletionCost] ?? '0';
  return /^(0|-?[1-9]\d{0,9})$/.test(text) ? Number(text) : 0;
}

/** Ages of the same power of two in nanoseconds are the same: exact ones would always hit the newest Pods. */
function ageClass(age: number): number {
  return age <= 0 ? 0 : Math.floor(Math.log2(age * 1e6));
}

function compare(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((value, i) => value !== b[i]);
  return index < 0 ? 0 : (a[index] ?? 0) - (b[index] ?? 0);
}

function compareText(a = '', b = ''): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
