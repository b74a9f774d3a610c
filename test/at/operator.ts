/** Operator: a process that looks at a {@link World} through caches of its own, which are as old as the test wants. */

import type { At } from '../../src/api/at.generated.ts';
import { LaunchTurns } from '../../src/at/act/launch-turns.ts';
import { Memory } from '../../src/at/act/memory.ts';
import { trackedAts } from '../../src/at/facts/pod-owner.ts';
import { AtReconciler } from '../../src/at/reconciler.ts';
import { controllerOf, type KubernetesObject, type Pod } from '../../src/kubernetes/objects.ts';
import type { IndexFunction, Lister } from '../../src/runtime/cache/lister.ts';
import { ApiError, TransportError } from '../../src/runtime/client/api-error.ts';
import { isEnded } from '../../src/runtime/client/written.ts';
import type { Result } from '../../src/runtime/controller/reconciler.ts';
import type { EventRecord } from '../../src/runtime/events/event-recorder.ts';
import { type Logger, silentLogger } from '../../src/runtime/logger.ts';
import { Crash, type Fault, type Seen, type World, type Written } from './world.ts';

const never = new AbortController().signal;

/** One process: a reconciler with a memory, and caches that are as old as the last sync, own writes aside. */
export class Operator {
  readonly world: World;
  readonly events: string[] = [];
  /** What it logged at info and warn: level and sentence. */
  readonly lines: string[] = [];
  /** uids of the Pods that this process was told it has created. */
  knows: string[] = [];
  /** Whether its Pods get the finalizer. */
  readonly tracks: boolean;
  /** Milliseconds by which its wall clock is ahead. */
  skew = 0;
  /** Met by the next writes, in their order. */
  faults: (Fault | undefined)[] = [];
  ats = new Map<string, At>();
  pods = new Map<string, Pod>();
  /** Pods that went out of its sight while the finalizer held them. */
  hidden: Pod[] = [];
  /** What the API server has answered last. */
  #read: At | undefined;
  #reconciler: AtReconciler;

  constructor(world: World, { tracks = true }: { readonly tracks?: boolean } = {}) {
    this.world = world;
    this.tracks = tracks;
    this.#reconciler = this.#start();
  }

  syncAts(): void {
    this.ats = new Map(this.world.ats);
  }

  syncPods(): void {
    this.pods = new Map(this.world.pods);
  }

  /** A new process takes over: it lists everything and remembers nothing. */
  restart(): void {
    this.#reconciler = this.#start();
  }

  readonly #log: Logger = {
    ...silentLogger,
    info: (...line: unknown[]) => void this.lines.push(`info ${line.at(-1)}`),
    warn: (...line: unknown[]) => void this.lines.push(`warn ${line.at(-1)}`),
  };

  /** One pass. An error means: try again; a crash restarts the process. */
  async reconcile(name = 'example-at'): Promise<Result | Error> {
    const context = { signal: never, log: this.#log, reconcileID: 'test' };
    try {
      return await this.#reconciler.reconcile({ namespace: 'default', name }, context);
    } catch (error) {
      if (!isExpected(error)) throw error;
      if (hasCause(error, Crash)) this.restart();
      return error;
    }
  }

  #start(): AtReconciler {
    this.syncAts();
    this.syncPods();
    this.faults = [];
    this.knows = [];
    this.#read = undefined;
    const { world } = this;
    const ended: Pod[] = [];
    const clock = {
      now: () => world.now + this.skew,
      monotonic: () => world.now,
      setTimer: () => ({ cancel() {} }),
      turn: async () => {},
    };
    return new AtReconciler({
      client: world.client({
        fault: () => this.faults.shift(),
        seen: () => this.#seen(),
        onRead: (at) => {
          this.#read = at;
        },
        onWrite: (written) => this.#observeWrite(written),
      }),
      clock,
      memory: new Memory(),
      turns: new LaunchTurns(clock),
      recorder: {
        record: (_resource: unknown, _at: unknown, { type, reason }: EventRecord) => {
          this.events.push(type === 'Warning' ? `${reason} (W)` : reason);
        },
      },
      ats: listerOf(
        () => this.ats,
        () => [],
      ),
      pods: listerOf(() => this.pods, trackedAts),
      departed: {
        of: ({ metadata }) => ended.filter((pod) => controllerOf(pod)?.uid === metadata.uid),
        keep: (pod) => void ended.push(pod),
      },
      hidden: {
        of: () => this.hidden,
        released: ({ metadata }) => {
          this.hidden = this.hidden.filter((pod) => pod.metadata.uid !== metadata.uid);
        },
      },
      tracks: this.tracks,
    });
  }

  #seen(): Seen {
    const [at] = [...this.ats.values(), this.#read]
      .filter((one) => one !== undefined)
      .toSorted((one, other) => versionOf(other) - versionOf(one));
    const podUIDs = [...this.knows, ...[...this.pods.values()].map(({ metadata }) => metadata.uid)];
    return { at, podUIDs };
  }

  #observeWrite({ at, pod, goneAt, gonePod }: Written): void {
    if (at !== undefined) this.ats.set(at.metadata.name, at);
    if (pod !== undefined) {
      if (isEnded(pod)) this.pods.delete(pod.metadata.name);
      else this.pods.set(pod.metadata.name, pod);
      this.knows.push(pod.metadata.uid ?? '');
    }
    if (goneAt !== undefined) this.ats.delete(goneAt);
    if (gonePod !== undefined && !this.world.pods.has(gonePod)) this.pods.delete(gonePod);
  }
}

function versionOf({ metadata }: At): number {
  return Number(metadata.resourceVersion);
}

function listerOf<T extends KubernetesObject>(
  objects: () => Map<string, T>,
  index: IndexFunction<T>,
): Lister<T> {
  return {
    get: (_namespace, name) => objects().get(name),
    list: () => [...objects().values()],
    byIndex: (_name, value) => [...objects().values()].filter((one) => index(one).includes(value)),
    get size() {
      return objects().size;
    },
  };
}

function isExpected(error: unknown): error is Error {
  return [Crash, ApiError, TransportError].some((kind) => hasCause(error, kind));
}

function hasCause(error: unknown, kind: abstract new (...args: never[]) => Error): boolean {
  if (error instanceof kind) return true;
  return error instanceof Error && error.cause !== undefined && hasCause(error.cause, kind);
}
