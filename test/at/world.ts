/**
 * World: a small API server with a garbage collector and a kubelet, in memory. Time and every step are the test's.
 * It holds the rules that the promises of an At rest on (names are unique, uids never repeat, a stale resourceVersion
 * conflicts, a launched spec is immutable), and notes what breaks a promise.
 */
import type { At, AtSpec, AtStatus } from '../../src/api/at.generated.ts';
import type { KubernetesObject, Pod, PodStatus } from '../../src/kubernetes/objects.ts';
import { TransportError } from '../../src/runtime/client/api-error.ts';
import type { WriteOptions } from '../../src/runtime/client/call-options.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import type { JsonPatchOperation, Patch } from '../../src/runtime/client/patch.ts';
import { timeText, waiting } from '../fixtures/at.ts';
import { hasEnded, isGated, isHeld, isSchedulable, kubeletStep } from './kubelet.ts';
import { apiError, applied, merge } from './patches.ts';
import { brokenByPatch, brokenByStatus, isAllowed } from './rules.ts';

/** What goes wrong with one write, and whether it takes effect: not at all, at once, or later. */
export type Fault =
  | 'crashBefore'
  | 'crashAfter'
  | 'lostBefore'
  | 'lostAfter'
  | 'late'
  | 'refused'
  | 'failing'
  | 'invalid'
  | 'busy'
  | 'conflict'
  | 'stopBefore'
  | 'stopAfter';
/** All but those after which a caller has to let the process go on. */
export const faults: readonly Fault[] = [
  'crashBefore',
  'crashAfter',
  'lostBefore',
  'lostAfter',
  'late',
  'refused',
  'invalid',
  'busy',
  'conflict',
];

/** Milliseconds after which the API server gives up a write, as every write asks it to that does not ask for less. */
const writeTimeout = 4000;

/** The process is gone; nothing of it goes on. */
export class Crash extends Error {}

/** What a sender of a create can know. */
export interface Seen {
  /** The newest it has been shown. */
  readonly at: At | undefined;
  /** Of the Pods that it was told of or that it sees. */
  readonly podUIDs: readonly (string | undefined)[];
}

/** What a write ends with that takes no effect. */
const without: Readonly<Record<string, () => Error>> = {
  crashBefore: () => new Crash(),
  lostBefore: () => new TransportError('lost', true),
  refused: () => apiError(403, 'Forbidden', 'exceeded quota'),
  failing: () => apiError(500, 'InternalError', 'failed calling webhook "w": connection refused'),
  invalid: () => apiError(422, 'Invalid'),
  busy: () => apiError(429, 'TooManyRequests'),
  conflict: () => apiError(409, 'Conflict'),
};

