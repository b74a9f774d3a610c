/**
 * Launch turns: which At tries its create next, where creates of a namespace fail for one cause. A full quota refuses
 * all that are due alike, so that one of them asks for all: each time another one, so that one that never fits holds
 * up none of the others. After a success 1, 2, 4, 8 … follow; a failure halves that.
 *
 * A process that loses this state tries each At once more. Times are monotonic milliseconds.
 */
import type { Clock } from '../../runtime/clock.ts';
import type { Cause } from '../plan/cause.ts';
import { LaunchLine, type Version } from './launch-line.ts';

/** An At that asks for its turn. */
export interface Candidate {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  /** An edit is worth a try of its own. */
  readonly version: Version;
}

/** The At waits: for so long at most, and why. */
export interface Wait {
  readonly waitMs: number;
  readonly failure: Cause;
  /** When the first create that failed for this cause was sent. */
  readonly since: number;
}

/** From so many different Ats on, one that has not been tried is taken to fail for the same cause. */
const presumedFrom = 8;
/** An At that does not use its turn for so long leaves the line. */
const unusedTurnMs = 5000;
/** Safety net for an At that waits for its turn. */
const maxWaitMs = 60_000;

export class LaunchTurns {
  readonly #clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly #wake: (key: string) => void;
  /** By namespace and cause. */
  readonly #lines = new Map<string, LaunchLine>();
  /** By key of an At: the line that it waits in. */
  readonly #lineOf = new Map<string, LaunchLine>();

  /** @param wake called with the key of an At when its turn comes. */
  constructor(clock: Pick<Clock, 'monotonic' | 'setTimer'>, wake: (key: string) => void = () => {}) {
    this.#clock = clock;
    this.#wake = wake;
  }

  /** How many Ats wait. */
  get size(): number {
    return this.#lineOf.size;
  }

  /** Undefined when the At may try its create now. */
  ask(candidate: Candidate): Wait | undefined {
    const { key, namespace, version } = candidate;
    const now = this.#clock.monotonic();
    const line = this.#lineOf.get(key) ?? this.#presumed(namespace);
    if (line === undefined) {
      return undefined;
    }
    const place = line.placeOf(key);
    const known = line.trying.get(key) ?? place;
    if (known === undefined) {
      line.joinNew(key, { version, failure: line.failure, since: now });
      this.#lineOf.set(key, line);
      return waitOf(line, key, line.failure, now);
    }
    if (isEdited(known.version, version)) {
      this.forget(key);
      return undefined;
    }
    if (place === undefined || (line.next(now) === key && now >= line.nextTurnAt)) {
      line.try(key, known.version, now);
      return undefined;
    }
    return waitOf(line, key, place.failure, now);
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
    const before = this.#lineOf.get(key);
    const tried = before?.trying.has(key) ? before : undefined;
    const hadTurn = tried?.id === id;
    const known = this.#lines.get(id);
    // Where causes take turns, the try that failed for another one counts as well.
    const turn = { ...options, now, failures: tried?.failures ?? 0 };
    const line = known ?? new LaunchLine({ id, namespace, failure }, turn);
    this.#lines.set(id, line);
    if (before !== line) {
      this.forget(key);
    }
    line.failure = failure;
    line.joinTried(key, { version, failure, since: now });
    this.#lineOf.set(key, line);
    if (hadTurn || known === undefined) {
      line.failures += 1;
      line.window = Math.floor(line.window / 2);
      this.#schedule(line, now + line.intervalMs(now));
    }
    return waitOf(line, key, failure, now);
  }

  /** The create of the At was not refused: it has its Pod, or another Pod has the name. */
  admitted(key: string): void {
    const line = this.#lineOf.get(key);
    if (line === undefined) {
      return;
    }
    line.failures = 0;
    line.window += 1;
    this.forget(key);
    this.#grant(line, line.window);
  }

  /** The At has no use for a turn, such as where its name is taken: the next one has it. */
  passOn(key: string): void {
    const line = this.#lineOf.get(key);
    const hadTurn = line?.trying.has(key);
    this.forget(key);
    if (line !== undefined && hadTurn) this.#grant(line, Math.max(1, line.window));
  }

  /** Nothing of this name waits any more. */
  forget(key: string): void {
    const line = this.#lineOf.get(key);
    if (line === undefined) {
      return;
    }
    line.leave(key);
    this.#lineOf.delete(key);
    if (line.size === 0) {
      line.timer?.cancel();
      this.#lines.delete(line.id);
    }
  }

  /** Gives out no more turns. */
  stop(): void {
    for (const { timer } of this.#lines.values()) timer?.cancel();
    this.#lines.clear();
    this.#lineOf.clear();
  }

  #presumed(namespace: string): LaunchLine | undefined {
    for (const line of this.#lines.values()) {
      if (line.namespace === namespace && line.window === 0 && line.size >= presumedFrom) {
        return line;
      }
    }
    return undefined;
  }

  #schedule(line: LaunchLine, at: number): void {
    line.timer?.cancel();
    line.nextTurnAt = at;
    const delay = Math.max(0, at - this.#clock.monotonic());
    line.timer = this.#clock.setTimer(delay, () => this.#turn(line));
  }

  /** The interval is over: the next At of the line tries, unless one still does. */
  #turn(line: LaunchLine): void {
    const now = this.#clock.monotonic();
    for (const [key, { since }] of line.trying) {
      // Suspended, edited or canceled meanwhile: where it is to run after all, it asks again.
      if (now - since > unusedTurnMs) this.forget(key);
    }
    if (line.size === 0) {
      return;
    }
    this.#schedule(line, now + line.intervalMs(now));
    this.#grant(line, Math.max(1, line.window));
  }

  /** Turns for the first of the line, until so many have one. */
  #grant(line: LaunchLine, most: number): void {
    const now = this.#clock.monotonic();
    while (line.trying.size < most) {
      const key = line.next(now);
      const place = key === undefined ? undefined : line.placeOf(key);
      if (key === undefined || place === undefined) break;
      line.try(key, place.version, now);
      this.#wake(key);
    }
  }
}

/** A cache that is behind what a read has shown has an older version, which is no edit. */
function isEdited(known: Version, { uid, generation }: Version): boolean {
  return uid !== known.uid || generation > known.generation;
}

function waitOf(line: LaunchLine, key: string, failure: Cause, now: number): Wait {
  const { nextTurnAt, since, trying, window } = line;
  // The first of the line needs no wake, unless another one still tries: it comes at its turn by itself.
  const isNext = line.next(now) === key && trying.size < Math.max(1, window);
  return { waitMs: isNext ? Math.max(0, nextTurnAt - now) : maxWaitMs, failure, since };
}
