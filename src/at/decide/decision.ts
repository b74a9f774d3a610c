/** Decision: what one look at an At leads to, and the facts that it rests on. */
import type { At, AtStatus } from '../../api/at.generated.ts';
import type { Pod } from '../../kubernetes/objects.ts';
import type { Decision, Question } from '../../runtime/controller/decision.ts';
import type { EventRecord } from '../../runtime/events/event-recorder.ts';
import type { PodView } from '../facts/observe-pod.ts';
import type { Cause } from '../plan/cause.ts';
import type { Run } from '../plan/run.ts';

/** What a dry run of the Pod of this very spec has come to: it passes, or why it does not. */
export interface Preflight {
  readonly rejection?: Cause;
}

/** Values for fields of the spec that an At leaves open, for all Ats of this operator. */
export interface AtDefaults {
  /** Of containers that name none. */
  readonly image?: string;
  readonly startingDeadlineSeconds?: number;
  readonly ttlSecondsAfterFinished?: number;
  readonly outputInStatus?: boolean;
}

/** The attempt that the run is in: what status records, or one that is not recorded yet. */
export interface Attempt {
  readonly attempt: number;
  readonly podName: string;
  readonly podUID: string;
  /** Undefined when the Pod is not there. */
  readonly view: PodView | undefined;
  /** The Pod as the watch has shown it last, where it is not there and status does not show the attempt. */
  readonly last?: Pod;
  /** Status does not show it yet. */
  readonly isNew: boolean;
}

/** Everything a decision may depend on. */
export interface Observed {
  readonly at: At;
  /** What stands at the name of the current attempt's Pod, also with another owner. */
  readonly pod: Pod | undefined;
  /** The same for the attempt after it. */
  readonly nextPod: Pod | undefined;
  /** The same for those before it: always from the cache, since nothing is launched because of them. */
  readonly earlierPods: readonly Pod[];
  /** Pods of this At that the watch has shown going away, each as it was shown last. */
  readonly departed: readonly Pod[];
  /** Epoch milliseconds. */
  readonly now: number;
  /** True when the At and the current and next Pod come from the API server itself, read within this reconcile. */
  readonly live: boolean;
  /** Whether Pods of ExactlyOnce get a finalizer: not where the right to take it off may go before the Pod does. */
  readonly tracks: boolean;
  /** From memory: the Pod that this process has created, which status and caches may not show yet. */
  readonly launch?: Pick<Attempt, 'attempt' | 'podName' | 'podUID'> &
    Partial<Pick<Run, 'launchedSpec' | 'scheduledTime' | 'defaultImage'>> & {
      /** Epoch milliseconds at which the API server's 201 arrived. */
      readonly launchTime: number;
    };
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
  readonly heldUp?: boolean;
  /** The last dry run of the Pod, where status does not show yet what it has come to. */
  readonly preflight?: Preflight;
  /** How often in a row the API server has found the status of this At not valid, the last time just now. */
  readonly unwritable?: number;
  /** Why the create that was tried just now, or that waits for its turn, has made no Pod. */
  readonly refusal?: Cause;
  /** Milliseconds to wait before the next try of something that was refused; grows with each. */
  readonly retryDelay: number;
}

/** What only the API server knows for certain: the At, or the At with the Pods at its current and its next name. */
export type Need = 'at' | 'pods';

/** What is done about Pods, and at the end about the At itself. Each write meets exactly what was seen. */
export type Action =
  | { readonly type: 'CreatePod'; readonly attempt: number; readonly pod: Pod }
  /** Has the API server check the Pod without storing it. */
  | { readonly type: 'DryRunPod'; readonly pod: Pod }
  /** Remembers that the Pod of this spec is to be tried ({@link Observed.untried}), when nothing else waits. */
  | { readonly type: 'QueueDryRun' }
  /** Merges `body` into the Pod; it carries uid and resourceVersion. */
  | { readonly type: 'PatchPod'; readonly namespace: string; readonly name: string; readonly body: object }
  /** Removes the scheduling gate of this Pod, which status records. */
  | { readonly type: 'ReleasePod'; readonly pod: Pod }
  /** Removes the finalizer of this Pod, also when it has another owner. */
  | { readonly type: 'UntrackPod'; readonly pod: Pod }
  | {
      readonly type: 'DeletePod';
      readonly namespace: string;
      readonly name: string;
      readonly uid: string;
      readonly resourceVersion?: string;
    }
  | {
      readonly type: 'DeleteAt';
      readonly namespace: string;
      readonly name: string;
      readonly uid: string;
      readonly resourceVersion: string;
    };

export type Effect =
  | Action
  | {
      /** Writes the whole status, where it is not that already. */
      readonly type: 'WriteStatus';
      readonly status: AtStatus;
      /** The next effects rest on it: they are performed only when the API server has stored all of it. */
      readonly asLock: boolean;
    }
  | { readonly type: 'RecordEvents'; readonly events: readonly EventRecord[] };

export type AtDecision = Decision<Need, Effect>;

/** What a part of the decision comes to; {@link decide} makes one ordered list of it. */
export type Draft = Question<Need> | StatusFirst | Steps;

/** A status that has to stand before anything is done that follows from it. */
export interface StatusFirst {
  readonly first: AtStatus;
  /** Of this status. */
  readonly events: readonly EventRecord[];
}

/** Actions in their order; then the status; then the Events. */
export interface Steps {
  readonly actions: readonly Action[];
  /** The whole status; absent: as it is. */
  readonly status?: AtStatus;
  readonly events: readonly EventRecord[];
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
