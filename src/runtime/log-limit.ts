/**
 * LogLimit: keeps what repeats out of the log. Of each subject the first line is written, and while they go on one a
 * minute, with the number of those that were not.
 */
import type { Clock } from './clock.ts';

/** Milliseconds between two lines about the same subject. */
const period = 60_000;

export class LogLimit {
  readonly #clock: Clock;
  readonly #subjects = new Map<string, { loggedAt: number; suppressed: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param write called unless there was a line about the subject lately, with the number of lines left out since. */
  log(subject: string, write: (suppressed: number) => void): void {
    const now = this.#clock.monotonic();
    const seen = this.#subjects.get(subject);
    if (seen !== undefined && now - seen.loggedAt < period) {
      seen.suppressed++;
      return;
    }
    this.#subjects.set(subject, { loggedAt: now, suppressed: 0 });
    write(seen?.suppressed ?? 0);
  }
}
