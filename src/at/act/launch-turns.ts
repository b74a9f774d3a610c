/**
 * Launch turns: which At tries its create next, where creates of a namespace fail for one cause. A full quota refuses
 * all that are due alike, so that one of them asks for all: each time another one, so that one that never fits holds
 * up none of the others. After a success 1, 2, 4, 8 … follow; a failure halves that.
 *
 * A process that loses this state tries each At once more. Times are monotonic milliseconds.
 */
import type { Clock, Timer } from '../../runtime/clock.ts';
import type { Cause } from '../plan/cause.ts';

/** An At that asks for its turn. */
export interface Candidate {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  /** Its uid and generation: an edit is worth a try of its own. */
  readonly version: string;
}

/** The At waits: for so long at most, and why. */
export interface Wait {
  readonly waitMs: number;
  readonly failure: Cause;
  /** When the first create that failed for this cause was sent. */
  readonly since: number;
}

/** First wait after a failure; it doubles. */
const firstDelayMs = 250;
/** Bounds of the wait between two tries for one cause. */
const minIntervalMs = 500;
const maxIntervalMs = 10_000;
/** The same after a create without an answer. */
const maxIntervalWithoutAnswerMs = 2000;
/** Each At that waits has a try within this time, as far as the bounds allow it. */
const roundMs = 300_000;
/** From so many different Ats on, one that has not been tried is taken to fail for the same cause. */
const presumedFrom = 8;
/** An At that does not use its turn for so long leaves the line. */
const unusedTurnMs = 5000;
/** Safety net for an At that waits for its turn. */
const maxWaitMs = 60_000;

interface Group {
  readonly id: string;
  readonly namespace: string;
  readonly since: number;
  readonly maxIntervalMs: number;
  /** By key, in the order of their turns. */
  readonly waiting: Map<string, { readonly version: string; readonly failure: Cause }>;
  /** By key: those whose turn it is, and since when. */
  readonly trying: Map<string, { readonly version: string; readonly since: number }>;
  failure: Cause;
  /** Turns that failed in a row. */
  failures: number;
  /** How many may try at once; 0: one at each interval. */
  window: number;
  nextTurnAt: number;
  timer?: Timer;
}

export class LaunchTurns {
  readonly #clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly #wake: (key: string) => void;
  /** By namespace and cause. */
  readonly #groups = new Map<string, Group>();
  /** By key of an At: the group that it waits in. */
  readonly #groupOf = new Map<string, Group>();

  /** @param wake called with the key of an At when its turn comes. */
  constructor(clock: Pick<Clock, 'monotonic' | 'setTimer'>, wake: (key: string) => void = () => {}) {
    this.#clock = clock;
    this.#wake = wake;
  }

  /** How many Ats wait. */
  get size(): number {
    return this.#groupOf.size;
  }

  /** Undefined when the At may try its create now. */
  ask(candidate: Candidate): Wait | undefined {
    const { key, namespace, version } = candidate;
    const now = this.#clock.monotonic();
    const group = this.#groupOf.get(key) ?? this.#presumed(namespace);
    if (group === undefined) {
      return undefined;
    }
    const trying = group.trying.get(key);
    const waiting = group.waiting.get(key);
    if (waiting === undefined && trying === undefined) {
      this.#join(group, key, version, group.failure);
      return waitOf(group, group.failure, false, now);
    }
    if ((trying ?? waiting)?.version !== version) {
      this.forget(key);
      return undefined;
    }
    const isFirst = group.waiting.keys().next().value === key;
    if (waiting === undefined || (isFirst && now >= group.nextTurnAt)) {
      this.#try(group, key, version);
      return undefined;
    }
    return waitOf(group, waiting.failure, isFirst, now);
  }

  /** The create of the At failed. Returns how long it waits. @param options.since when it was sent; now by default. */
  failed(
    { key, namespace, version }: Candidate,
    cause: string,
    failure: Cause,
    options: { readonly since?: number; readonly isAnswered?: boolean } = {},
  ): Wait {
    const now = this.#clock.monotonic();
    const id = `${namespace}/${cause}`;
    const before = this.#groupOf.get(key);
    const hadTurn = before?.id === id && before.trying.has(key);
    const known = this.#groups.get(id);
    const group = known ?? newGroup(id, namespace, failure, { ...options, now });
    this.#groups.set(id, group);
    if (before !== group) {
      this.forget(key);
    }
    group.trying.delete(key);
    group.waiting.delete(key);
    group.failure = failure;
    this.#join(group, key, version, failure);
    if (hadTurn || known === undefined) {
      group.failures += 1;
      group.window = Math.floor(group.window / 2);
      this.#schedule(group, now + intervalOf(group));
    }
    return waitOf(group, failure, group.waiting.keys().next().value === key, now);
  }

