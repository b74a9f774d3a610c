/**
 * World: a small API server with a garbage collector and a kubelet, in memory, and operators that look at it
 * through caches of their own. Time and every step are the test's. It holds the rules that the promises of an
 * At rest on: names are unique, uids never repeat, a stale resourceVersion conflicts, phases never go back.
 */
import type { At, AtSpec } from '../../src/api/at.generated.ts';
import type { KubernetesObject, Pod, PodStatus } from '../../src/api/kubernetes.ts';
import { AtReconciler } from '../../src/at/reconciler.ts';
import type { Lister } from '../../src/runtime/cache/lister.ts';
import { ApiError, TransportError } from '../../src/runtime/client/api-error.ts';
import type { Client, Patch } from '../../src/runtime/client/client.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import type { Result } from '../../src/runtime/controller/reconciler.ts';
import type { EventRecord } from '../../src/runtime/events/event-recorder.ts';
import { type Logger, silentLogger } from '../../src/runtime/logger.ts';
import { timeText, waiting } from '../fixtures/at.ts';

/** What goes wrong with one write, and whether it takes effect: not at all, at once, or later. */
export type Fault = 'crashBefore' | 'crashAfter' | 'lostBefore' | 'lostAfter' | 'late' | 'refused' | 'busy';
export const faults: readonly Fault[] = [
  'crashBefore',
  'crashAfter',
  'lostBefore',
  'lostAfter',
  'late',
  'refused',
  'busy',
];

/** Milliseconds after which the API server gives up a write, as every write asks it to. */
const writeTimeout = 4000;

/** The process is gone; nothing of it goes on. */
export class Crash extends Error {}

function apiError(code: number, reason: string, message = reason): ApiError {
  return new ApiError(message, code, { code, reason, message });
}

/** JSON merge patch. */
function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) {
    return patch;
  }
  const result: Record<string, unknown> = { ...(target as Record<string, unknown> | undefined) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) {
      delete result[key];
    } else {
      result[key] = merge(result[key], value);
    }
  }
  return result;
}

export interface Creation {
  readonly atUid: string;
  readonly name: string;
  readonly time: number;
  /** The At had its outcome already. */
  readonly afterDone: boolean;
}

const phases = ['PENDING', 'RUNNING', 'DONE'];

export class World {
  now: number;
  readonly ats = new Map<string, At>();
  readonly pods = new Map<string, Pod>();
  /** Every Pod that was ever created. */
  readonly creations: Creation[] = [];
  /** The names of Pods that were deleted. */
  readonly deletions: string[] = [];
  /** Every request that reached the API server, such as `POST pods`. */
  readonly requests: string[] = [];
  readonly violations: string[] = [];
  #sequence = 100;
  #late: { readonly deadline: number; readonly apply: () => unknown }[] = [];

  constructor(now: number) {
    this.now = now;
  }

  createAt(spec: Partial<AtSpec> = {}, name = 'example-at'): At {
    const metadata = { name, uid: `at-${this.#next()}`, creationTimestamp: timeText(this.now) };
    return this.#store(this.ats, waiting(spec, metadata));
  }

