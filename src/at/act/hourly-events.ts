/** Hourly Events: of each reason for which a due At has no Pod, one Event an hour, whatever its sentence. */
import type { At } from '../../api/at.generated.ts';
import { holdReasons } from '../../api/at-constants.ts';
import type { EventRecord } from '../../runtime/events/event-recorder.ts';
import { holdEventPeriodMs } from '../decide/launch.ts';

export class HourlyEvents {
  /** By uid of an At and reason: when it was recorded last, monotonic milliseconds. In that order. */
  readonly #recordedAt = new Map<string, number>();

  /** Whether to record the Event; if so it counts as recorded. @param now monotonic milliseconds. */
  take({ metadata }: At, { reason }: EventRecord, now: number): boolean {
    if (!holdReasons.has(reason)) {
      return true;
    }
    for (const [key, time] of this.#recordedAt) {
      if (now - time < holdEventPeriodMs) break;
      this.#recordedAt.delete(key);
    }
    const key = `${metadata.uid}/${reason}`;
    if (this.#recordedAt.has(key)) {
      return false;
    }
    this.#recordedAt.set(key, now);
    return true;
  }
}
