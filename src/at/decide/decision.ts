/** Decision: what one look at an At leads to, and the facts that it rests on. */
import type { At, AtStatus } from '../../api/at.generated.ts';
import type { Pod } from '../../kubernetes/objects.ts';
import type { Decision, Question } from '../../runtime/controller/decision.ts';

/** One line of what happened, for people; the shape that an EventRecorder takes. */
export interface AtEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action: string;
  readonly note: string;
}

/** The Pod that this process knows it has created, whatever its caches say by now. */
export interface KnownLaunch {
  readonly attempt: number;
  readonly podName: string;
  readonly podUID: string;
  /** Epoch milliseconds at which the API server's 201 arrived. */
  readonly launchTime: number;
  /** `specHash` of the At it was made from. */
  readonly launchedSpec?: string | undefined;
  /** The instant it was made for, epoch milliseconds. */
  readonly scheduledTime?: number | undefined;
  /** The operator's default image, where it was made with it. */
  readonly defaultImage?: string | undefined;
}

/** Why the create that was tried just now, or that waits for its turn, has made no Pod. */
export interface Refusal {
  /** Default: PodRejected, a definite no of the API server. */
  readonly reason?: string;
  readonly message: string;
}

/** What a dry run of the Pod of this very spec has come to: it passes, or why it does not. */
export interface Preflight {
  readonly rejection?: Required<Refusal>;
}

/** The Pods that have the names of an At's Pods, also those with another owner. */
export interface ObservedPods {
  /** At the name of the current attempt's Pod. */
  readonly pod: Pod | undefined;
  /** The same for the attempt after it. */
  readonly nextPod: Pod | undefined;
  /** The same for those before it: always from the cache, since nothing is launched because of them. */
  readonly earlierPods: readonly Pod[];
}

/** Values for fields of the spec that an At leaves open, for all Ats of this operator. */
export interface AtDefaults {
  /** Of containers that name none. */
  readonly image?: string;
  readonly startingDeadlineSeconds?: number;
  readonly ttlSecondsAfterFinished?: number;
  readonly outputInStatus?: boolean;
}

/** Everything a decision may depend on. */
export interface Observed extends ObservedPods {
  readonly at: At;
  /** Pods of this At that the watch has shown going away, each as it was shown last. */
  readonly departed: readonly Pod[];
  /** Epoch milliseconds. */
  readonly now: number;
  /** True when the At and the current and next Pod come from the API server itself, read within this reconcile. */
  readonly live: boolean;
  /** Whether Pods of ExactlyOnce get a finalizer: not where the right to take it off may go before the Pod does. */
  readonly tracks: boolean;
  /** From memory: the launch that status may not show yet. */
  readonly launch?: KnownLaunch;
  /** From memory: a create was sent and no answer came, so that the Pod may exist. */
  readonly ambiguous?: boolean;
  /** From memory: the API server has shown this process a newer At than the cache does. */
  readonly behind?: boolean;
  /** From memory: this process accepted the spec and has not tried its Pod yet. */
  readonly untried?: boolean;
  /** What the operator was started with for fields that the At leaves open. */
  readonly defaults?: AtDefaults;
  /** From memory: milliseconds since this process first saw the Pod lack a part of its configuration. */
  readonly configErrorAge?: number;
  /** From memory: creates have failed, or a status that a launch waits for, so that the operator is not to blame for the time that passed. */
  readonly obstructed?: boolean;
  /** The last dry run of the Pod, where status does not show yet what it has come to. */
  readonly preflight?: Preflight;
  /** How often in a row the API server has found the status of this At not valid, the last time just now. */
  readonly unwritable?: number;
  /** Of the create that was tried just now, or that waits for its turn. */
  readonly refusal?: Refusal;
  /** Milliseconds to wait before the next try of something that was refused; grows with each. */
  readonly retryDelay: number;
}

/** What only the API server knows for certain: the At, or the At with the Pods at its current and its next name. */
export type Need = 'at' | 'pods';

/** Writes the whole status, where it is not that already. */
export interface WriteStatus {
  readonly type: 'WriteStatus';
  readonly status: AtStatus;
  /** The next effects rest on it: they are performed only when the API server has stored all of it. */
  readonly asLock: boolean;
}

export interface RecordEvents {
  readonly type: 'RecordEvents';
  readonly events: readonly AtEvent[];
}

export interface CreatePod {
  readonly type: 'CreatePod';
  readonly attempt: number;
  readonly pod: Pod;
}

/** Has the API server check the Pod without storing it. */
export interface DryRunPod {
  readonly type: 'DryRunPod';
  readonly pod: Pod;
}

/** Remembers that the Pod of this spec is to be tried ({@link Observed.untried}), when nothing else waits. */
export interface QueueDryRun {
  readonly type: 'QueueDryRun';
}

/** Merges `body` into the Pod; it carries uid and resourceVersion, so that it meets only what was seen. */
export interface PatchPod {
  readonly type: 'PatchPod';
  readonly namespace: string;
  readonly name: string;
  readonly body: object;
}

/** Removes the scheduling gate of exactly this Pod, which status records. */
export interface ReleasePod {
  readonly type: 'ReleasePod';
  readonly pod: Pod;
}

/** Removes the finalizer of exactly this Pod, also when it has another owner. */
export interface UntrackPod {
  readonly type: 'UntrackPod';
  readonly pod: Pod;
}

/** Deletes the Pod with this uid, and only in this resourceVersion where one is named. */
export interface DeletePod {
  readonly type: 'DeletePod';
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion?: string;
}

/** Deletes the At with this uid in this resourceVersion. */
export interface DeleteAt {
  readonly type: 'DeleteAt';
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

export type Action =
  | CreatePod
  | DryRunPod
  | QueueDryRun
  | PatchPod
  | ReleasePod
  | UntrackPod
  | DeletePod
  | DeleteAt;

export type Effect = Action | WriteStatus | RecordEvents;

export type AtDecision = Decision<Need, Effect>;

/** What a part of the decision comes to; {@link decide} makes one ordered list of it. */
export type Draft = Question<Need> | StatusFirst | Steps;

/** A status that has to stand before anything is done that follows from it. */
export interface StatusFirst {
  readonly first: AtStatus;
  /** Of this status. */
  readonly events: readonly AtEvent[];
}

/** Actions in their order; then the status; then the Events. */
export interface Steps {
  readonly actions: readonly Action[];
  /** The whole status; absent: as it is. */
  readonly status?: AtStatus;
  readonly events: readonly AtEvent[];
  /** Epoch milliseconds at which to look again, at the latest. */
  readonly requeueAt?: number;
  /** Milliseconds after which to look again, at the latest. */
  readonly requeueAfter?: number;
  /** Queue priority of looking again. */
  readonly priority?: number;
}

/**
 * Queue priority of an At whose command is due: Pods are created before any status is written. So far above
 * everything else that a flood may last ten minutes before what waits behind it goes first.
 */
export const launchPriority = 600;

/**
 * Queue priority of an At that is due and was refused: thousands that will be refused again must hold up neither
 * another's launch nor its status, nor the initial list. In an idle queue it changes nothing.
 */
export const retryPriority = -150;

/** Queue priority of trying Pods long before they are due: whatever else there is goes first. */
export const dryRunPriority = -50;

/** Nothing to do until something changes. */
export const nothing: Steps = { actions: [], events: [] };

/** Asks for the truth before something that cannot be undone. */
export const readLive: Question<Need> = { need: 'pods' };
