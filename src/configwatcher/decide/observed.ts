/**
 * Observed and Decision: what {@link decide} gets and what it answers. Both are plain data; times are
 * epoch milliseconds of the API server's clock.
 */
import type { OwnerReference } from '../../kubernetes/objects.ts';
import type { Decision } from '../../runtime/controller/decision.ts';
import type { EventRecord } from '../../runtime/events/event-recorder.ts';
import type { InvalidSpec, WatchedSource, WatcherSpec } from '../plan/spec.ts';
import type { RestartStrategy } from '../plan/strategies.ts';
import type { PodFacts } from './pod-facts.ts';
import type { RestartMemory } from './restart-memory.ts';
import type { RolloutFacts } from './rollout.ts';
import type { WatcherState } from './state.ts';

/** The content of one source as it was read last. The data itself is not kept. */
export interface SourceContent {
  readonly source: WatchedSource;
  readonly keysHash: string | undefined;
  /** Of the content, or of its absence. */
  readonly hash: string;
  readonly present: boolean;
  /** resourceVersion of the object; absent when there is none. */
  readonly version?: string;
  /** Read from the API server during this very pass. Only such a content may be taken for a new one. */
  readonly confirmed: boolean;
  /**
   * The second in which data was last added or changed, as the object's managedFields tell. A removed key leaves no
   * trace there.
   */
  readonly written?: number;
  /** Who wrote then, as the object's managedFields name it. */
  readonly manager?: string;
  /** This process reads it for the first time. */
  readonly isFirstLook?: boolean;
  readonly immutable: boolean;
  /** When the object was created, epoch ms in whole seconds; absent when there is none. */
  readonly created?: number;
  /**
   * It took the place of an immutable object of its name, the one with the applied content; absent when this
   * process never saw that one.
   */
  readonly replacesImmutable?: boolean;
  /** Which keys differ from the applied content; absent when this process never saw that one. */
  readonly changedKeys?: readonly string[];
}

/** A controller of Pods, with what bounds a restart of them. */
export interface OwnerFacts {
  /** The topmost known controller: the Deployment of a ReplicaSet. Its uid groups Pods. */
  readonly reference: OwnerReference;
  /** How many Pods it wants; absent when that cannot be read. */
  readonly wanted?: number;
  /** Whether the Pods it makes now carry the labels that the watcher selects. */
  readonly makesSelectedPods: boolean;
  /** Milliseconds for which it wants a Pod to be Ready before it counts. */
  readonly minReady?: number;
  /** Of the ReplicaSet that made the Pods, where a Deployment owns it. */
  readonly revision?: string;
  /** Present where it replaces its Pods when its template changes. */
  readonly rollout?: RolloutFacts;
}

export interface Observed {
  /** API group of the watcher. */
  readonly group: string;
  /** Of the object that asks for restarts, for Events: `ConfigWatcher`. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  readonly spec: WatcherSpec | InvalidSpec;
  readonly state: WatcherState;
  /** In the order of the spec; empty when the spec is invalid. */
  readonly sources: readonly SourceContent[];
  /** How many live Pods the selector matches, from the watch. */
  readonly matchedPods: number;
  /** When the oldest of them was created, epoch ms; absent for none. */
  readonly oldestPod?: number;
  /** A consistent list of the selected Pods made during this pass; absent until it was asked for. */
  readonly pods?: readonly PodFacts[];
  /** By uid of the controller of a Pod; absent until it was asked for. */
  readonly owners?: ReadonlyMap<string, OwnerFacts>;
  readonly memory: RestartMemory;
  /** Never later than the API server's clock. */
  readonly now: number;
  /** Value of the annotation restart-now. */
  readonly restartNow?: string;
  /** Name of the Pod this process runs in, when that is in the watcher's namespace. */
  readonly ownPod?: string;
  /** Whether the operator may change the templates of owners here, as far as it knows. */
  readonly rolloutRight?: RolloutRight;
  /** Something the operator may not do here. */
  readonly forbidden?: { readonly verb: string; readonly resource: string };
}

/** Denied also while no policy keeps this right to the one annotation that it is for. */
export type RolloutRight = 'Granted' | 'Denied';

/** A fact that is expensive to read, so it is read only when a decision turns on it. */
export type Need =
  /** Read every source from the API server now, whatever is remembered. */
  | 'contents'
  /** List the selected Pods, consistently. */
  | 'pods'
  /** Read the controllers of the listed Pods. */
  | 'owners';

/** Restarting writes. Each carries a uid: an object of the same name made meanwhile is never touched. */
export type Action =
  | {
      readonly type: RestartStrategy['podAction'];
      readonly pod: Pick<PodFacts, 'name' | 'uid'>;
      readonly owner: OwnerReference | undefined;
    }
  | {
      readonly type: 'RestartRollout';
      readonly owner: OwnerReference;
      /** The write is refused if the owner has changed since. */
      readonly version?: string;
      /** Annotations to set in the Pod template. */
      readonly annotations: Readonly<Record<string, string>>;
    };

/** uid of what the action is about. */
export function uidOf(action: Action): string {
  return action.type === 'RestartRollout' ? action.owner.uid : action.pod.uid;
}

export interface DecidedEvent extends EventRecord {
  /** The object it is about; absent for the watcher itself. */
  readonly regarding?: OwnerReference;
}

/** What a pass counts for Prometheus. */
export interface Counts {
  /** How many edits this pass saw first: those of several sources at once are one. */
  readonly edits: number;
  /** A restart ended before its last Pod, of which so many were left: what it was for is not watched any more. */
  readonly abandoned?: number;
  /** Of the Pods that a restart which ends left alone, how many are of Jobs. */
  readonly skippedOfJobs: number;
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
      readonly counts: Counts;
    }
  | {
      readonly type: 'RecordEvents';
      readonly events: readonly DecidedEvent[];
      /** For the log. */
      readonly summary: { readonly waitsFor?: string; readonly stalePods: number; readonly batch: number };
    }
  /** Sent at once, as far as there are lanes; one that is refused keeps none of the others. */
  | { readonly type: 'RestartPods'; readonly actions: readonly Action[] };

export type WatcherDecision = Decision<Need, Effect>;

/** What {@link decide} makes its effects of. */
export interface Steps extends Counts {
  readonly state: WatcherState;
  readonly actions: readonly Action[];
  readonly events: readonly DecidedEvent[];
  readonly memory: RestartMemory;
  /** Milliseconds after which to look again at the latest; absent: when something changes. */
  readonly requeueAfter?: number;
}
