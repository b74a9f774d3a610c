/**
 * WakeLimit: slows down reconciles that wake themselves. A key whose runs follow from nothing but its own runs may have
 * twenty of them a second (a token bucket); beyond that each waits, first 50 ms, then longer, up to 1 s.
 *
 * Progress gives a key all its tokens back: a deleted object, an object that was not written before, or one whose
 * spec was changed (its generation moved). It counts a limited number of times, because a loop may create and delete,
 * or change a spec, by turns. A run that a source has asked for takes no token.
 */
import type { Written } from '../client/written.ts';
import type { Clock } from '../clock.ts';

/** Why a key is looked at again although nothing but its own reconcile happened. */
export const selfWakeCauses = ['requeue', 'retry', 'own_write'] as const;
export type SelfWakeCause = (typeof selfWakeCauses)[number];

/** Runs a second that a key may cause by itself, and as many at once. */
const burst = 20;
/** Ms in which one token comes back. */
const refill = 1000 / burst;
/** A wake that is later than this anyway is none of a loop. */
const maxSpacingMs = 1000;
/** Slowed runs after which the spacing doubles. */
const runsPerStep = 20;
/** Ms in which the slowing down of one key is reported once. */
const reportPeriod = 10 * 60_000;
/** Writes and deletions per key that count as progress, until the key has been quiet for a second. */
const maxSteps = 1000;
/** Ms between two looks for buckets that are full and not needed any more. */
const sweepPeriod = 1000;

/** Of one key that has woken itself. */
interface Bucket {
  tokens: number;
  /** Monotonic; up to when `tokens` is right. Waits that were imposed bring no tokens. */
  at: number;
  /** Monotonic; the end of the wait that was imposed last. */
  until: number;
  /** Runs in a row that were slowed down. */
  slowed: number;
  reportedAt: number;
  /** Writes and deletions that counted as progress. */
  steps: number;
  /** The generation of each object that was written, and undefined for each deletion, by what names it. */
  readonly generations: Map<string, number | undefined>;
}

export interface WakeLimitOptions {
  readonly clock: Clock;
  /** A run is slowed down; `first` when that was not reported lately. */
  readonly onSlowed: (key: string, cause: SelfWakeCause, first: boolean) => void;
}

/** Whether a wake after `delay` ms can be part of a loop. */
export function isTight(delay: number): boolean {
  return delay < maxSpacingMs;
}

export class WakeLimit {
  readonly #options: WakeLimitOptions;
  readonly #buckets = new Map<string, Bucket>();
  #sweptAt = -Infinity;

  constructor(options: WakeLimitOptions) {
    this.#options = options;
  }

  /** A run of the key begins that only itself has asked for. */
  begin(key: string): void {
    const bucket = this.#buckets.get(key) ?? this.#newBucket(key);
    this.#refill(bucket);
    bucket.tokens = Math.max(0, bucket.tokens - 1);
  }

  /** A run of the key wrote this. */
  wrote(key: string, written: Written): void {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined || bucket.steps >= maxSteps || !isProgress(bucket, written)) return;
    bucket.steps++;
    bucket.tokens = burst;
    bucket.slowed = 0;
  }

  /** How long a run has to wait, ms, that the key asks for in `asked` ms by itself. */
  delay(key: string, cause: SelfWakeCause, asked: number): number {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined || !isTight(asked)) return asked;
    const now = this.#refill(bucket);
    if (bucket.tokens >= 1) return asked;
    if (bucket.until > now) return Math.max(asked, bucket.until - now);
    const spacing = Math.min(maxSpacingMs, refill * 2 ** Math.floor(bucket.slowed / runsPerStep));
    if (asked >= spacing) return asked;
    bucket.slowed++;
    bucket.until = now + spacing;
    bucket.at = now + spacing - asked;
    const first = now - bucket.reportedAt >= reportPeriod;
    if (first) bucket.reportedAt = now;
    this.#options.onSlowed(key, cause, first);
    return spacing;
  }

  /** @returns now, monotonic. */
  #refill(bucket: Bucket): number {
    const now = this.#options.clock.monotonic();
    if (now <= bucket.at) return now;
    const elapsed = now - bucket.at;
    bucket.tokens = Math.min(burst, bucket.tokens + elapsed / refill);
    bucket.at = now;
    if (bucket.tokens === burst) bucket.slowed = 0;
    // After a quiet second it starts again; while it goes on, the same object is no progress twice.
    if (elapsed >= burst * refill) {
      bucket.generations.clear();
      bucket.steps = 0;
    }
    return now;
  }

  #newBucket(key: string): Bucket {
    const at = this.#options.clock.monotonic();
    if (at - this.#sweptAt >= sweepPeriod) this.#sweep(at);
    const bucket: Bucket = {
      ...{ tokens: burst, at, until: at, slowed: 0, reportedAt: -Infinity },
      ...{ steps: 0, generations: new Map() },
    };
    this.#buckets.set(key, bucket);
    return bucket;
  }

  #sweep(now: number): void {
    this.#sweptAt = now;
    for (const [key, { tokens, at, reportedAt }] of this.#buckets) {
      const isFull = tokens + (now - at) / refill >= burst;
      if (isFull && now - reportedAt >= reportPeriod) this.#buckets.delete(key);
    }
  }
}

function isProgress({ generations }: Bucket, written: Written): boolean {
  const name = nameOf(written);
  const generation = 'deleted' in written ? undefined : written.metadata.generation;
  if (name === undefined) return false;
  if (generations.has(name) && generations.get(name) === generation) return false;
  generations.set(name, generation);
  return true;
}

/** Of a deletion another one than of a write of the same object. */
function nameOf(written: Written): string | undefined {
  if (!('deleted' in written)) return written.metadata.uid;
  const { uid, namespace, name } = written;
  return `deleted ${uid ?? `${namespace}/${name}`}`;
}
