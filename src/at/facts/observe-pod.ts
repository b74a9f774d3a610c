/**
 * Observe Pod: what a Pod says about the run of its At, read once into plain values. All times
 * and codes are those of its main container.
 */
import { atAnnotation, atReason } from '../../api/at-constants.ts';
import type { ContainerStateTerminated, ContainerStatus, Pod } from '../../kubernetes/objects.ts';
import type { Cause } from '../plan/cause.ts';
import { mainContainerName } from '../plan/run.ts';
import { initWork } from './init-work.ts';
import { finishTimeOf, instant, lastEndOf, startTimeOf } from './node-times.ts';

export interface PodView {
  readonly pod: Pod;
  readonly name: string;
  readonly uid: string;
  /** How the Pod ended, if it has. */
  readonly ended: 'Succeeded' | 'Failed' | undefined;
  /** A kubelet has taken it. */
  readonly seen: boolean;
  /** The main container has been started at least once. */
  readonly started: boolean;
  /** What happened before that. */
  readonly init: ReturnType<typeof initWork>;
  /** Its first start, epoch milliseconds; when that is forgotten after restarts, that of the Pod. */
  readonly startTime: number | undefined;
  /** Its end for good, epoch milliseconds, also before its Pod ends; as far as can be seen by the API server's clock. */
  readonly finishTime: number | undefined;
  /** When the last of its containers ended, likewise, once the Pod has ended. */
  readonly lastEnd: number | undefined;
  readonly restarts: number;
  /** Starts of the main container that have ended in failure. */
  readonly commandFailures: number;
  /** The same of all containers, as a Job counts them. */
  readonly failedStarts: number;
  /** The container beside the main one that has failed most. */
  readonly failedHelper: { readonly name: string; readonly failedStarts: number } | undefined;
  /** The end of its last run. */
  readonly last: ContainerStateTerminated | undefined;
  /** The main container has ended and is not started again, and the Pod has not ended yet. */
  readonly isOver: boolean;
  /** The same, and containers that nothing but this operator ends go on. The kubelet ends native sidecars. */
  readonly isOutlived: boolean;
  readonly createdAt: number;
  /** When the requested deletion should have completed, epoch milliseconds. */
  readonly deletionDue: number | undefined;
  readonly stop: Stop | undefined;
}

/** Why this operator stops the Pod, or has stopped it, as written on it. */
export interface Stop {
  readonly reason: string;
  readonly exitCode?: number | undefined;
  /** What the Pod waited for. */
  readonly message?: string;
  /** When the stop was asked for, epoch milliseconds; undefined before, and where it is not written. */
  readonly time?: number | undefined;
}

/** When the stop was asked for; next to the annotations of the API, for the operator itself. */
export const stopTimeAnnotation = 'cnat.programming-kubernetes.info/stop-time';

/** What a reason looks like, and an exit code. Other clients that may write Pods can write anything there. */
const word = /^[A-Za-z][A-Za-z0-9]{0,127}$/;
const code = /^-?\d{1,9}$/;

export function observePod(pod: Pod): PodView {
  const { metadata, status } = pod;
  const main = mainStatus(pod);
  const ended = endedPhase(pod);
  const last = main?.state?.terminated ?? (isCutOff(main, ended) ? undefined : main?.lastState?.terminated);
  const restarts = main?.restartCount ?? 0;
  const helpers = failedHelpers(pod, main?.name);
  const isOver = ended === undefined && main !== undefined && isOverForGood(pod, main);
  const started = last !== undefined || restarts > 0 || main?.state?.running !== undefined;
  return {
    pod,
    name: metadata.name,
    uid: metadata.uid ?? '',
    ended,
    seen: status?.startTime !== undefined,
    started,
    init: initWork(pod),
    startTime: started ? startTimeOf(pod, main) : undefined,
    finishTime: ended === undefined && !isOver ? undefined : finishTimeOf(pod, last),
    lastEnd: ended === undefined ? undefined : lastEndOf(pod, last),
    restarts,
    commandFailures: failedStarts(main),
    failedStarts: failedStarts(main) + helpers.reduce((sum, helper) => sum + helper.failedStarts, 0),
    failedHelper: helpers.toSorted((one, other) => other.failedStarts - one.failedStarts)[0],
    last,
    isOver,
    isOutlived: isOver && (status?.containerStatuses ?? []).some((one) => !isOverForGood(pod, one)),
    createdAt: instant(metadata.creationTimestamp) ?? 0,
    deletionDue: instant(metadata.deletionTimestamp),
    stop: stopOf(pod),
  };
}

