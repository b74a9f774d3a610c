/**
 * Recovery: decides what follows a reflector's failure: how long to wait, and whether to load the
 * collection again. It says what is wrong once, when it begins, and once when it is over.
 *
 * A load is expensive for a server that has too much to do already, so a watch goes on from its position after
 * everything that says nothing about that position.
 */
import type { Resource } from '../../kubernetes/objects.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { Backoff } from './backoff.ts';
import { isBuiltIn, type Presence } from './presence.ts';
import {
  askedDelay,
  blamesPosition,
  isWatchListRefused,
  mustReload,
  problemOf,
  type ReflectorProblem,
} from './reflector-problem.ts';

/** What a reflector was doing: loading the collection in one way or the other, or following it. */
export type ReflectorStep = 'initial-events' | 'list' | 'watch';

export interface Failure {
  readonly error: unknown;
  readonly step: ReflectorStep;
  /** What discovery says of the resource; unknown where it was not asked. */
  readonly presence: Presence;
}

export interface Retry {
  /** Milliseconds to wait first. */
  readonly delay: number;
  /** Go on with the whole collection instead of a watch. */
  readonly reload: boolean;
  /** Initial events do not work right now: this load is done by lists. */
  readonly avoidInitialEvents: boolean;
  /** The resource is not served any more, so none of its objects exists. */
  readonly gone: boolean;
}

/** A load this young (ms) that is expired again was in vain: wait before the next. */
const youngLoad = 1000;
/** Watches that bring nothing new for so long (ms) together, not even a bookmark, may have followed nothing. */
const muteTime = 120_000;
/** Failures to go forward from the same position, after which the collection is loaded instead. */
const positionFailures = 2;
/** Milliseconds between two proofs that the resource is not served, after which it is gone. */
const absenceTime = 10_000;

export class Recovery {
  readonly #resource: Resource;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #backoff: Backoff;
  #loadedAt = Number.NEGATIVE_INFINITY;
  #positionFailures = 0;
  /** Ms that watches have lasted since something new came, or since that was counted as a failure. */
  #muteFor = 0;
  /** Monotonic ms of the first of the proofs in a row that the resource is not served. */
  #absentSince: number | undefined;
  #problem: ReflectorProblem | undefined;

  constructor(resource: Resource, clock: Clock, random: () => number, log: Logger) {
    this.#resource = resource;
    this.#clock = clock;
    this.#log = log;
    this.#backoff = new Backoff({ clock, random });
  }

  get problem(): ReflectorProblem | undefined {
    return this.#problem;
  }

  /** The collection has been loaded. */
  loaded(): void {
    this.#loadedAt = this.#clock.monotonic();
    this.progressed();
  }

  /** A watch was answered. That says nothing yet about one whose stream keeps failing. */
  opened(): void {
    this.#absentSince = undefined;
    if (this.#problem?.reason !== 'Failed') this.#over();
  }

  /** The watch has come further than it was. */
  progressed(): void {
    this.#positionFailures = 0;
    this.#muteFor = 0;
    this.#absentSince = undefined;
    this.#over();
  }

  /** A watch lasted for so many ms and brought nothing new, not even a bookmark. Returns whether to load again. */
  wasMute(age: number): boolean {
    this.#muteFor += age;
    if (this.#muteFor <= muteTime) return false;
    this.#muteFor = 0;
    return this.#failedAtPosition();
  }

  failed({ error, step, presence }: Failure): Retry {
    const again: Retry = { delay: 0, reload: false, avoidInitialEvents: false, gone: false };
    if (presence !== 'absent') this.#absentSince = undefined;
    if (step === 'initial-events' && isWatchListRefused(error)) {
      this.#log.info(
        { err: error },
        'the server does not send initial events, so this load is done by lists',
      );
      return { ...again, reload: true, avoidInitialEvents: true };
    }
    if (mustReload(error)) {
      this.#log.info({ err: error }, 'the resource version has expired, listing again');
      const inVain = step !== 'watch' || this.#clock.monotonic() - this.#loadedAt < youngLoad;
      return { ...again, delay: inVain ? this.#backoff.next() : 0, reload: true };
    }
    this.#report(error, presence);
    const delay = Math.max(this.#backoff.next(), askedDelay(error) ?? 0);
    const stuck = step === 'watch' && blamesPosition(error) && this.#failedAtPosition();
    return { ...again, delay, ...this.#absence(presence, stuck) };
  }

  /** @returns true when it has failed often enough to be given up. */
  #failedAtPosition(): boolean {
    this.#positionFailures++;
    return this.#positionFailures >= positionFailures;
  }

  #report(error: unknown, presence: Presence): void {
    const problem = problemOf(this.#resource, error, presence);
    const isNew = problem.reason !== this.#problem?.reason;
    this.#problem = problem;
    if (isNew)
      this.#log.warn({ err: error, reason: problem.reason }, 'cannot follow the resource, trying again');
    else this.#log.debug({ err: error, reason: problem.reason }, 'still cannot follow the resource');
  }

  /**
   * One proof may come from an API server that does not know the CRD yet. The deletion of a CRD deletes its objects
   * first, so when it stays like that, they are gone: keeping them would let controllers act for objects that
   * cannot be seen or deleted any more. Kubernetes' own groups do not go away.
   */
  #absence(presence: Presence, stuck: boolean): Pick<Retry, 'reload' | 'gone'> {
    if (presence !== 'absent' || isBuiltIn(this.#resource)) return { reload: stuck, gone: false };
    const now = this.#clock.monotonic();
    this.#absentSince ??= now;
    return { reload: true, gone: now - this.#absentSince >= absenceTime };
  }

  #over(): void {
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    this.#log.info('following the resource again');
  }
}
