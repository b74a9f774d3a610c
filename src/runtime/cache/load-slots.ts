/**
 * Load slots: how many collections a process loads at the same time. Each load holds pages and objects that are not
 * in use yet, so as many at once as there are kinds would multiply the memory that a start takes.
 */
const defaultCount = 4;

export class LoadSlots {
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(count = defaultCount) {
    this.#free = count;
  }

  /**
   * Waits in line for a slot. Rejects with the signal's reason when that comes first.
   *
   * @returns gives the slot back; idempotent.
   */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#turn(signal);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      this.#release();
    };
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const next = () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = () => {
        this.#waiting.delete(next);
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(next);
    });
  }

  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free++;
    } else {
      this.#waiting.delete(next);
      next();
    }
  }
}
