/**
 * DueSoon: whether an At falls due within the next minute or two, so that the API server's time has to be known well.
 */
import type { At } from '../../api/at.generated.ts';
import type { Informer } from '../../runtime/cache/informer.ts';
import type { ServerClock } from '../../runtime/server-clock.ts';
import { dueTime } from '../plan/due.ts';
import { isEdited } from '../plan/phase.ts';

/** Milliseconds. */
const horizon = 120_000;
const scanPeriod = 60_000;

export class DueSoon {
  readonly #ats: Informer<At>;
  readonly #clock: Pick<ServerClock, 'now' | 'monotonic'>;
  /** The latest due instant within the horizon, epoch ms. */
  #until = Number.NEGATIVE_INFINITY;
  #scannedAt = Number.NEGATIVE_INFINITY;

  constructor(ats: Informer<At>, clock: Pick<ServerClock, 'now' | 'monotonic'>) {
    this.#ats = ats;
    this.#clock = clock;
    ats.addHandler({ onAdd: (at) => this.#see(at), onUpdate: (_previous, at) => this.#see(at) });
  }

  /** Cheap enough to be asked each second, with a hundred thousand Ats. */
  get isNear(): boolean {
    const monotonic = this.#clock.monotonic();
    if (monotonic - this.#scannedAt >= scanPeriod) {
      this.#scannedAt = monotonic;
      for (const at of this.#ats.lister.list()) this.#see(at);
    }
    return this.#clock.now() < this.#until;
  }

  /** An At that was not accepted yet comes again with its acceptance, or is launched at once. */
  #see(at: At): void {
    if (isEdited(at)) return;
    const due = dueTime(at);
    if (due - this.#clock.now() <= horizon) this.#until = Math.max(this.#until, due);
  }
}
