/**
 * DueSoon: whether an At falls due within the next minute or two, so that the API server's time has to be known well.
 */
import type { At } from '../../api/at.generated.ts';
import type { Informer } from '../../runtime/cache/informer.ts';
import type { Clock } from '../../runtime/clock.ts';
import { Pace } from '../../runtime/pace.ts';
import { dueTime } from '../plan/due.ts';
import { isEdited } from '../plan/phase.ts';

const horizonMs = 120_000;
const scanPeriodMs = 60_000;

export class DueSoon {
  readonly #ats: Informer<At>;
  readonly #clock: Clock;
  /** The latest due instant within the horizon, epoch ms. */
  #until = Number.NEGATIVE_INFINITY;
  /** The earliest due instant beyond the horizon, or an earlier one, epoch ms: before it comes near, no scan finds any. */
  #next = Number.POSITIVE_INFINITY;
  #scannedAt = Number.NEGATIVE_INFINITY;

  constructor(ats: Informer<At>, clock: Clock) {
    this.#ats = ats;
    this.#clock = clock;
    ats.addHandler({ onAdd: (at) => this.#see(at), onUpdate: (_previous, at) => this.#see(at) });
  }

  /**
   * Cheap enough to be asked each second, with a hundred thousand Ats: they are looked at in several turns of the event
   * loop, which takes far less time than the horizon is ahead.
   */
  get isNear(): boolean {
    const now = this.#clock.now();
    const isWorthIt = this.#next - now <= horizonMs;
    if (isWorthIt && this.#clock.monotonic() - this.#scannedAt >= scanPeriodMs) void this.#scan();
    return now < this.#until;
  }

  /** Never rejects. */
  async #scan(): Promise<void> {
    const pace = new Pace(this.#clock);
    this.#scannedAt = this.#clock.monotonic();
    this.#next = Number.POSITIVE_INFINITY;
    pace.begin();
    for (const at of this.#ats.lister.list()) {
      try {
        this.#see(at);
      } catch {
        // The informer has logged it when this At came.
      }
      if (pace.isDue) await pace.turn();
    }
  }

  /** An At that was not accepted yet comes again with its acceptance, or is launched at once. */
  #see(at: At): void {
    if (isEdited(at)) return;
    const due = dueTime(at);
    if (due - this.#clock.now() <= horizonMs) this.#until = Math.max(this.#until, due);
    else this.#next = Math.min(this.#next, due);
  }
}