/** Every container beside the main one that has failed. */
function failedHelpers({ status }: Pod, main: string | undefined): NonNullable<PodView['failedHelper']>[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
    .filter(({ name }) => name !== main)
    .map((container) => ({ name: container.name, failedStarts: failedStarts(container) }))
    .filter((helper) => helper.failedStarts > 0);
}

/** Whether the container has ended and is not started again. */
function isOverForGood({ spec }: Pod, { state }: ContainerStatus): boolean {
  const end = state?.terminated;
  return end !== undefined && (end.exitCode === 0 || spec.restartPolicy === 'Never');
}

/** The Pod as it would be seen if it had ended as it is: it is gone, and has shown no more. */
export function asEnded({ pod }: PodView): PodView {
  return observePod({ ...pod, status: { ...pod.status, phase: 'Failed' } });
}

function mainStatus(pod: Pod): ContainerStatus | undefined {
  const name = mainContainerName(pod);
  const main = pod.status?.containerStatuses?.find((container) => container.name === name);
  return main !== undefined && isStandIn(main.state?.terminated) ? { ...main, state: { waiting: {} } } : main;
}

/**
 * The kubelet says of each container of a Pod it has ended that it terminated, with an exit code, also of one
 * that never ran or was between two starts. Of one that ran and was lost, lastState says so.
 */
function isStandIn(end: ContainerStateTerminated | undefined): boolean {
  return end?.reason === 'ContainerStatusUnknown' && instant(end.startedAt) === undefined;
}

/** No status shows how a run ended that was lost with its node: lastState describes the run before it. */
function isCutOff(main: ContainerStatus | undefined, ended: PodView['ended']): boolean {
  return ended !== undefined && main?.state?.running !== undefined;
}

function failedStarts(main: ContainerStatus | undefined): number {
  if (main === undefined) {
    return 0;
  }
  const { state, lastState, restartCount } = main;
  // Between two starts the end of the last run has moved to lastState, and restartCount has not grown yet.
  const ended = state?.terminated ?? (state?.waiting === undefined ? undefined : lastState?.terminated);
  return restartCount + (ended !== undefined && ended.exitCode !== 0 ? 1 : 0);
}

function stopOf({ metadata }: Pod): Stop | undefined {
  const { annotations } = metadata;
  const reason = annotations?.[atAnnotation.stopReason];
  if (reason === undefined || !word.test(reason)) {
    return undefined;
  }
  const exitCode = annotations?.[atAnnotation.exitCode] ?? '';
  return {
    reason,
    exitCode: code.test(exitCode) ? Number(exitCode) : undefined,
    time: instant(annotations?.[stopTimeAnnotation]),
  };
}

/**
 * What keeps the command from starting, or from starting again, as its At's reason and message; undefined when the Pod says
 * nothing of it. The kubelet starts the main container whether or not it could start the ones beside it.
 */
export function waitingCause({ pod, started }: PodView): Cause | undefined {
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (!started && scheduled?.status === 'False') {
    return { reason: reasonOr(atReason.unschedulable, scheduled.reason), message: scheduled.message ?? '' };
  }
  const before = started ? [] : (pod.status?.initContainerStatuses ?? []);
  const waiting = [...before, mainStatus(pod)]
    .map((status) => status?.state?.waiting)
    .find((state) => blocksStart(state?.reason, started));
  return waiting?.reason === undefined
    ? undefined
    : {
        reason: stableReason(reasonOr(atReason.pendingTimeout, waiting.reason)),
        message: waiting.message ?? '',
      };
}

function reasonOr(otherwise: string, reason: string | undefined): string {
  return reason !== undefined && word.test(reason) ? reason : otherwise;
}

/** After a start the back-off until the next one blocks nothing. */
function blocksStart(reason: string | undefined, started: boolean): boolean {
  const passing = ['ContainerCreating', 'PodInitializing', ...(started ? ['CrashLoopBackOff'] : [])];
  return reason !== undefined && !passing.includes(reason);
}

/** The kubelet goes to and fro between the two. */
function stableReason(reason: string): string {
  return reason === 'ErrImagePull' ? atReason.imagePullBackOff : reason;
}

function endedPhase({ status }: Pod): PodView['ended'] {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed' ? status.phase : undefined;
}

/** Whether the Pod has ended, and was not being deleted then. */
export function endedByItself(pod: Pod): boolean {
  return endedPhase(pod) !== undefined && pod.metadata.deletionTimestamp === undefined;
}
