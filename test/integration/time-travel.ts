/**
 * Time travel: the time of an operator under test, and of the API server as the operator sees it, which a test sets
 * forward, so that nothing waits for periods of minutes or hours. Times that the API server itself writes stay as they are.
 */
import type { TestContext } from 'node:test';
import type { KubeConfig } from '@kubernetes/client-node';
import { type Clock, systemClock, type Timer } from '../../src/runtime/clock.ts';
import type { OperatorOptions } from './at-rig.ts';
import { HostileProxy } from './hostile-proxy.ts';
import { eventually } from './support.ts';

/** The system's clock, ahead by as much as a test says. Its timers go along. */
class TravelingClock implements Clock {
  readonly turn = systemClock.turn;
  #aheadMs = 0;
  readonly #timers = new Set<TravelingTimer>();
  /** When it was stopped, both of the system's. */
  #stoppedAt: { readonly now: number; readonly monotonic: number } | undefined;

  now(): number {
    return (this.#stoppedAt?.now ?? systemClock.now()) + this.#aheadMs;
  }

  monotonic(): number {
    return (this.#stoppedAt?.monotonic ?? systemClock.monotonic()) + this.#aheadMs;
  }

  stop(): void {
    this.#stoppedAt = { now: systemClock.now(), monotonic: systemClock.monotonic() };
    for (const timer of this.#timers) timer.halt();
  }

  /** From where it stands. */
  start(): void {
    if (this.#stoppedAt === undefined) return;
    this.#aheadMs -= systemClock.monotonic() - this.#stoppedAt.monotonic;
    this.#stoppedAt = undefined;
    for (const timer of this.#timers) this.#set(timer);
  }

  setTimer(delay: number, callback: () => void): Timer {
    const timer = new TravelingTimer(this.monotonic() + delay, callback, () => this.#timers.delete(timer));
    this.#timers.add(timer);
    this.#set(timer);
    return timer;
  }

  /** Resolves when all timers have fired that are due by then. */
  async advance(ms: number): Promise<void> {
    this.#aheadMs += ms;
    const now = this.monotonic();
    const all = [...this.#timers];
    for (const timer of all) this.#set(timer);
    await Promise.all(all.filter(({ due }) => due <= now).map(({ over }) => over));
  }

  #set(timer: TravelingTimer): void {
    const delay = Math.max(0, timer.due - this.monotonic());
    if (delay === 0 || this.#stoppedAt === undefined) timer.set(delay);
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

  /** It does not fire before it is set again. */
  halt(): void {
    this.#timer?.cancel();
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#end();
  }
}

export interface TimeTravel {
  /** Of operators that go along. */
  readonly options: Required<Pick<OperatorOptions, 'clock' | 'kubeConfig'>>;
  /** All their requests. */
  readonly proxy: HostileProxy;
  /** Sets their time forward. Resolves when what they had to do by then has begun. */
  advance(ms: number): Promise<void>;
  /** The same when no request is under way, which would time out. */
  advanceAtRest(ms: number): Promise<void>;
  /**
   * Sets their time forward until it is so, by the limit at most, and gives requests a moment after each step, or, with
   * `atRest`, all the time that they take before it.
   */
  advanceUntil(
    isSo: () => boolean | Promise<boolean>,
    options: {
      readonly limitMs: number;
      readonly stepMs?: number;
      readonly message?: string;
      readonly atRest?: boolean;
    },
  ): Promise<void>;
  /** From now on their time goes on only as it is set forward, however long anything takes. */
  stopClock(): void;
  /** It goes on by itself again: what ends an operator may have to wait. */
  startClock(): void;
}

/** From now on time goes on as it is set forward only, for the operators and for the API server as they see it. */
export function stopTime({ proxy, stopClock }: TimeTravel): void {
  const stoppedAt = Date.now();
  proxy.aheadFor = () => stoppedAt - Date.now();
  stopClock();
}

/** What takes an operator to its end may have to wait. */
export function startTime({ proxy, startClock }: TimeTravel): void {
  proxy.aheadFor = () => 0;
  startClock();
}

/** @param kubeConfig of which API server, and as whom. Default: that of the tests. */
export async function timeTravel(
  t: Pick<TestContext, 'after'>,
  kubeConfig?: KubeConfig,
): Promise<TimeTravel> {
  const proxy = await HostileProxy.start(t, kubeConfig);
  const clock = new TravelingClock();
  const advance = (ms: number) => {
    proxy.aheadMs += ms;
    return clock.advance(ms);
  };
  const advanceAtRest = async (ms: number) => {
    let looks = 0;
    const isAtRest = () => {
      // One that was sent a moment ago is not there yet.
      looks = proxy.open === 0 ? looks + 1 : 0;
      return looks === 3;
    };
    await eventually(isAtRest, { interval: 10, message: 'no request is under way' });
    await advance(ms);
  };
  return {
    options: { clock, kubeConfig: proxy.kubeConfig },
    proxy,
    advance,
    advanceAtRest,
    async advanceUntil(isSo, { limitMs, stepMs = 100, message = 'it is so by then', atRest = false }) {
      for (let waitedMs = 0; waitedMs < limitMs && !(await isSo()); waitedMs += stepMs) {
        await (atRest ? advanceAtRest : advance)(stepMs);
        await eventually(isSo, { timeout: 100, interval: 20 }).catch(() => {});
      }
      await eventually(isSo, { message });
    },
    stopClock: () => clock.stop(),
    startClock: () => clock.start(),
  };
}
