/**
 * Recovery: decides what follows a reflector's failure: how long to wait, and whether to load the
 * collection anew. It says what is wrong once, when it begins, and once when it is over.
 */
import type { Resource } from '../../api/kubernetes.ts';
import { ApiError } from '../client/api-error.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { Backoff } from './backoff.ts';
import {
  askedDelay,
  isWatchListRefused,
  mustReload,
  problemOf,
  type ReflectorProblem,
} from './reflector-problem.ts';

/** What a reflector was doing: loading the collection in one way or the other, or following it. */
export type ReflectorStep = 'initial-events' | 'list' | 'watch';

export interface Retry {
  /** Milliseconds to wait first. */
  readonly delay: number;
  /** Go on with the whole collection instead of a watch. */
  readonly reload: boolean;
  /** Initial events do not work here: load by lists from now on. */
  readonly avoidInitialEvents: boolean;
  /** The resource is not served any more, so none of its objects exists. */
  readonly gone: boolean;
}

/** A list came back older than what the watch had shown. */
export class StaleListError extends Error {
  override readonly name = 'StaleListError';
}

/** A load this young (ms) that is expired again was in vain: wait before the next. */
const youngLoad = 1000;
/** Failing answers to a watch, in a row, after which a list takes the place of the watch. */
const watchFailuresAllowed = 2;
/** A resource is gone when it was not served for so many answers in a row and so many ms. */
const notServedAnswers = 3;
const notServedTime = 15_000;

export class Recovery {
  readonly #resource: Resource;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #backoff: Backoff;
  #loadedAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #notServed: { readonly since: number; answers: number } | undefined;
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
    this.#notServed = undefined;
    if (this.#problem?.reason !== 'Failed') this.#over();
  }

  /** Something new has come in. */
  progressed(): void {
    this.#failures = 0;
    this.#notServed = undefined;
    this.#over();
  }

  failed(error: unknown, step: ReflectorStep): Retry {
    const again: Retry = { delay: 0, reload: false, avoidInitialEvents: false, gone: false };
    if (step === 'initial-events' && isWatchListRefused(error)) {
      this.#log.info({ err: error }, 'the server does not send initial events, so lists are used');
      return { ...again, reload: true, avoidInitialEvents: true };
    }
    if (mustReload(error)) {
      this.#log.info({ err: error }, 'the resource version has expired, listing again');
      const inVain = step !== 'watch' || this.#clock.monotonic() - this.#loadedAt < youngLoad;
      return { ...again, delay: inVain ? this.#backoff.next() : 0, reload: true };
    }
    this.#report(error);
    if (error instanceof ApiError) this.#failures++;
    const gone = this.#isGone();
    const reload = gone || this.#notServed !== undefined || this.#failures > watchFailuresAllowed;
    return { ...again, delay: Math.max(this.#backoff.next(), askedDelay(error) ?? 0), reload, gone };
  }

  #report(error: unknown): void {
    const problem = problemOf(this.#resource, error);
    if (problem.reason !== 'NotServed') this.#notServed = undefined;
    else if (this.#notServed === undefined) this.#notServed = { since: this.#clock.monotonic(), answers: 1 };
    else this.#notServed.answers++;

    const isNew = problem.reason !== this.#problem?.reason;
    this.#problem = problem;
    if (isNew)
      this.#log.warn({ err: error, reason: problem.reason }, 'cannot follow the resource, trying again');
    else this.#log.debug({ err: error, reason: problem.reason }, 'still cannot follow the resource');
  }

  /**
   * A single 404 may come from an API server that has not learned of the CRD yet, or from something in
   * between. The deletion of a CRD deletes its objects first, so when it stays like that, they are gone:
   * keeping them would let controllers act for objects that nobody can see or delete any more.
   */
  #isGone(): boolean {
    if (this.#notServed === undefined) return false;
    const { since, answers } = this.#notServed;
    return answers >= notServedAnswers && this.#clock.monotonic() - since >= notServedTime;
  }

  #over(): void {
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    this.#log.info('following the resource again');
  }
}
