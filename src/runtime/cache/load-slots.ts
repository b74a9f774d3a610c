/**
 * Load slots: how many collections a process loads at the same time. Each load holds pages and objects that are not
 * in use yet, so as many at once as there are kinds would multiply the memory that a start takes.
 *
 * A load that brings nothing must not keep other collections from being loaded. So after a silence its slot passes on
 * to the next in line; when something arrives after all, the load waits for a slot before it reads on.
 */
import type { Clock, Timer } from '../clock.ts';

const defaultCount = 4;
/** Silence, ms, after which a load that others wait for counts as hanging. */
const maxSilence = 5000;

/** The right to load one collection. */
export interface LoadSlot {
  /** A part of the collection has arrived. Unless undefined it may be read when the promise resolves, no sooner. */
  advance(): Promise<void> | undefined;
  /** Idempotent. */
  release(): void;
}

/** One that has a slot, or waits for one. */
interface Load {
  /** Monotonic ms of the last sign of life. */
  heardAt: number;
  readonly signal: AbortSignal;
}

export class LoadSlots {
  readonly #clock: Clock;
  readonly #count: number;
  readonly #active = new Set<Load>();
  /** In the order in which they get a slot, with what tells them. */
  readonly #waiting = new Map<Load, () => void>();
  #timer: Timer | undefined;

  constructor(clock: Clock, count = defaultCount) {
    this.#clock = clock;
    this.#count = count;
  }

  /** Waits in line for a slot. Rejects with the signal's reason when that comes first. */
  async take(signal: AbortSignal): Promise<LoadSlot> {
    signal.throwIfAborted();
    const load: Load = { heardAt: this.#clock.monotonic(), signal };
    await this.#activate(load);
    return {
      advance: () => {
        load.heardAt = this.#clock.monotonic();
        return this.#active.has(load) ? undefined : this.#activate(load, { goesOn: true });
      },
      release: () => {
        this.#active.delete(load);
        this.#waiting.delete(load);
        this.#assign();
      },
    };
  }

  /** @param goesOn it holds memory already, so it comes before those that have not begun. */
  #activate(load: Load, { goesOn = false } = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      const { signal } = load;
      const onAbort = () => {
        this.#waiting.delete(load);
        this.#assign();
        reject(signal.reason);
      };
      const onTurn = () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      if (signal.aborted) return onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      const others = goesOn ? [...this.#waiting] : [];
      if (goesOn) this.#waiting.clear();
      this.#waiting.set(load, onTurn);
      for (const [other, tell] of others) this.#waiting.set(other, tell);
      this.#assign();
    });
  }

  /** Gives free slots, and those of silent loads, to those that wait. */
  #assign(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    for (const [load, tell] of this.#waiting) {
      if (this.#active.size >= this.#count && !this.#dropSilent(now)) break;
      this.#waiting.delete(load);
      this.#active.add(load);
      load.heardAt = now;
      tell();
    }
    if (this.#waiting.size === 0) return;
    const heardAt = Math.min(...[...this.#active].map((load) => load.heardAt));
    // A timer may fire up to 1 ms early.
    const delay = Math.max(1, heardAt + maxSilence - now);
    this.#timer = this.#clock.setTimer(delay, () => this.#assign());
  }

  /** Takes the slot of one load that is silent; false when there is none. */
  #dropSilent(now: number): boolean {
    for (const load of this.#active) {
      if (now - load.heardAt < maxSilence) continue;
      this.#active.delete(load);
      return true;
    }
    return false;
  }
}
