/**
 * FakeClock: time that moves only when a test says so. Wall and monotonic time move together in
 * `advance`; `stepWall` and `suspend` part them, as an administrator and a sleeping machine do.
 */
import { assertTimerDelay, type Clock, type Timer } from '../../src/runtime/clock.ts';

export interface FakeClockOptions {
  /** Wall clock at the start, epoch milliseconds. Default 2024-01-01T00:00:00Z. */
  readonly now?: number;
  /** Monotonic clock at the start, milliseconds. Default 1000: zero would hide "falsy" mistakes. */
  readonly monotonic?: number;
  /** Timers fire up to so many milliseconds before they are due (half their delay at most). Default 0. */
  readonly earlyBy?: number;
}

interface PendingTimer {
  readonly due: number;
  readonly sequence: number;
  readonly callback: () => void;
}

/** More timers than this in one `advance` are a loop that never lets time pass. */
const endlessTimers = 1_000_000;

/** Lets every promise callback that can run now run, and the callbacks those lead to. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export class FakeClock implements Clock {
  readonly #earlyBy: number;
  readonly #timers = new Set<PendingTimer>();
  #wall: number;
  #monotonic: number;
  #sequence = 0;

  constructor(options: FakeClockOptions = {}) {
    this.#wall = options.now ?? Date.UTC(2024, 0, 1);
    this.#monotonic = options.monotonic ?? 1000;
    this.#earlyBy = options.earlyBy ?? 0;
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  setTimer(delay: number, callback: () => void): Timer {
    assertTimerDelay(delay);
    const early = Math.min(this.#earlyBy, delay / 2);
    const timer = { due: this.#monotonic + delay - early, sequence: this.#sequence++, callback };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }

  turn(): Promise<void> {
    return settle();
  }

  /** How many timers are set and have not fired. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Milliseconds until the next timer fires (0 when overdue), or undefined without any. */
  get nextTimerIn(): number | undefined {
    const next = this.#next();
    return next && Math.max(0, next.due - this.#monotonic);
  }

  /**
   * Moves both clocks and fires, in order of their due times, every timer that becomes due, also those
   * set meanwhile. Promise callbacks do not run in between: use {@link advanceAsync} for those.
   */
  advance(ms: number): void {
    const end = this.#endOfAdvance(ms);
    for (let fired = 0; this.#fireNext(end); fired++) this.#assertNotEndless(fired);
    this.#moveTo(end);
  }

  /** {@link advance}, with all promise callbacks run before, between and after the timers. */
  async advanceAsync(ms: number): Promise<void> {
    const end = this.#endOfAdvance(ms);
    await settle();
    for (let fired = 0; this.#fireNext(end); fired++) {
      this.#assertNotEndless(fired);
      await settle();
    }
    this.#moveTo(end);
  }

  /** The wall clock is set (NTP, an administrator); timers and the monotonic clock do not notice. */
  stepWall(ms: number): void {
    this.#wall += ms;
  }

  /**
   * The machine sleeps: the wall clock goes on, no timer fires. The monotonic clock stands still (as on
   * Linux) unless told to go on (as for a process that was stopped); overdue timers then fire at the
   * next `advance`, even of 0.
   */
  suspend(ms: number, { monotonic = 'stands' }: { readonly monotonic?: 'stands' | 'moves' } = {}): void {
    this.#wall += ms;
    if (monotonic === 'moves') this.#monotonic += ms;
  }

  #endOfAdvance(ms: number): number {
    if (!(ms >= 0 && Number.isFinite(ms))) throw new RangeError(`cannot advance by ${ms} ms`);
    return this.#monotonic + ms;
  }

  #assertNotEndless(fired: number): void {
    if (fired >= endlessTimers) throw new Error(`${fired} timers fired in one advance`);
  }

  #next(): PendingTimer | undefined {
    let next: PendingTimer | undefined;
    for (const timer of this.#timers) {
      if (!next || timer.due < next.due) next = timer;
    }
    return next;
  }

  #fireNext(end: number): boolean {
    const next = this.#next();
    if (!next || next.due > end) return false;
    this.#timers.delete(next);
    this.#moveTo(next.due);
    next.callback();
    return true;
  }

  #moveTo(monotonic: number): void {
    const passed = monotonic - this.#monotonic;
    if (passed <= 0) return;
    this.#monotonic = monotonic;
    this.#wall += passed;
  }
}