  editAt(spec: Partial<AtSpec>, name = 'example-at'): void {
    const at = this.ats.get(name);
    if (at !== undefined) {
      const generation = (at.metadata.generation ?? 0) + 1;
      this.#store(this.ats, {
        ...at,
        metadata: { ...at.metadata, generation },
        spec: { ...at.spec, ...spec },
      });
    }
  }

  removeAt(name = 'example-at'): void {
    this.ats.delete(name);
  }

  /** A Pod of somebody else. */
  createStranger(name: string): void {
    this.#store(this.pods, {
      metadata: { name, namespace: 'default', uid: `pod-${this.#next()}` },
      spec: { containers: [] },
    });
  }

  /** Every Pod whose owner is gone goes, too. */
  collectGarbage(): void {
    const uids = new Set([...this.ats.values()].map(({ metadata }) => metadata.uid));
    for (const [name, { metadata }] of this.pods) {
      if (metadata.ownerReferences?.some(({ uid }) => !uids.has(uid))) {
        this.#remove(name);
      }
    }
  }

  setPod(name: string, status: PodStatus): void {
    const pod = this.pods.get(name);
    if (pod !== undefined) {
      this.#store(this.pods, { ...pod, status: { ...pod.status, ...status } });
    }
  }

  /** One step of the kubelet with every Pod; a command that runs ends with this code, or not by itself. */
  kubelet(exitCode: number | undefined): void {
    for (const [name, pod] of this.pods) {
      const isEnded = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
      if (isEnded && pod.metadata.deletionTimestamp !== undefined) {
        this.#remove(name);
      } else if (!isEnded) {
        this.setPod(name, kubeletStep(pod, this.now, exitCode));
      }
    }
  }

  /** Somebody takes a Pod away by force. */
  removePods(): void {
    for (const name of this.pods.keys()) this.#remove(name);
  }

  /** The writes that are still under way take effect now, unless their time is over. */
  land(): void {
    const late = this.#late.filter(({ deadline }) => this.now < deadline);
    this.#late = [];
    for (const { apply } of late) {
      try {
        apply();
      } catch {
        // Nobody waits for the answer.
      }
    }
  }

  /** A client whose n-th write, counted from 0 over its life, meets `fault(n)`. */
  client(fault: (write: number) => Fault | undefined, onWrite: (written: Written) => void): Client {
    let writes = 0;
    const write = async <T>(request: string, apply: () => T, tell: (result: T) => Written): Promise<T> => {
      const kind = fault(writes);
      writes += 1;
      this.requests.push(request);
      if (kind === 'crashBefore') throw new Crash();
      if (kind === 'lostBefore') throw new TransportError('lost', true);
      if (kind === 'refused') throw apiError(403, 'Forbidden', 'exceeded quota');
      if (kind === 'busy') throw apiError(429, 'TooManyRequests');
      if (kind === 'late') {
        this.#late.push({ deadline: this.now + writeTimeout, apply });
        throw new TransportError('timeout', true);
      }
      const result = apply();
      if (kind === 'crashAfter') throw new Crash();
      if (kind === 'lostAfter') throw new TransportError('lost', true);
      onWrite(tell(result));
      return result;
    };
    const client = {
      get: async (resource: { plural: string }, { name }: { name: string }) => {
        this.requests.push(`GET ${resource.plural}`);
        const found: KubernetesObject | undefined = this.#collection(resource.plural).get(name);
        if (found === undefined) throw apiError(404, 'NotFound');
        return found;
      },
      create: (_resource: unknown, pod: Pod, options?: { dryRun?: boolean }) =>
        options?.dryRun === true
          ? write(
              'DRYRUN pods',
              () => pod,
              () => ({}),
            )
          : write(
              'POST pods',
              () => this.#createPod(pod),
              (created) => ({ pod: created }),
            ),
      patch: (_resource: unknown, { name }: { name: string }, patch: Patch) =>
        write(
          'PATCH pods',
          () => this.#patch(this.pods, name, patch),
          (pod) => ({ pod }),
        ),
      patchStatus: (_resource: unknown, { name }: { name: string }, patch: Patch) =>
        write(
          'PATCH ats/status',
          () => this.#patchStatus(name, patch),
          (at) => ({ at }),
        ),
      delete: (resource: { plural: string }, { name }: { name: string }, options: Preconditions) =>
        write(
          `DELETE ${resource.plural}`,
          () => this.#delete(resource.plural, name, options),
          () => (resource.plural === 'pods' ? { gonePod: name } : { goneAt: name }),
        ),
    };
    return client as unknown as Client;
  }

  #remove(name: string): void {
    this.pods.delete(name);
    this.deletions.push(name);
  }

  #next(): number {
    this.#sequence += 1;
    return this.#sequence;
  }

  #collection(plural: string): Map<string, KubernetesObject> {
    return (plural === 'pods' ? this.pods : this.ats) as Map<string, KubernetesObject>;
  }

  #store<T extends KubernetesObject>(collection: Map<string, T>, object: T): T {
    const metadata = { ...object.metadata, resourceVersion: String(this.#next()) };
    const stored = { ...object, metadata };
    collection.set(metadata.name, stored);
    return stored;
  }

  #createPod(pod: Pod): Pod {
    if (this.pods.has(pod.metadata.name)) throw apiError(409, 'AlreadyExists');
    const atUid = pod.metadata.ownerReferences?.[0]?.uid ?? '';
    const owner = [...this.ats.values()].find(({ metadata }) => metadata.uid === atUid);
    const afterDone = owner?.status?.phase === 'DONE';
    this.creations.push({ atUid, name: pod.metadata.name, time: this.now, afterDone });
    return this.#store(this.pods, {
      ...pod,
      metadata: {
        ...pod.metadata,
        uid: `pod-${this.#next()}`,
        creationTimestamp: timeText(Math.floor(this.now / 1000) * 1000),
      },
      status: { phase: 'Pending' },
    });
  }

  #patch<T extends KubernetesObject>(collection: Map<string, T>, name: string, patch: Patch): T {
    if (patch.type !== 'merge') throw apiError(415, 'UnsupportedMediaType');
    const current = this.#expect(collection, name, (patch.body as T).metadata);
    return this.#store(collection, merge(current, patch.body) as T);
  }

  #patchStatus(name: string, patch: Patch): At {
    const before = phases.indexOf(this.ats.get(name)?.status?.phase ?? 'PENDING');
    if (patch.type === 'merge' && (patch.body as At).metadata.resourceVersion === undefined) {
      this.violations.push('a status write without a resourceVersion');
    }
    const at = this.#patch(this.ats, name, patch);
    if (phases.indexOf(at.status?.phase ?? 'PENDING') < before)
      this.violations.push('a phase that went back');
    return at;
  }

  #delete(plural: string, name: string, preconditions: Preconditions): void {
    if (preconditions.uid === undefined) this.violations.push('a delete without a uid');
    const collection = this.#collection(plural);
    const current = this.#expect(collection, name, preconditions);
    const pod = plural === 'pods' ? this.pods.get(name) : undefined;
    if (pod?.status?.startTime !== undefined && pod.status.phase !== 'Failed') {
      this.#store(this.pods, {
        ...pod,
        metadata: { ...pod.metadata, deletionTimestamp: timeText(this.now + 30_000) },
      });
    } else if (pod !== undefined) {
      this.#remove(name);
    } else {
      collection.delete(current.metadata.name);
    }
  }

  #expect<T extends KubernetesObject>(collection: Map<string, T>, name: string, expected: Preconditions): T {
    const current = collection.get(name);
    if (current === undefined) throw apiError(404, 'NotFound');
    const { uid, resourceVersion } = current.metadata;
    if ((expected?.uid ?? uid) !== uid) throw apiError(409, 'Conflict');
    if ((expected?.resourceVersion ?? resourceVersion) !== resourceVersion) throw apiError(409, 'Conflict');
    return current;
  }
}

