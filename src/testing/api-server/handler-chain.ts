/**
 * Handler chain of one API server: the way of a request from its arrival to its answer. It takes a seat, meets the fault
 * that is scripted for it, is worked on, waits for what it needs and is tried again.
 */
import type { Answers } from './answers.ts';
import { type ApiAnswer, type ApiRequest, isWatch, type ServerTime } from './api-message.ts';
import type { Arrival } from './arrival.ts';
import { Failure, versionTooLarge } from './failure.ts';
import type { Fault } from './faults.ts';
import type { Handlers } from './handlers.ts';
import type { Target } from './route.ts';
import { timedOut, timeLimitOf } from './time-limit.ts';
import { AwaitsRevision, AwaitsTime, freshnessLimit } from './wait.ts';
import type { WatchCache } from './watch-cache.ts';
import type { Watches } from './watches.ts';

/** How many writes are worked on at the same time, and for how long on each. */
export interface Seats {
  readonly count: number;
  /** Milliseconds. */
  readonly duration: number;
  /** Seconds after which those that are turned away may come back. */
  readonly retryAfter: number;
}

/** What a test may change while the server runs. */
export interface Conditions {
  /** Beyond them writes are turned away, as priority and fairness does. Undefined: any number. */
  readonly seats: Seats | undefined;
  /** Says what goes wrong with a request. */
  readonly intercept: ((request: ApiRequest, target: Target | undefined) => Fault | undefined) | undefined;
}

export interface HandlerChainOptions {
  readonly time: ServerTime;
  readonly cache: WatchCache;
  readonly handlers: Handlers;
  readonly watches: Watches;
  readonly answers: Answers;
  readonly conditions: Conditions;
}

export class HandlerChain {
  readonly #time: ServerTime;
  readonly #cache: WatchCache;
  readonly #handlers: Handlers;
  readonly #watches: Watches;
  readonly #answers: Answers;
  readonly #conditions: Conditions;
  readonly #listeners: ((request: ApiRequest, answer: ApiAnswer) => void)[] = [];
  #writesUnderWay = 0;

  constructor({ time, cache, handlers, watches, answers, conditions }: HandlerChainOptions) {
    this.#time = time;
    this.#cache = cache;
    this.#handlers = handlers;
    this.#watches = watches;
    this.#answers = answers;
    this.#conditions = conditions;
  }

  /** Called with every request and its answer; of a watch with the headers of its stream. */
  onRequest(listener: (request: ApiRequest, answer: ApiAnswer) => void): void {
    this.#listeners.push(listener);
  }

  /** The answer comes through the responder of the arrival, in this turn unless something makes it wait. */
  receive(arrival: Arrival): void {
    if (arrival.request.method === 'GET') this.#meetFaults(arrival);
    else this.#seat(arrival);
  }

  /** The answer at once, without seats and faults. What would wait has timed out. */
  answerNow(request: ApiRequest, target: Target | undefined): ApiAnswer {
    let answer: ApiAnswer;
    try {
      answer = this.#answers.ofResult(this.#handlers.perform(request, target));
    } catch (error) {
      answer = this.#answers.ofError(this.#outOfTime(error));
    }
    this.#tell(request, answer);
    return answer;
  }