  /** The create of the At was not refused: it has its Pod, or another Pod has the name. */
  admitted(key: string): void {
    const group = this.#groupOf.get(key);
    if (group === undefined) {
      return;
    }
    group.failures = 0;
    group.window += 1;
    this.forget(key);
    this.#grant(group, group.window);
  }

  /** Nothing of this name waits any more. */
  forget(key: string): void {
    const group = this.#groupOf.get(key);
    if (group === undefined) {
      return;
    }
    group.waiting.delete(key);
    group.trying.delete(key);
    this.#groupOf.delete(key);
    if (sizeOf(group) === 0) {
      group.timer?.cancel();
      this.#groups.delete(group.id);
    }
  }

  /** Gives out no more turns. */
  stop(): void {
    for (const { timer } of this.#groups.values()) timer?.cancel();
    this.#groups.clear();
    this.#groupOf.clear();
  }

  #presumed(namespace: string): Group | undefined {
    for (const group of this.#groups.values()) {
      if (group.namespace === namespace && group.window === 0 && sizeOf(group) >= presumedFrom) {
        return group;
      }
    }
    return undefined;
  }

  #join(group: Group, key: string, version: string, failure: Cause): void {
    group.waiting.set(key, { version, failure });
    this.#groupOf.set(key, group);
  }

  #try(group: Group, key: string, version: string): void {
    group.waiting.delete(key);
    group.trying.set(key, { version, since: this.#clock.monotonic() });
  }

  #schedule(group: Group, at: number): void {
    group.timer?.cancel();
    group.nextTurnAt = at;
    const delay = Math.max(0, at - this.#clock.monotonic());
    group.timer = this.#clock.setTimer(delay, () => this.#turn(group));
  }

  /** The interval is over: the next At of the line tries, unless one still does. */
  #turn(group: Group): void {
    const now = this.#clock.monotonic();
    for (const [key, { since }] of group.trying) {
      // Suspended, edited or canceled meanwhile: where it is to run after all, it asks again.
      if (now - since > unusedTurnMs) this.forget(key);
    }
    if (sizeOf(group) === 0) {
      return;
    }
    this.#schedule(group, now + intervalOf(group));
    this.#grant(group, Math.max(1, group.window));
  }

  /** Turns for the first of the line, until so many have one. */
  #grant(group: Group, most: number): void {
    for (const [key, { version }] of group.waiting) {
      if (group.trying.size >= most) break;
      this.#try(group, key, version);
      this.#wake(key);
    }
  }
}

function newGroup(
  id: string,
  namespace: string,
  failure: Cause,
  { now, since = now, isAnswered = true }: { now: number; since?: number; isAnswered?: boolean },
): Group {
  return {
    ...{ id, namespace, failure, since, nextTurnAt: now, failures: 0, window: 0 },
    waiting: new Map(),
    trying: new Map(),
    maxIntervalMs: isAnswered ? maxIntervalMs : maxIntervalWithoutAnswerMs,
  };
}

function sizeOf({ waiting, trying }: Group): number {
  return waiting.size + trying.size;
}

function intervalOf(group: Group): number {
  const { failures, maxIntervalMs: most } = group;
  const round = Math.max(minIntervalMs, roundMs / Math.max(1, sizeOf(group)));
  return Math.min(most, round, firstDelayMs * 2 ** Math.min(Math.max(0, failures - 1), 10));
}

function waitOf(group: Group, failure: Cause, isFirst: boolean, now: number): Wait {
  const { nextTurnAt, since, trying, window } = group;
  // The first of the line needs no wake, unless another one still tries: it comes at its turn by itself.
  const isNext = isFirst && trying.size < Math.max(1, window);
  return { waitMs: isNext ? Math.max(0, nextTurnAt - now) : maxWaitMs, failure, since };
}
