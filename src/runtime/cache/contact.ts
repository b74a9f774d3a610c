/** Contact: when a reflector last heard from the API server, and when that showed what there is. Monotonic ms. */
import type { Clock } from '../clock.ts';
import { stalenessLimit } from '../limits.ts';

export class Contact {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #lastAt = Number.NEGATIVE_INFINITY;
  #shownAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** The API server has answered, whatever it said. */
  made(): void {
    this.#lastAt = this.#clock.monotonic();
  }

  /** It has shown what there is: by a load, or by a bookmark, which comes after all changes. */
  shown(): void {
    this.made();
    this.#shownAt = this.#lastAt;
  }

  /** It has shown a change. After a long silence that may be an old one, and more are still to come. */
  changed(): void {
    if (this.staleness > stalenessLimit) this.made();
    else this.shown();
  }

  /** Milliseconds; `Infinity` before the first one. */
  get age(): number {
    return this.#clock.monotonic() - this.#lastAt;
  }

  /** The same, where only counts what has shown what there is. */
  get staleness(): number {
    return this.#clock.monotonic() - this.#shownAt;
  }
}