  #seat(arrival: Arrival): void {
    const { count = Number.POSITIVE_INFINITY, duration = 0, retryAfter = 1 } = this.#conditions.seats ?? {};
    if (this.#writesUnderWay >= count) {
      const text = 'Too many requests, please try again later.';
      this.#answer(arrival, this.#answers.ofFault({ kind: 'status', code: 429, retryAfter, text }));
      return;
    }
    this.#writesUnderWay++;
    const serve = () => {
      this.#writesUnderWay--;
      this.#meetFaults(arrival);
    };
    if (duration > 0) this.#time.schedule(duration, serve);
    else serve();
  }

  #meetFaults(arrival: Arrival): void {
    const fault = this.#conditions.intercept?.(arrival.request, arrival.target);
    switch (fault?.kind) {
      case 'status':
        this.#answer(arrival, this.#answers.ofFault(fault));
        break;
      case 'hang':
        if (fault.commit) this.#performSilently(arrival);
        break;
      case 'cut':
        if (fault.when === 'after') this.#performSilently(arrival);
        arrival.responder.cut();
        break;
      case 'timeout':
        if (fault.commit) this.#performSilently(arrival);
        this.#time.schedule(timeLimitOf(arrival.request.query), () => this.#fail(arrival, timedOut()));
        break;
      case 'delay':
        this.#time.schedule(fault.ms, () => this.#serve(arrival, undefined));
        break;
      case 'mute':
      case 'text':
      case 'drip':
      case undefined:
        this.#serve(arrival, fault);
        break;
    }
  }

  #serve(arrival: Arrival, fault: Fault | undefined): void {
    if (arrival.isOver || (arrival.isClosed && arrival.request.method === 'GET')) return;
    const { request, target } = arrival;
    try {
      if (target !== undefined && isWatch(request)) {
        this.#watch(arrival, target, fault);
        return;
      }
      const result = this.#handlers.perform(request, target, arrival.waited);
      this.#answer(arrival, this.#answers.ofResult(result));
    } catch (error) {
      if (error instanceof AwaitsRevision) this.#serveWhenAt(arrival, error);
      else if (error instanceof AwaitsTime) this.#serveAfter(arrival, error);
      else this.#fail(arrival, error);
    }
  }

  #serveWhenAt(arrival: Arrival, awaits: AwaitsRevision): void {
    const cancel = this.#cache.whenAt(awaits.revision, () => {
      timer.cancel();
      this.#serve(arrival, undefined);
    });
    const limit = Math.min(freshnessLimit, timeLimitOf(arrival.request.query));
    const timer = this.#time.schedule(limit, () => {
      cancel();
      this.#fail(arrival, this.#outOfTime(awaits));
    });
    arrival.onClose(() => {
      cancel();
      timer.cancel();
    });
  }

  /** A webhook takes its time; the request gives up at its own limit. */
  #serveAfter(arrival: Arrival, { ms, whom }: AwaitsTime): void {
    const limit = timeLimitOf(arrival.request.query);
    if (arrival.waitedInAll + ms > limit) {
      this.#time.schedule(limit - arrival.waitedInAll, () => this.#fail(arrival, timedOut()));
      return;
    }
    this.#time.schedule(ms, () => {
      arrival.wait(whom, ms);
      this.#serve(arrival, undefined);
    });
  }

  /** What a request that cannot wait is answered. */
  #outOfTime(error: unknown): unknown {
    if (error instanceof AwaitsTime) return timedOut();
    return error instanceof AwaitsRevision
      ? versionTooLarge(String(error.revision), this.#cache.revision)
      : error;
  }

  #watch(arrival: Arrival, target: Target, fault: Fault | undefined): void {
    const { request, responder } = arrival;
    this.#handlers.assertMay(request);
    const headers = this.#answers.streamHeaders();
    const close = this.#watches.start(request, target, responder, {
      fault,
      begin: () => {
        this.#tell(request, { code: 200, headers, body: '' });
        responder.begin(headers);
      },
    });
    arrival.onClose(close);
  }

  #performSilently({ request, target }: Arrival): void {
    try {
      this.#handlers.perform(request, target);
    } catch (error) {
      if (!(error instanceof Failure || error instanceof AwaitsRevision || error instanceof AwaitsTime))
        throw error;
    }
  }

  #fail(arrival: Arrival, error: unknown): void {
    this.#answer(arrival, this.#answers.ofError(error));
  }

  #answer(arrival: Arrival, answer: ApiAnswer): void {
    arrival.isOver = true;
    this.#tell(arrival.request, answer);
    arrival.responder.answer(answer);
  }

  #tell(request: ApiRequest, answer: ApiAnswer): void {
    for (const listener of this.#listeners) listener(request, answer);
  }
}