/** What the kubelet reports of a Pod that has not ended. */
function kubeletStep({ metadata, spec, status }: Pod, now: number, exitCode: number | undefined): PodStatus {
  const name = spec.containers[0]?.name ?? '';
  const time = timeText(now);
  const ended = (code: number, reason?: string): PodStatus => {
    const terminated = { exitCode: code, startedAt: status?.startTime ?? time, finishedAt: time };
    return {
      phase: code === 0 ? 'Succeeded' : 'Failed',
      containerStatuses: [{ name, restartCount: 0, state: { terminated } }],
      ...(reason === undefined ? {} : { reason }),
    };
  };
  if (metadata.deletionTimestamp !== undefined) return ended(143);
  if (status?.startTime === undefined) return { startTime: time };
  if (spec.activeDeadlineSeconds === 1) return ended(143, 'DeadlineExceeded');
  if (status.phase === 'Running' && exitCode !== undefined) return ended(exitCode);
  const state = { running: { startedAt: status.startTime } };
  return { phase: 'Running', containerStatuses: [{ name, restartCount: 0, state }] };
}

interface Preconditions {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

interface Written {
  readonly at?: At;
  readonly pod?: Pod;
  readonly goneAt?: string;
  readonly gonePod?: string;
}

let processes = 0;

/** One process: a reconciler with a memory, and caches that are as old as the last sync, own writes aside. */
export class Operator {
  readonly world: World;
  readonly events: string[] = [];
  /** What it logged at info and warn: level and sentence. */
  readonly lines: string[] = [];
  /** Name of the process among all of the test. */
  holder = '';
  /** uids of the Pods that this process was told it has created. */
  knows: string[] = [];
  /** Milliseconds by which its wall clock is ahead. */
  skew = 0;
  /** Met by the next writes, in their order. */
  faults: (Fault | undefined)[] = [];
  ats = new Map<string, At>();
  pods = new Map<string, Pod>();
  #reconciler: AtReconciler;

  constructor(world: World) {
    this.world = world;
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
    const context = { signal: new AbortController().signal, log: this.#log, reconcileID: 'test' };
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
    processes += 1;
    this.holder = `process-${processes}`;
    const { world } = this;
    const clock = { now: () => world.now + this.skew, monotonic: () => world.now } as Clock;
    return new AtReconciler({
      client: world.client(
        () => this.faults.shift(),
        (written) => this.#observeWrite(written),
      ),
      clock,
      recorder: {
        record: (_resource: unknown, _at: unknown, { type, reason }: EventRecord) => {
          this.events.push(type === 'Warning' ? `${reason} (W)` : reason);
        },
      },
      ats: listerOf(() => this.ats),
      pods: listerOf(() => this.pods),
      holder: this.holder,
    });
  }

  #observeWrite({ at, pod, goneAt, gonePod }: Written): void {
    if (at !== undefined) this.ats.set(at.metadata.name, at);
    if (pod !== undefined) {
      this.pods.set(pod.metadata.name, pod);
      this.knows.push(pod.metadata.uid ?? '');
    }
    if (goneAt !== undefined) this.ats.delete(goneAt);
    if (gonePod !== undefined && !this.world.pods.has(gonePod)) this.pods.delete(gonePod);
  }
}

function listerOf<T extends KubernetesObject>(objects: () => Map<string, T>): Lister<T> {
  return {
    get: (_namespace, name) => objects().get(name),
    list: () => [...objects().values()],
    byIndex: () => [],
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
