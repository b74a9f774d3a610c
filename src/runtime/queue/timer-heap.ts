/**
 * TimerHeap: any number of due instants on one clock, with one timer of the platform behind them.
 *
 * That timer never waits longer than 30 s and every wake-up compares instants again. So a delay of years
 * does not overflow into "at once", a timer that fires early fires nothing early, and instants on the wall
 * clock follow it when it is set: backwards exactly, forwards within those 30 s.
 */
import type { Clock, Timer } from '../clock.ts';
import { Heap, type HeapItem } from './heap.ts';

/** Between two readings of the clock. */
export const maxWaitMs = 30_000;

/** A due instant in a {@link TimerHeap}. */
export interface Alarm<T> extends HeapItem {
  readonly value: T;
  /** The due instant: milliseconds on the heap's clock. */
  readonly rank: number;
}

export interface TimerHeapOptions<T> {
  readonly clock: Clock;
  /** Which time the instants are on: `monotonic` for delays, `wall` for instants people chose. */
  readonly time: 'monotonic' | 'wall';
  /** Called once per alarm, never before it is due, in order. Must not throw. */
  readonly onDue: (value: T) => void;
}

export class TimerHeap<T> {
  readonly #clock: Clock;
  readonly #now: () => number;
  readonly #onDue: (value: T) => void;
  readonly #alarms = new Heap<Alarm<T>>();
  #sequence = 0;
  #timer: Timer | undefined;
  /** Monotonic instant at which the timer fires. */
  #timerDue = 0;

  constructor({ clock, time, onDue }: TimerHeapOptions<T>) {
    this.#clock = clock;
    this.#now = time === 'wall' ? () => clock.now() : () => clock.monotonic();
    this.#onDue = onDue;
  }

  get size(): number {
    return this.#alarms.size;
  }

  /**
   * `onDue` will be called with the value once the clock shows `due` or more; for an instant in the past
   * that is soon, but never within this call.
   *
   * @throws {RangeError} unless `due` is a finite number.
   */
  schedule(value: T, due: number): Alarm<T> {
    if (!Number.isFinite(due)) throw new RangeError(`a due instant must be a finite number, got ${due}`);
    const alarm: Alarm<T> = { value, rank: due, sequence: this.#sequence++, heapIndex: -1 };
    this.#alarms.push(alarm);
    if (alarm.heapIndex === 0) this.#arm(alarm);
    return alarm;
  }

  /** Idempotent; harmless after the alarm was due. */
  cancel(alarm: Alarm<T>): void {
    this.#alarms.remove(alarm);
    // A timer that is now too early only costs one look at the clock; one for nothing at all is taken back.
    if (this.#alarms.size === 0) this.#disarm();
  }

  /** Cancels all alarms. */
  clear(): void {
    this.#alarms.clear();
    this.#disarm();
  }

  #arm(first: Alarm<T>): void {
    const wait = Math.min(maxWaitMs, Math.max(0, Math.ceil(first.rank - this.#now())));
    const timerDue = this.#clock.monotonic() + wait;
    if (this.#timer && this.#timerDue <= timerDue) return;
    this.#timer?.cancel();
    this.#timerDue = timerDue;
    this.#timer = this.#clock.setTimer(wait, () => this.#fire());
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #fire(): void {
    this.#timer = undefined;
    const now = this.#now();
    for (let first = this.#alarms.peek(); first && first.rank <= now; first = this.#alarms.peek()) {
      this.#alarms.pop();
      this.#onDue(first.value);
    }
    const next = this.#alarms.peek();
    if (next) this.#arm(next);
  }
}
