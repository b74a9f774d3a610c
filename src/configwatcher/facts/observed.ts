/**
 * Observed: the facts about one watcher that a decision rests on. Plain data; times are epoch milliseconds of the API
 * server's clock.
 */
import type { OwnerReference } from '../../kubernetes/objects.ts';
import type { InvalidSpec, WatchedSource, WatcherSpec } from '../plan/spec.ts';
import type { PodFacts } from './pod-facts.ts';
import type { RestartMemory } from './restart-memory.ts';
import type { WatcherState } from './state.ts';
import type { RolloutFacts } from './workload.ts';

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
  /** This process reads it for the first time, or has not recorded what it read then. */
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
  /** The first content that this process has read since the last record, and not recorded: this one, or one before it. */
  readonly unrecorded?: UnrecordedContent;
}

export interface UnrecordedContent {
  /** As of {@link SourceContent}. */
  readonly written?: number | undefined;
  readonly isFirstLook?: boolean | undefined;
  /** Epoch ms. */
  readonly readAt: number;
  /** When the recorded content was read again, epoch ms; absent where another one was read last. */
  readonly backAt?: number | undefined;
}

/** A controller of Pods, with what bounds a restart of them. */
export interface OwnerFacts {
  /** The topmost known controller: the Deployment of a ReplicaSet. Its uid groups Pods. */
  readonly reference: OwnerReference;
  /** How many Pods it wants; absent when that cannot be read. */
  readonly wanted?: number;
  /** It was deleted, or another one has its name. */
  readonly isGone?: true;
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
  /** A consistent list of the Pods that `state.pending.podSelector` selects; absent until it was asked for. */
  readonly formerPods?: {
    /** Those that the spec selects, too. */
    readonly selected: readonly PodFacts[];
    readonly leftOut: readonly PodFacts[];
  };
  /** By uid of the controller of a Pod; absent until it was asked for. */
  readonly owners?: ReadonlyMap<string, OwnerFacts>;
  readonly memory: RestartMemory;
  /** The watcher is known from a watch that has shown nothing for long: it may be another one by now, or gone. */
  readonly isOld?: boolean;
  /** Never later than the API server's clock. */
  readonly now: number;
  /** Value of the annotation restart-now. */
  readonly restartNow?: string;
  /** Name of the Pod this process runs in, when that is in the watcher's namespace. */
  readonly ownPod?: string;
  /**
   * Whether the operator may change the templates of owners here, as far as it knows. Denied also while no policy keeps
   * this right to the one annotation that it is for.
   */
  readonly rolloutRight?: 'Granted' | 'Denied';
  /** Something the operator may not do here. */
  readonly forbidden?: { readonly verb: string; readonly resource: string };
}

/** A fact that is expensive to read, so it is read only when a decision turns on it. */
export type Need =
  /** Read the watcher itself from the API server now, and look at it from the beginning. */
  | 'watcher'
  /** Read every source from the API server now, whatever is remembered. */
  | 'contents'
  /** List the selected Pods, consistently. */
  | 'pods'
  /** List the Pods that the pending change is owed to by an earlier selector, consistently. */
  | 'formerPods'
  /** Read the controllers of the listed Pods. */
  | 'owners';
