/**
 * The words of the At API that are no fields: phases, outcomes, condition types, reasons, the keys of labels
 * and annotations. Users match on them, so none is ever renamed.
 */
import type { AtStatusOutcome, AtStatusPhase } from './at.generated.ts';

export const atPhase = {
  pending: 'PENDING',
  running: 'RUNNING',
  done: 'DONE',
} as const satisfies Record<string, AtStatusPhase>;

export const atOutcome = {
  succeeded: 'Succeeded',
  failed: 'Failed',
  missed: 'Missed',
  canceled: 'Canceled',
} as const satisfies Record<string, AtStatusOutcome>;

export const atCondition = {
  /** The spec can be run. False names what is wrong with it. */
  accepted: 'Accepted',
  /** False when the spec cannot be run, or the outcome is Failed or Missed. Waiting is not unready. */
  ready: 'Ready',
  /** The Pod exists or existed; under ExactlyOnce, status records which. */
  launched: 'Launched',
  /** The command succeeded. Named as a Job's, for `kubectl wait`. */
  complete: 'Complete',
  /** The command failed. Named as a Job's. */
  failed: 'Failed',
  suspended: 'Suspended',
  /** False when a dry run of the Pod was refused, long before it is due; True once the Pod exists. */
  podAdmitted: 'PodAdmitted',
  /** The opposite of ready, for kstatus. */
  stalled: 'Stalled',
} as const;

/** Reasons of conditions, of `status.reason`. */
export const atReason = {
  armed: 'Armed',
  invalidSchedule: 'InvalidSchedule',
  invalidTimeZone: 'InvalidTimeZone',
  invalidCommand: 'InvalidCommand',
  invalidTemplate: 'InvalidTemplate',
  suspended: 'Suspended',
  resumed: 'Resumed',
  launched: 'Launched',
  editedTooLate: 'EditedTooLate',
  rescheduledTooLate: 'RescheduledTooLate',
  podRejected: 'PodRejected',
  podNameConflict: 'PodNameConflict',
  createFailed: 'CreateFailed',
  notAuthorized: 'NotAuthorized',
  imagePullBackOff: 'ImagePullBackOff',
  unschedulable: 'Unschedulable',
  succeeded: 'Succeeded',
  commandFailed: 'CommandFailed',
  commandFailing: 'CommandFailing',
  cannotStart: 'CannotStart',
  backoffLimitExceeded: 'BackoffLimitExceeded',
  deadlineExceeded: 'DeadlineExceeded',
  pendingTimeout: 'PendingTimeout',
  evicted: 'Evicted',
  podLost: 'PodLost',
  podUnreachable: 'PodUnreachable',
  missedDeadline: 'MissedDeadline',
  canceled: 'Canceled',
  superseded: 'Superseded',
} as const;

/** Those for which a due At has no Pod; Events of the same names tell them. */
export const holdReasons: ReadonlySet<string> = new Set([
  atReason.podRejected,
  atReason.podNameConflict,
  atReason.createFailed,
  atReason.notAuthorized,
]);

/** Reasons of Events about an At. */
export const atEvent = {
  scheduled: 'Scheduled',
  rescheduled: 'Rescheduled',
  suspended: 'Suspended',
  resumed: 'Resumed',
  launched: 'Launched',
  launchedLate: 'LaunchedLate',
  missedDeadline: 'MissedDeadline',
  podStuck: 'PodStuck',
  disrupted: 'Disrupted',
  commandFailing: 'CommandFailing',
  podNameConflict: 'PodNameConflict',
  podRejected: 'PodRejected',
  createFailed: 'CreateFailed',
  notAuthorized: 'NotAuthorized',
  completed: 'Completed',
  failed: 'Failed',
  canceled: 'Canceled',
  invalidSchedule: 'InvalidSchedule',
  shellOperator: 'ShellOperator',
  deprecatedValue: 'DeprecatedValue',
} as const;

/** Label of the Pod: the name of its At. Part of the book's contract. */
export const atPodLabel = 'app';

export const atAnnotation = {
  /** On the At who asked for what it runs, as JSON, where config/author-check records it; on its Pod the name of that user. */
  author: 'cnat.programming-kubernetes.info/author',
  /** On the Pod why it was stopped, before it is, and how it ended: the cause survives a crash. */
  stopReason: 'cnat.programming-kubernetes.info/stop-reason',
  exitCode: 'cnat.programming-kubernetes.info/exit-code',
} as const;

/** Name and image of the main container when the template says nothing. Part of the book's contract. */
export const atContainer = { name: 'busybox', image: 'busybox' } as const;

/** Name of the Pod of an attempt, counted from 1. The name is the lock that lets one Pod only exist. */
export function atPodName(atName: string, attempt = 1): string {
  return attempt === 1 ? `${atName}-pod` : `${atName}-pod-${attempt}`;
}
