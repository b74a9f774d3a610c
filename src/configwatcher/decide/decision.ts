/** Decision: what {@link decide} answers. Plain data; times are epoch milliseconds of the API server's clock. */
import type { OwnerReference } from '../../kubernetes/objects.ts';
import type { EventRecord } from '../../runtime/events/event-recorder.ts';
import type { PodFacts } from '../facts/pod-facts.ts';
import type { RestartMemory } from '../facts/restart-memory.ts';
import type { WatcherState } from '../facts/state.ts';
import type { RestartStrategy } from '../plan/strategies.ts';

/** Restarting writes. Each carries a uid: an object of the same name made meanwhile is never touched. */
export type Action =
  | {
      readonly type: RestartStrategy['podAction'];
      readonly pod: Pick<PodFacts, 'name' | 'uid'>;
      readonly owner: OwnerReference | undefined;
    }
  | {
      /** Begins a rollout, or sets the template back to the one of before a rollout that the operator began. */
      readonly type: 'RestartRollout' | 'TakeBackRollout';
      readonly owner: OwnerReference;
      /** The write is refused if the owner has changed since. */
      readonly version?: string;
      /** Annotations to set in the Pod template; null takes one away. */
      readonly annotations: Readonly<Record<string, string | null>>;
    };

/** uid of what the action is about. */
export function uidOf(action: Action): string {
  return changesTemplate(action) ? action.owner.uid : action.pod.uid;
}

/** Whether it changes the template of an owner. */
export function changesTemplate(action: Action): action is Extract<Action, { readonly annotations: object }> {
  return 'annotations' in action;
}

export interface DecidedEvent extends EventRecord {
  /** The object it is about; absent for the watcher itself. */
  readonly regarding?: OwnerReference;
}

export type Effect =
  | {
      /**
       * Comes before everything else: that write is the lock (it carries the resourceVersion) and the memory (it says
       * which Pods are stale) of all that follows.
       */
      readonly type: 'WriteStatus';
      readonly state: WatcherState;
      /** What this process remembers once the state stands. */
      readonly memory: RestartMemory;
      /**
       * Written also when the cache shows that very state. A Pod that is stale by an old status is stale by the new
       * one, so an old copy may still evict it; but a template would be set back to an earlier change.
       */
      readonly asLock: boolean;
      /** For Prometheus. */
      readonly counts: Pick<Steps, 'edits' | 'abandoned' | 'skippedOfJobs'>;
    }
  | {
      readonly type: 'RecordEvents';
      readonly events: readonly DecidedEvent[];
      /** For the log. */
      readonly summary: { readonly waitsFor?: string; readonly stalePods: number; readonly batch: number };
    }
  /** Sent at once, as far as there are lanes; one that is refused keeps none of the others. */
  | { readonly type: 'RestartPods'; readonly actions: readonly Action[] };

/** What {@link decide} makes its effects of. */
export interface Steps {
  readonly state: WatcherState;
  readonly actions: readonly Action[];
  readonly events: readonly DecidedEvent[];
  readonly memory: RestartMemory;
  /** Milliseconds after which to look again at the latest; absent: when something changes. */
  readonly requeueAfter?: number;
  /** How many edits this pass saw first: those of several sources at once are one. */
  readonly edits: number;
  /** A restart ended before its last Pod, of which so many were left: what it was for is not watched any more. */
  readonly abandoned?: number;
  /** Of the Pods that a restart which ends left alone, how many are of Jobs. */
  readonly skippedOfJobs: number;
}
