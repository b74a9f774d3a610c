/**
 * Time travel: the time of an operator under test, and of the API server as the operator sees it, which a test sets
 * forward, so that nothing waits for periods of minutes or hours. Times that the API server itself writes stay as they are.
 */
import type { TestContext } from 'node:test';
import { type Clock, systemClock, type Timer } from '../../src/runtime/clock.ts';
import type { OperatorOptions } from './at-rig.ts';
import { HostileProxy } from './hostile-proxy.ts';

/** The system's clock, ahead by as much as a test says. Its timers go along. */
class TravelingClock implements Clock {
  readonly turn = systemClock.turn;
  #aheadMs = 0;
  readonly #timers = new Set<TravelingTimer>();

  now(): number {
    return systemClock.now() + this.#aheadMs;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#aheadMs;
  }

  setTimer(delay: number, callback: () => void): Timer {
    const timer = new TravelingTimer(this.monotonic() + delay, callback, () => this.#timers.delete(timer));
    this.#timers.add(timer);
    timer.set(delay);
    return timer;
  }

  /** Resolves when all timers have fired that are due by then. */
  async advance(ms: number): Promise<void> {
    this.#aheadMs += ms;
    const now = this.monotonic();
    const all = [...this.#timers];
    for (const timer of all) timer.set(Math.max(0, timer.due - now));
    await Promise.all(all.filter(({ due }) => due <= now).map(({ over }) => over));
  }
}

class TravelingTimer implements Timer {
  /** Monotonic ms. */
  readonly due: number;
  /** Resolves when it has fired, or is canceled. */
  readonly over: Promise<void>;
  readonly #fire: () => void;
  readonly #end: () => void;
  #timer: Timer | undefined;

  constructor(due: number, callback: () => void, onEnd: () => void) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.due = due;
    this.over = promise;
    this.#end = () => {
      onEnd();
      resolve();
    };
    this.#fire = () => {
      this.#end();
      callback();
    };
  }

  set(delay: number): void {
    this.#timer?.cancel();
    this.#timer = systemClock.setTimer(delay, this.#fire);
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#end();
  }
}

export interface TimeTravel {
  /** Of operators that go along. */
  readonly options: Pick<OperatorOptions, 'clock' | 'kubeConfig'>;
  /** All their requests. */
  readonly proxy: HostileProxy;
  /** Sets their time forward. Resolves when what they had to do by then has begun. */
  advance(ms: number): Promise<void>;
}

export async function timeTravel(t: Pick<TestContext, 'after'>): Promise<TimeTravel> {
  const proxy = await HostileProxy.start(t);
  const clock = new TravelingClock();
  return {
    options: { clock, kubeConfig: proxy.kubeConfig },
    proxy,
    advance(ms) {
      proxy.aheadMs += ms;
      return clock.advance(ms);
    },
  };
}
