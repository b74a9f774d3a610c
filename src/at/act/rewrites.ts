/**
 * Rewrites: how often a status is written again that another client has replaced. Two active replicas of which one has
 * an older view, or a user with a script, would otherwise write against this one as fast as the watch tells of it.
 */
import type { AtStatus } from '../../api/at.generated.ts';

/** Before the second rewrite in a row, in milliseconds; doubled for each that follows. The first one waits for nothing. */
const firstWaitMs = 1000;
const maxWaitMs = 10_000;
/** A write is forgotten after this time, in milliseconds. */
const forgetMs = 60_000;

interface Write {
  readonly statement: string;
  /** How often in a row it was written again. */
  readonly rewrites: number;
  /** Monotonic milliseconds. */
  readonly at: number;
}

export class Rewrites {
  /** By key of an At, the oldest first. */
  readonly #writes = new Map<string, Write>();

  /**
   * Milliseconds until this status may be written; 0: now.
   *
   * @param key of the At.
   * @param stored what the At has.
   * @param now monotonic milliseconds.
   */
  wait(key: string, stored: AtStatus | undefined, wanted: AtStatus, now: number): number {
    const rewrites = this.#rewritesOf(key, stored, wanted, now);
    const { at = now } = this.#writes.get(key) ?? {};
    return rewrites < 2 ? 0 : Math.max(0, at + Math.min(maxWaitMs, firstWaitMs * 2 ** (rewrites - 2)) - now);
  }

  /** The status was written in place of what was stored. */
  written(key: string, stored: AtStatus | undefined, status: AtStatus, now: number): void {
    const rewrites = this.#rewritesOf(key, stored, status, now);
    this.#writes.delete(key);
    this.#writes.set(key, { statement: statementOf(status), rewrites, at: now });
    for (const [oldest, { at }] of this.#writes) {
      if (now - at <= forgetMs) break;
      this.#writes.delete(oldest);
    }
  }

  /** How often in a row this status was written again, with the write that is to come. */
  #rewritesOf(key: string, stored: AtStatus | undefined, wanted: AtStatus, now: number): number {
    const last = this.#writes.get(key);
    const statement = statementOf(wanted);
    const isRewrite =
      last !== undefined &&
      now - last.at <= forgetMs &&
      last.statement === statement &&
      statementOf(stored) !== statement;
    return isRewrite ? last.rewrites + 1 : 0;
  }
}

/** What a status says, without what differs each time that it is said. */
function statementOf({ phase, reason, outcome, attempts, podUID, conditions = [] }: AtStatus = {}): string {
  const states = conditions.map((condition) => `${condition.type}=${condition.status}`);
  return [phase, reason, outcome, attempts, podUID, ...states].join(' ');
}
