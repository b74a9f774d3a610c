/**
 * History: everything that happened in a run, in order, and what follows from it. Promises look at each entry as
 * it comes and keep no more than they need, so that a history of simulated days fits into memory.
 */
import type { KubernetesObject, Pod } from '../../src/kubernetes/objects.ts';
import { Authors } from './authors.ts';
import type { Entry, EntryOf, SeenEntry } from './entry.ts';
import { Objects } from './objects.ts';
import { Runs } from './runs.ts';
import { Watchers } from './watchers.ts';

export interface Violation {
  /** As in reliability.md: `S1`, `R3`, `L1`, … */
  readonly promise: string;
  readonly time: number;
  /** What happened, with the names of the objects. */
  readonly text: string;
  /** A short name of the way in which it broke, for recognizing what is known. */
  readonly clue: string;
}

/** What a promise reports; the rest of a {@link Violation} is added. */
export interface Finding {
  readonly text: string;
  readonly clue?: string;
}

/** What breaks a promise; {@link kept}, or none: it was kept; undefined: it is about something else. */
export type Found = Finding | undefined | readonly Finding[];

/** The promise is about this, and it is kept. */
export const kept: readonly Finding[] = [];

/** What is found at each of several things; undefined when the promise is about none of them. */
export function among<T>(all: Iterable<T>, look: (one: T) => Found): Found {
  let found: Finding[] | undefined;
  for (const one of all) {
    const here = look(one);
    if (here === undefined) continue;
    found ??= [];
    found.push(...('text' in here ? [here] : here));
  }
  return found;
}

type Handler<T extends Entry['type']> = (entry: EntryOf<T>) => Found;

/** What a promise looks at. */
export type Observer = { readonly [T in Entry['type']]?: Handler<T> } & {
  /** At the end of a run that became calm. */
  readonly end?: () => Found;
};

export interface NamedPromise {
  readonly name: string;
  /** What is promised, as the documentation puts it. */
  readonly sentence: string;
  start(history: History): Observer;
}

/** One state of an object as a replica was shown it. */
export interface Seen {
  readonly object: KubernetesObject;
  readonly time: number;
  readonly gone: boolean;
}

export interface Replica {
  readonly name: string;
  running: boolean;
  /** When it stood still last, stopped or suspended: to infinity while it does. */
  stoodStill?: { readonly from: number; readonly to: number };
  startedAt: number;
  /** Milliseconds by which its wall clock is ahead of true time. */
  clockAhead: number;
  /** uid → what it was shown, oldest first. */
  readonly seen: Map<string, Seen[]>;
}

/** Faults after which a watch may follow nothing until its silence is noticed. */
const blinding: ReadonlySet<string> = new Set([
  'half-open',
  'watch-meets',
  'bad-network',
  'partition',
  'stale-cache',
  'slow-cache',
  'server-down',
  'suspend',
  'sigstop',
]);

/**
 * So many states of an object a replica is remembered to have been shown, and all of so many milliseconds: a request
 * may be on its way for longer than half of that.
 */
const keptStates = 20;
const keptFor = 60_000;

/** A promise, and how often it was about something. */
export interface Exercise {
  readonly name: string;
  readonly sentence: string;
  count: number;
}

interface Registered {
  readonly exercise: Exercise;
  readonly handle: (entry: Entry) => Found;
}

export class History {
  /** Of the entry that is looked at. */
  time = 0;
  readonly objects = new Objects();
  readonly runs = new Runs();
  readonly authors = new Authors();
  readonly watchers: Watchers;
  readonly replicas = new Map<string, Replica>();
  /** Those that last, by id. */
  readonly faults = new Map<number, EntryOf<'fault'>>();
  /** When the last fault began or ended, or a user edited something. */
  disturbedAt = 0;
  /** When the last fault began or ended. */
  faultedAt = 0;
  /** When the last fault ended that may have left a watch silent. */
  blindedAt = Number.NEGATIVE_INFINITY;
  /** When anything happened that the operator may have to act on: all of these, and what controllers and nodes do. */
  busyAt = 0;
  /** Whether entries say what replicas were shown; else a replica counts as knowing what etcd holds. */
  tracksSeen = false;
  /** The Pods that went away in the turn of the present request, as they were: `namespace/name` → Pod. */
  readonly removed = new Map<string, Pod>();
  /** When the last Pod of a name went away: `namespace/name` → time. */
  readonly freed = new Map<string, number>();
  readonly violations: Violation[] = [];
  readonly #handlers = new Map<string, Registered[]>();
  readonly #listeners: ((entry: Entry) => void)[] = [];
  #changedAt = 0;
  readonly #ends: { readonly exercise: Exercise; readonly end: NonNullable<Observer['end']> }[] = [];
  readonly exercises: Exercise[] = [];
  /** Canary texts that may appear nowhere but where they were put. */
  readonly secrets: readonly string[];

  constructor(promises: readonly NamedPromise[], { secrets = [] }: { secrets?: readonly string[] } = {}) {
    this.secrets = secrets;
    this.watchers = new Watchers(this.objects);
    for (const promise of promises) this.#register(promise);
  }

