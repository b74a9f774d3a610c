/** Disruption: the status of a PodDisruptionBudget, by which evictions are granted. A pure decision. */
import { controllerOf, type OwnerReference } from '../../kubernetes/objects.ts';
import { selects } from '../../kubernetes/selector.ts';
import { formatTime, parseTime } from '../../kubernetes/time.ts';
import { equalJson } from '../api-server/json-value.ts';
import { scaled } from '../int-or-percent.ts';
import type { Pod } from '../objects.ts';
import { isReady, isTerminating } from '../pod-facts.ts';
import { type PodDisruptionBudget, podDisruptionBudgets, type WorkloadCondition } from '../workloads.ts';
import type { Plan } from './controller.ts';
import { updateStatus } from './write.ts';

/** For so long the API server's grant of an eviction counts as a Pod that is gone, in ms. */
const grantHolds = 120_000;

export interface DisruptionFacts {
  readonly budget: PodDisruptionBudget;
  /** All Pods of its namespace. */
  readonly pods: readonly Pod[];
  /** How many Pods a controller wants, and which object says so; undefined: it has no scale. */
  readonly scaleOf: (controller: OwnerReference) => Scale | undefined;
  /** Epoch ms. */
  readonly now: number;
}

export interface Scale {
  readonly uid: string;
  readonly replicas: number;
}

interface Expectation {
  readonly expectedPods: number;
  readonly desiredHealthy: number;
}

export function disruptionPlan({ budget, pods, scaleOf, now }: DisruptionFacts): Plan {
  const matching = pods.filter((pod) => selects(budget.spec.selector, pod.metadata.labels));
  const granted = stillGranted(budget, matching, now);
  const after = granted.after;
  const expectation = expectationOf(budget, matching, scaleOf);
  if (typeof expectation === 'string') {
    return { status: () => statusWrite(budget, failedStatus(budget, expectation, now)), after };
  }
  const { expectedPods, desiredHealthy } = expectation;
  const healthy = matching.filter(
    (pod) => isReady(pod) && !isTerminating(pod) && !Object.hasOwn(granted.pods, pod.metadata.name),
  );
  const left = expectedPods <= 0 ? 0 : Math.max(0, healthy.length - desiredHealthy);
  const status = {
    observedGeneration: budget.metadata.generation ?? 0,
    ...(Object.keys(granted.pods).length > 0 && { disruptedPods: granted.pods }),
    disruptionsAllowed: left,
    currentHealthy: healthy.length,
    desiredHealthy,
    expectedPods,
    conditions: withAllowed(budget, now, left > 0 ? 'SufficientPods' : 'InsufficientPods', ''),
  };
  return { status: () => statusWrite(budget, status), after };
}

/** A sentence says why nothing can be expected. */
function expectationOf(
  { spec }: PodDisruptionBudget,
  pods: readonly Pod[],
  scaleOf: DisruptionFacts['scaleOf'],
): Expectation | string {
  const { minAvailable, maxUnavailable } = spec;
  if (maxUnavailable === undefined && typeof minAvailable !== 'string') {
    return { expectedPods: pods.length, desiredHealthy: minAvailable ?? 0 };
  }
  const scales = new Map<string, number>();
  for (const pod of pods) {
    const controller = controllerOf(pod);
    if (controller === undefined) continue;
    const scale = scaleOf(controller);
    if (scale === undefined)
      return `${controller.kind} ${controller.name} does not implement the scale subresource`;
    scales.set(scale.uid, scale.replicas);
  }
  const expectedPods = [...scales.values()].reduce((total, replicas) => total + replicas, 0);
  const desiredHealthy =
    maxUnavailable === undefined
      ? scaled(minAvailable ?? 0, expectedPods, 'up')
      : Math.max(0, expectedPods - scaled(maxUnavailable, expectedPods, 'up'));
  return { expectedPods, desiredHealthy };
}

/** The granted evictions that have not led to a deletion yet, and when the next of them is given up. */
function stillGranted(
  { status }: PodDisruptionBudget,
  pods: readonly Pod[],
  now: number,
): { readonly pods: Readonly<Record<string, string>>; readonly after: number | undefined } {
  const present = new Map(pods.map((pod) => [pod.metadata.name, pod]));
  const entries = Object.entries(status?.disruptedPods ?? {}).filter(([name, time]) => {
    const pod = present.get(name);
    return pod !== undefined && !isTerminating(pod) && parseTime(time) + grantHolds > now;
  });
  const ends = entries.map(([, time]) => parseTime(time) + grantHolds - now);
  return { pods: Object.fromEntries(entries), after: ends.length === 0 ? undefined : Math.min(...ends) };
}

/** Where it cannot tell, nothing may be evicted. */
function failedStatus(budget: PodDisruptionBudget, message: string, now: number) {
  const counts = { currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, ...budget.status };
  const conditions = withAllowed(budget, now, 'SyncFailed', message);
  return { ...counts, disruptionsAllowed: 0, conditions };
}

function statusWrite(budget: PodDisruptionBudget, status: NonNullable<PodDisruptionBudget['status']>) {
  if (equalJson(budget.status, status)) return undefined;
  return updateStatus(podDisruptionBudgets, { ...budget, status });
}

function withAllowed(
  { status, metadata }: PodDisruptionBudget,
  now: number,
  reason: string,
  message: string,
): readonly WorkloadCondition[] {
  const type = 'DisruptionAllowed';
  const old = status?.conditions?.find((condition) => condition.type === type);
  const value = reason === 'SufficientPods' ? 'True' : 'False';
  const time = old?.status === value ? (old.lastTransitionTime ?? formatTime(now)) : formatTime(now);
  const condition = {
    type,
    status: value,
    reason,
    message,
    lastTransitionTime: time,
    observedGeneration: metadata.generation ?? 0,
  };
  return [...(status?.conditions ?? []).filter((one) => one.type !== type), condition];
}
