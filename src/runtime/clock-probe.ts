/**
 * ClockProbe: asks the API server for its time while something waits that must happen at an instant, so that a
 * {@link ServerClock} has close bounds by then. A process with a right clock needs it only to prove that.
 */
import { CallbackFaults, synchronous } from './callback.ts';
import type { Client } from './client/client.ts';
import { sleep } from './clock.ts';
import type { Runnable } from './controller/runnable.ts';
import type { Logger } from './logger.ts';
import type { ServerClock } from './server-clock.ts';

/** Milliseconds between two requests at least, and between two looks whether any are needed. */
const period = { needed: 1000, idle: 10_000 };
/** Milliseconds for one request. */
const requestTimeout = 5000;

/** Whose time is asked for, and when. */
export interface ClockProbeOptions {
  readonly name: string;
  readonly clock: ServerClock;
  readonly client: Pick<Client, 'getRaw'>;
  readonly log: Logger;
  /** Whether an instant is near, within two minutes, for which the server's time is needed. One that throws: yes. */
  readonly isNeeded: () => boolean;
}

/**
 * A Runnable that asks for the API server's time while an instant is near that matters. It runs on standbys,
 * too: they may lead in a moment.
 */
export class ClockProbe implements Runnable {
  readonly name: string;
  readonly needsLeaderElection = false;
  readonly #options: ClockProbeOptions;
  readonly #faults: CallbackFaults;
  /** Milliseconds that the last request took. */
  #roundTrip = 0;

  constructor(options: ClockProbeOptions) {
    this.name = options.name;
    this.#options = options;
    this.#faults = new CallbackFaults(options.clock, options.log);
  }

  async start(stop: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    let needed = false;
    while (!stop.aborted) {
      await sleep(clock, needed ? period.needed : period.idle, stop).catch(() => {});
      if (stop.aborted) return;
      needed = this.#isNeeded();
      const at = needed ? clock.probeAt(this.#roundTrip) : undefined;
      if (at === undefined) continue;
      await sleep(clock, Math.max(0, at - clock.monotonic()), stop).catch(() => {});
      if (!stop.aborted) await this.#ask(stop);
    }
  }

  #isNeeded(): boolean {
    try {
      const needed: unknown = synchronous(this.#options.isNeeded());
      if (typeof needed === 'boolean') return needed;
      throw new TypeError(`isNeeded must return a boolean, got ${typeof needed}`);
    } catch (error) {
      const consequence = "the API server's time is asked for";
      this.#faults.report({ callback: 'isNeeded', key: this.name, error, consequence });
      return true;
    }
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { clock, client, log } = this.#options;
    const sentAt = clock.monotonic();
    try {
      await client.getRaw('/version', { signal, timeout: requestTimeout });
      this.#roundTrip = clock.monotonic() - sentAt;
    } catch (err) {
      if (!signal.aborted) log.debug({ err }, 'the API server did not tell its time');
    }
  }
}