export interface Creation {
  readonly atUid: string;
  readonly name: string;
  readonly uid: string;
  readonly pod: Pod;
  /** When it was sent, and what its sender had seen by then. */
  readonly time: number;
  readonly seen: Seen;
}

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
  /** The uids of the Pods whose gate was removed, in order, each with the name that counts as the attempt. */
  readonly releases: { readonly atUid: string; readonly name: string; readonly uid: string }[] = [];
  /** The uids of the Pods whose command has begun, and of those whose command has ended with 0. */
  readonly started = new Set<string>();
  readonly succeeded = new Set<string>();
  /** Milliseconds that each write takes. */
  latency = 0;
  /** No answer comes. */
  isDown = false;
  /** The fields of a status that a CRD of another version drops. */
  dropped: readonly (keyof AtStatus)[] = [];
  /** What each create of a Pod meets. */
  createFault: Fault | undefined;
  /** The uids of all Ats there have ever been, each with that of the Pod which status recorded as the first. */
  readonly launches = new Map<string, string | undefined>();
  /** The uids of the Ats that were canceled, and of those of which a status has said so, each with the version of that. */
  readonly #canceled = new Set<string>();
  readonly cancelsSeen = new Map<string, number>();
  /** The uids of the Pods that a status has recorded. */
  readonly #recorded = new Set<string>();
  #sequence = 100;
  #isLanding = false;
  #stop = Promise.withResolvers<void>();
  #goOn = Promise.withResolvers<void>();
  #late: { readonly deadline: number; readonly request: string; readonly apply: () => unknown }[] = [];

  constructor(now: number) {
    this.now = now;
  }

  createAt(spec: Partial<AtSpec> = {}, name = 'example-at'): At {
    const metadata = { name, uid: `at-${this.#next()}`, creationTimestamp: timeText(this.now) };
    this.launches.set(metadata.uid, undefined);
    return this.#store(this.ats, waiting(spec, metadata));
  }

  /** As far as the rules of the CRD allow it. */
  editAt(edit: Partial<AtSpec>, name = 'example-at'): void {
    const at = this.ats.get(name);
    if (at !== undefined && isAllowed(at, edit)) {
      const generation = (at.metadata.generation ?? 0) + 1;
      const spec = { ...at.spec, ...edit };
      if (spec.cancel === true) this.#canceled.add(at.metadata.uid ?? '');
      this.#store(this.ats, { ...at, metadata: { ...at.metadata, generation }, spec });
    }
  }

  removeAt(name = 'example-at'): void {
    this.ats.delete(name);
  }

  /** Deletes it in the foreground: it is there until its garbage is collected. */
  doomAt(name = 'example-at'): void {
    const at = this.ats.get(name);
    const deletionTimestamp = timeText(this.now);
    if (at !== undefined) this.#store(this.ats, { ...at, metadata: { ...at.metadata, deletionTimestamp } });
  }

  /** A Pod of another owner. */
  createStranger(name: string): void {
    this.#store(this.pods, {
      metadata: { name, namespace: 'default', uid: `pod-${this.#next()}` },
      spec: { containers: [] },
    });
  }

  removeStrangers(): void {
    for (const [name, pod] of this.pods) if (ownerOf(pod) === undefined) this.#remove(name);
  }

  /** A user takes every Pod from its owner. */
  stripPods(): void {
    for (const { metadata, ...pod } of this.pods.values())
      this.#store(this.pods, { ...pod, metadata: { ...metadata, ownerReferences: [] } });
  }

  /** Every Pod whose owner is gone goes, too. */
  collectGarbage(): void {
    for (const [name, { metadata }] of this.ats) {
      if (metadata.deletionTimestamp !== undefined) this.ats.delete(name);
    }
    const uids = new Set([...this.ats.values()].map(({ metadata }) => metadata.uid));
    for (const [name, { metadata }] of this.pods) {
      if (metadata.ownerReferences?.some(({ uid }) => !uids.has(uid))) {
        this.#remove(name);
      }
    }
  }

  setPod(name: string, status: PodStatus): void {
    const pod = this.pods.get(name);
    if (pod !== undefined) this.#store(this.pods, { ...pod, status: { ...pod.status, ...status } });
  }

  /** One step of the kubelet with every Pod; a command that runs ends with this code, or not by itself. */
  kubelet(exitCode: number | undefined): void {
    for (const [name, pod] of this.pods) {
      if (hasEnded(pod)) {
        if (pod.metadata.deletionTimestamp !== undefined) this.#remove(name);
      } else if (isSchedulable(pod)) {
        this.#run(pod, exitCode);
      }
    }
  }

  #run(pod: Pod, exitCode: number | undefined): void {
    const { name, uid = '' } = pod.metadata;
    if (pod.spec.nodeName === undefined) {
      this.#store(this.pods, { ...pod, spec: { ...pod.spec, nodeName: 'node' } });
    }
    const status = kubeletStep(pod, this.now, exitCode);
    this.setPod(name, status);
    if (status.phase === 'Running') this.started.add(uid);
    if (status.phase === 'Succeeded') this.succeeded.add(uid);
  }

  /** A user takes a Pod away by force. */
  removePods(): void {
    for (const name of this.pods.keys()) this.#remove(name);
  }

  /** Resolves when the next process is stopped, which then waits for {@link goOn}. */
  get stop(): Promise<void> {
    return this.#stop.promise;
  }

  /** A stopped process goes on. */
  goOn(): void {
    this.#goOn.resolve();
    this.#goOn = Promise.withResolvers();
  }

  /** The writes that are still under way. */
  get late(): readonly object[] {
    return this.#late.map(({ deadline, request }) => ({ deadline, request }));
  }

  /** The writes that are still under way take effect now, unless their time is over. */
  land(): void {
    const late = this.#late.filter(({ deadline }) => this.now < deadline);
    this.#late = [];
    this.#isLanding = true;
    for (const { apply } of late) {
      try {
        apply();
      } catch {
        // No caller waits for the answer.
      }
    }
    this.#isLanding = false;
  }

  /** A client for a process, whose next write meets its next fault. */
  client({ fault, seen, onRead, onWrite }: Process): Client {
    const write = async <T>(
      request: string,
      apply: () => T,
      tell: (result: T) => Written,
      { sendWithin = Number.POSITIVE_INFINITY, serverTimeout = writeTimeout }: WriteOptions = {},
    ): Promise<T> => {
      const kind = fault() ?? (request === 'POST pods' ? this.createFault : undefined);
      const called = this.now;
      if (kind === 'stopBefore') await this.#stopped();
      if (this.now - called >= sendWithin) throw new TransportError('too late', false);
      const result = this.#send({ kind, request, serverTimeout }, apply);
      if (kind === 'stopAfter') await this.#stopped();
      onWrite(tell(result));
      return result;
    };
    const client = {
      get: async (resource: { plural: string }, { name }: { name: string }) => {
        this.requests.push(`GET ${resource.plural}`);
        if (this.isDown) throw new TransportError('refused', false);
        const found: KubernetesObject | undefined = this.#collection(resource.plural).get(name);
        if (found === undefined) throw apiError(404, 'NotFound');
        if (resource.plural === 'ats') onRead(found as At);
        return found;
      },
      create: (_resource: unknown, pod: Pod, options?: WriteOptions) => {
        if (options?.dryRun === true) {
          return write(
            'DRYRUN pods',
            () => pod,
            () => ({}),
          );
        }
        const sent = { time: this.now, seen: seen() };
        return write(
          'POST pods',
          () => this.#createPod(pod, sent),
          (created) => ({ pod: created }),
          options,
        );
      },
      patch: (_resource: unknown, { name }: { name: string }, patch: Patch) =>
        write(
          'PATCH pods',
          () => this.#patchPod(name, patch, seen().at),
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
          () => this.#delete(resource.plural, name, options, seen().at),
          () => (resource.plural === 'pods' ? { gonePod: name } : { goneAt: name }),
        ),
    };
    return client as unknown as Client;
  }

  #send<T>({ kind, request, serverTimeout }: Sent, apply: () => T): T {
    this.requests.push(request);
    if (this.isDown) throw new TransportError('refused', false);
    const sentAt = this.now;
    this.now += Math.min(this.latency, serverTimeout);
    if (this.latency > serverTimeout) throw apiError(504, 'Timeout');
    const failed = without[kind ?? '']?.();
    if (failed !== undefined) throw failed;
    if (kind === 'late') {
      this.#late.push({ deadline: sentAt + serverTimeout, request, apply });
      throw new TransportError('timeout', true);
    }
    const result = apply();
    if (kind === 'crashAfter') throw new Crash();
    if (kind === 'lostAfter') throw new TransportError('lost', true);
    return result;
  }

  #stopped(): Promise<void> {
    this.#stop.resolve();
    this.#stop = Promise.withResolvers();
    return this.#goOn.promise;
  }

  /** At once, unless a finalizer holds it. */
  #remove(name: string): void {
    const pod = this.pods.get(name);
    this.deletions.push(name);
    if (pod !== undefined && isHeld(pod)) this.#mark(pod, 0);
    else this.pods.delete(name);
  }

  #mark(pod: Pod, seconds: number): void {
    const deletionTimestamp = timeText(this.now + seconds * 1000);
    const deletion = { deletionTimestamp, deletionGracePeriodSeconds: seconds };
    this.#store(this.pods, { ...pod, metadata: { ...pod.metadata, ...deletion } });
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

  #createPod(pod: Pod, sent: Pick<Creation, 'time' | 'seen'>): Pod {
    const { name } = pod.metadata;
    if (this.pods.has(name)) throw apiError(409, 'AlreadyExists');
    const uid = `pod-${this.#next()}`;
    this.creations.push({ atUid: ownerOf(pod) ?? '', name, uid, pod, ...sent });
    return this.#store(this.pods, {
      ...pod,
      metadata: {
        ...pod.metadata,
        uid,
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

  #patchPod(name: string, patch: Patch, seen: At | undefined): Pod {
    if (patch.type === 'json') return this.#editPod(name, patch.operations);
    const { uid, resourceVersion } = patch.type === 'merge' ? (patch.body as Pod).metadata : {};
    this.#hold(uid !== undefined && resourceVersion !== undefined, 'a Pod is patched in any version');
    const before = this.pods.get(name);
    const pod = this.#patch(this.pods, name, patch);
    this.#hold(ownerOf(pod) === seen?.metadata.uid, 'a Pod of another owner is patched');
    this.violations.push(...brokenByPatch(before, pod));
    return pod;
  }

  /** What removes the gate or the finalizer of a Pod. */
  #editPod(name: string, operations: readonly JsonPatchOperation[]): Pod {
    const before = this.pods.get(name);
    if (before === undefined) throw apiError(404, 'NotFound');
    const pod = applied(before, operations);
    const atUid = pod.metadata.labels?.['cnat.programming-kubernetes.info/controller-uid'] ?? '';
    const at = [...this.ats.values()].find(({ metadata }) => metadata.uid === atUid);
    const { podUID, phase } = at?.status ?? {};
    const { uid = '' } = pod.metadata;
    if (isGated(before) && !isGated(pod)) {
      this.#hold(this.#recorded.has(uid), 'a Pod is released that status does not record');
      this.releases.push({ atUid, name, uid });
    }
    const isLetGo = isHeld(before) && !isHeld(pod) && at?.metadata.deletionTimestamp === undefined;
    const isOfRun = podUID === uid || (podUID === undefined && !isGated(before));
    this.#hold(
      !isLetGo || !isOfRun || (phase ?? 'DONE') === 'DONE',
      'a Pod is let go before its end is recorded',
    );
    if (pod.metadata.deletionGracePeriodSeconds === 0 && !isHeld(pod)) {
      this.pods.delete(name);
      return pod;
    }
    return this.#store(this.pods, pod);
  }

  #patchStatus(name: string, patch: Patch): At {
    const version = patch.type === 'merge' ? (patch.body as At).metadata.resourceVersion : undefined;
    this.#hold(version !== undefined, 'a status write without a resourceVersion');
    const before = this.ats.get(name);
    const whole = this.#patch(this.ats, name, patch);
    const kept = Object.entries(whole.status ?? {}).filter(
      ([field]) => !this.dropped.some((one) => one === field),
    );
    const at = { ...whole, status: Object.fromEntries(kept) };
    this.ats.set(name, at);
    const { uid = '' } = at.metadata;
    this.#recorded.add(at.status?.podUID ?? '');
    this.violations.push(...brokenByStatus(before, at, this.#canceled.has(uid)));
    const isSeen = at.spec.cancel === true && at.status?.observedGeneration === at.metadata.generation;
    if (isSeen && !this.cancelsSeen.has(uid)) this.cancelsSeen.set(uid, Number(at.metadata.resourceVersion));
    const isNews = at.status?.phase === 'DONE' && before?.status?.phase !== 'DONE';
    const isUnlaunched = isNews && at.status?.podUID === undefined;
    const isThere = [...this.pods.values()].some((pod) => ownerOf(pod) === uid && !isGated(pod));
    this.#hold(!isUnlaunched || !isThere || this.#isLanding, 'a Pod that is there is not spoken of');
    if (this.launches.get(uid) === undefined) this.launches.set(uid, at.status?.podUID);
    return at;
  }

  #hold(holds: boolean, otherwise: string): void {
    if (!holds) this.violations.push(otherwise);
  }

  #delete(plural: string, name: string, preconditions: Preconditions, seen: At | undefined): void {
    this.#hold(preconditions.uid !== undefined, 'a delete without a uid');
    const collection = this.#collection(plural);
    const current = this.#expect(collection, name, preconditions);
    const pod = plural === 'pods' ? this.pods.get(name) : undefined;
    this.#hold(!pod || ownerOf(pod) === seen?.metadata.uid, 'a Pod of another owner is deleted');
    if (pod?.status?.startTime !== undefined && pod.status.phase !== 'Failed') {
      this.#mark(pod, 30);
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

interface Preconditions {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

function ownerOf({ metadata }: Pod): string | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
}

interface Sent {
  readonly kind: Fault | undefined;
  readonly request: string;
  readonly serverTimeout: number;
}

/** What the world has to do with one process. */
interface Process {
  /** What the next write meets. */
  readonly fault: () => Fault | undefined;
  readonly seen: () => Seen;
  readonly onRead: (at: At) => void;
  readonly onWrite: (written: Written) => void;
}

export interface Written {
  readonly at?: At;
  readonly pod?: Pod;
  readonly goneAt?: string;
  readonly gonePod?: string;
}
