/** Decision: what one look at an At leads to. */
import type { AtStatus } from '../../api/at.generated.ts';
import type { Pod } from '../../kubernetes/objects.ts';
import type { Question } from '../../runtime/controller/decision.ts';
import type { EventRecord } from '../../runtime/events/event-recorder.ts';
import type { Need } from '../facts/observed.ts';

/** What is done about Pods, and at the end about the At itself. Each write meets exactly what was seen. */
export type Action =
  | { readonly type: 'CreatePod'; readonly attempt: number; readonly pod: Pod }
  /** Has the API server check the Pod without storing it. */
  | { readonly type: 'DryRunPod'; readonly pod: Pod }
  /** Remembers that the Pod of this spec is to be tried (`untried` of Observed), when nothing else waits. */
  | { readonly type: 'QueueDryRun' }
  /** Merges `body` into the Pod; it carries uid and resourceVersion. */
  | {
      readonly type: 'PatchPod';
      readonly namespace: string;
      readonly name: string;
      readonly body: object;
      /** What status says of a stop that the API server refuses, so that it holds all the same. */
      readonly ifRefused?: AtStatus;
    }
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

/** Nothing to do until something changes. */
export const nothing: Steps = { actions: [], events: [] };

/** Asks for the truth before something that cannot be undone. */
export const readLive: Question<Need> = { need: 'pods' };
