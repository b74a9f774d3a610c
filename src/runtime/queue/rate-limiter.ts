/**
 * How long a key that failed has to wait, by how often it has failed in a row. Each key counts for itself, so
 * one that always fails delays no other.
 */
export interface RateLimiter {
  /** Counts one more failure of the key and returns the wait it earns, in ms. */
  when(key: string): number;
  /** The key succeeded, or is gone: its next failure is a first one. */
  forget(key: string): void;
  /** Failures since the last {@link forget}. */
  retries(key: string): number;
}

/** Options of an {@link ExponentialBackoff}. */
export interface ExponentialBackoffOptions {
  /** Wait after the first failure, ms; each further one doubles it. Default 5. */
  readonly base?: number;
  /** Longest wait, ms. Default 1 000 000 (1000 s). */
  readonly cap?: number;
}

/** The per-key backoff of Go's client-go (`ItemExponentialFailureRateLimiter`), with its defaults. */
export class ExponentialBackoff implements RateLimiter {
  readonly #base: number;
  readonly #cap: number;
  readonly #failures = new Map<string, number>();

  /** @throws {RangeError} unless 0 < base ≤ cap, both finite. */
  constructor({ base = 5, cap = 1_000_000 }: ExponentialBackoffOptions = {}) {
    if (!(base > 0 && base <= cap && Number.isFinite(cap))) {
      throw new RangeError(`backoff needs 0 < base ≤ cap, both finite; got base ${base}, cap ${cap}`);
    }
    this.#base = base;
    this.#cap = cap;
  }

  when(key: string): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    return Math.min(this.#cap, this.#base * 2 ** failures);
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }

  retries(key: string): number {
    return this.#failures.get(key) ?? 0;
  }
}