  #register(promise: NamedPromise): void {
    const { end, ...handlers } = promise.start(this);
    const { name, sentence } = promise;
    const exercise = { name, sentence, count: 0 };
    this.exercises.push(exercise);
    for (const [type, handle] of Object.entries(handlers)) {
      const others = this.#handlers.get(type) ?? [];
      this.#handlers.set(type, others);
      others.push({ exercise, handle: handle as Registered['handle'] });
    }
    if (end) this.#ends.push({ exercise, end });
  }

  /** Told every entry, once the history has learned from it. */
  onEntry(listener: (entry: Entry) => void): void {
    this.#listeners.push(listener);
  }

  add(entry: Entry): void {
    this.time = entry.time;
    this.#learn(entry);
    for (const listener of this.#listeners) listener(entry);
    for (const { exercise, handle } of this.#handlers.get(entry.type) ?? []) {
      this.#report(exercise, handle(entry));
    }
  }

  /** After the last entry. */
  end(): readonly Violation[] {
    for (const { exercise, end } of this.#ends) this.#report(exercise, end());
    return this.violations;
  }

  #report(exercise: Exercise, found: Found): void {
    if (found === undefined) return;
    exercise.count += 1;
    for (const { text, clue = '' } of 'text' in found ? [found] : found) {
      this.violations.push({ promise: exercise.name, time: this.time, text, clue });
    }
  }

  #learn(entry: Entry): void {
    switch (entry.type) {
      case 'change':
        if (entry.time !== this.#changedAt) this.removed.clear();
        this.#changedAt = entry.time;
        if (entry.resource === 'pods' && entry.change === 'DELETED') {
          const key = `${entry.object.metadata.namespace}/${entry.object.metadata.name}`;
          this.removed.set(key, entry.object as Pod);
          this.freed.set(key, entry.time);
        }
        this.objects.apply(entry);
        // Its own writes are no reason for others.
        if (entry.by?.replica === undefined) this.busyAt = entry.time;
        this.runs.change(entry);
        this.authors.change(entry);
        this.watchers.change(entry);
        break;
      case 'seen':
        this.#see(entry);
        break;
      case 'container-start':
        this.runs.started(entry);
        break;
      case 'container-end':
        this.runs.ended(entry);
        break;
      case 'replica':
        this.#replica(entry);
        break;
      case 'fault':
        this.#fault(entry);
        break;
      case 'edit':
        this.disturbedAt = entry.time;
        this.busyAt = entry.time;
        break;
      // Of interest to promises only.
      case 'request':
      case 'log':
      case 'calm':
        break;
    }
  }

  #see({ replica, object, time, gone }: SeenEntry): void {
    this.tracksSeen = true;
    const { seen } = this.replica(replica);
    const uid = object.metadata.uid ?? '';
    const states = seen.get(uid) ?? [];
    seen.set(uid, states);
    states.push({ object, time, gone });
    // Until the second was shown, the first was what it knew.
    if (states.length > keptStates && time - (states[1]?.time ?? time) > keptFor) states.shift();
  }

  replica(name: string): Replica {
    let replica = this.replicas.get(name);
    if (replica === undefined) {
      replica = { name, running: true, startedAt: 0, clockAhead: 0, seen: new Map() };
      this.replicas.set(name, replica);
    }
    return replica;
  }

  /**
   * What a replica had been shown last of an object by then, by the version of the object and not by the order of
   * arrival: an answer may be older than a watch event before it. Undefined: it was never shown any of it.
   */
  knownBy(name: string | undefined, uid: string, before: number): Seen | undefined {
    const states = name === undefined ? undefined : this.replicas.get(name)?.seen.get(uid);
    let newest: Seen | undefined;
    for (const state of states ?? []) {
      if (state.time > before) continue;
      if (newest === undefined || state.gone || versionOf(state) >= versionOf(newest)) newest = state;
    }
    return newest;
  }

  #replica({ replica: name, state, time, clockAhead }: EntryOf<'replica'>): void {
    const replica = this.replica(name);
    this.disturbedAt = time;
    this.faultedAt = time;
    this.busyAt = time;
    replica.clockAhead = clockAhead ?? replica.clockAhead;
    if (state === 'stopped') replica.stoodStill = { from: time, to: Number.POSITIVE_INFINITY };
    if (state === 'continued' && replica.stoodStill) replica.stoodStill = { ...replica.stoodStill, to: time };
    if (state === 'started') {
      replica.startedAt = time;
      replica.seen.clear();
    }
    replica.running = !(state === 'killed' || state === 'exited');
  }

  #fault(entry: EntryOf<'fault'>): void {
    this.disturbedAt = entry.time;
    this.faultedAt = entry.time;
    this.busyAt = entry.time;
    if (blinding.has(entry.kind)) this.blindedAt = entry.time;
    if (entry.state === 'begins') this.faults.set(entry.id, entry);
    if (entry.state === 'ends') this.faults.delete(entry.id);
  }
}

function versionOf({ object }: Seen): number {
  return Number(object.metadata.resourceVersion ?? 0);
}
