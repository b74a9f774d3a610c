/** Observed: the facts about one At that a decision rests on. */
import type { Pod } from '../../kubernetes/objects.ts';
import type { Cause } from '../plan/cause.ts';
import type { Run } from '../plan/run.ts';
import type { ReadAt } from './last-edit.ts';
import type { PodView } from './observe-pod.ts';
import type { Span } from './slow-answers.ts';

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
  readonly at: ReadAt;
  /** What stands at the name of the current attempt's Pod, also with another owner. */
  readonly pod: Pod | undefined;
  /** The same for the attempt after it. */
  readonly nextPod: Pod | undefined;
  /** The same for those before it: a late create may have brought one back. */
  readonly earlierPods: readonly Pod[];
  /** Pods of this At that the watch has shown going away, or a read to have ended, each as it was shown last. */
  readonly departed: readonly Pod[];
  /** Epoch milliseconds. */
  readonly now: number;
  /** True when the At and what stands at its names come from the API server itself, read within this reconcile. */
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
  /** From memory: the read has failed that the launch waits for, and none has been answered since. */
  readonly unread?: boolean;
  /** From memory: the API server has shown this process a newer At than the cache does. */
  readonly behind?: boolean;
  /** The watches have been silent for so long that the caches may be minutes behind. */
  readonly blind?: boolean;
  /** From memory: this process accepted the spec and has not tried its Pod yet. */
  readonly untried?: boolean;
  /** What the operator was started with for fields that the At leaves open. */
  readonly defaults?: AtDefaults;
  /** From memory: milliseconds since this process first saw the Pod lack a part of its configuration. */
  readonly configErrorAge?: number;
  /**
   * From memory: since when creates have failed, or a status that a launch waits for; epoch milliseconds, minus infinity
   * for since before the last edit. The operator is not to blame for the time that has passed since.
   */
  readonly heldUpSince?: number;
  /** From memory: since when the At waits because creates of others of its namespace fail, likewise. */
  readonly waitsSince?: number;
  /** From memory: since when the release of its Pod has failed, likewise. */
  readonly unreleasedSince?: number;
  /** From memory: when the requests that its launch or its release waits for were answered late. */
  readonly slowAnswers?: readonly Span[];
  /** The last dry run of the Pod, where status does not show yet what it has come to. */
  readonly preflight?: Preflight;
  /** The At was edited, or deleted, since the decision, of which Events alone may still follow. */
  readonly isOvertaken?: boolean;
  /** How often in a row the API server has found the status of this At not valid, the last time just now. */
  readonly unwritable?: number;
  /** Why the create that was tried just now, or that waits for its turn, has made no Pod. */
  readonly refusal?: Cause;
  /** Milliseconds to wait before the next try of something that was refused; grows with each. */
  readonly retryDelay: number;
}

/** What only the API server knows for certain: the At, or the At with the Pods at its names. */
export type Need = 'at' | 'pods';
