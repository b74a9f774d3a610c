/** Hourly Events: of each reason for which a due At has no Pod, one Event an hour, whatever its sentence. */
import type { At } from '../../api/at.generated.ts';
import { holdReasons } from '../../api/at-constants.ts';
import { type HoldEvent, holdEventPeriodMs } from '../decide/launch.ts';

export class HourlyEvents {
  /** By uid of an At and reason: when it was recorded last, monotonic milliseconds. */
  readonly #recordedAt = new Map<string, number>();

  /**
   * Whether to record the Event; if so it counts as recorded. Another process may have recorded one of the same hold: the
   * first that this one records comes with the next full hour of the hold.
   *
   * @param now monotonic milliseconds.
   * @param heldForMs milliseconds for which status has said that the Pod is held.
   */
  take({ metadata }: At, { reason, isRepeated = false }: HoldEvent, now: number, heldForMs = 0): boolean {
    if (!holdReasons.has(reason)) {
      return true;
    }
    for (const [key, time] of this.#recordedAt) {
      if (now - time < 2 * holdEventPeriodMs) break;
      this.#recordedAt.delete(key);
    }
    const key = `${metadata.uid}/${reason}`;
    const recordedAt = this.#recordedAt.get(key);
    if (recordedAt !== undefined && now - recordedAt < holdEventPeriodMs) {
      return false;
    }
    const isNews = recordedAt !== undefined || !isRepeated;
    this.#recordedAt.delete(key);
    this.#recordedAt.set(key, isNews ? now : now - (heldForMs % holdEventPeriodMs));
    return isNews;
  }
}
