/**
 * ServedController: a controller whose kind may not be installed, or only later. Discovery is asked at the
 * start and every minute after that; once the kind is served, the controller runs for good. A CRD that goes
 * away after that and comes back is the business of its watch.
 */
import type { Resource } from '../kubernetes/objects.ts';
import type { Client } from '../runtime/client/client.ts';
import { findServed } from '../runtime/client/discovery.ts';
import { type Clock, sleep } from '../runtime/clock.ts';
import type { Runnable } from '../runtime/controller/runnable.ts';
import type { Logger } from '../runtime/logger.ts';

/**
 * Milliseconds between two looks. The second one comes early, so that the looks at this group come half-way between the
 * status checks of the other one: the connection that both use stays open, instead of two new ones every minute.
 */
const periodMs = 60_000;
const firstPeriodMs = periodMs / 2;

export class ServedController implements Runnable {
  readonly name: string;
  readonly needsLeaderElection = true;
  readonly #options;
  #controller: Runnable | undefined;

  constructor(options: {
    readonly name: string;
    readonly resource: Resource;
    /**
     * A kind in whose place this one may be left out. Without it, or with neither of them served, the warm-up
     * takes this kind for installed, so that the Manager says what is missing.
     */
    readonly unless?: Resource;
    /** A kind that will do where this one is not served. */
    readonly orElse?: Resource;
    /** True: the operator works without the kind, so the warm-up does not wait for it. */
    readonly optional: boolean;
    readonly client: Client;
    readonly clock: Clock;
    readonly log: Logger;
    /** Called once, when the kind is served. */
    readonly make: (signal: AbortSignal) => Runnable | Promise<Runnable>;
  }) {
    this.name = options.name;
    this.#options = options;
  }

  async warmUp(stop: AbortSignal): Promise<void> {
    const { optional, resource, unless } = this.#options;
    if (optional) return;
    if (unless && !(await this.#isServed(resource, stop)) && (await this.#isServed(unless, stop))) return;
    await (await this.#made(stop)).warmUp?.(stop);
  }

  async start(stop: AbortSignal, abort: AbortSignal): Promise<void> {
    const { clock, log, resource, orElse } = this.#options;
    let wait = firstPeriodMs;
    while (!this.#controller) {
      const served = (await this.#isServed(resource, stop)) ? resource : orElse;
      if (served && (served === resource || (await this.#isServed(served, stop)))) {
        log.info({ group: served.group, kind: served.kind }, 'the kind is served');
        break;
      }
      if (stop.aborted) return;
      await sleep(clock, wait, stop).catch(() => {});
      if (stop.aborted) return;
      wait = periodMs;
    }
    await (await this.#made(stop)).start(stop, abort);
  }

  get inProgress(): readonly string[] {
    return this.#controller?.inProgress ?? [];
  }

  healthCheck(): void {
    this.#controller?.healthCheck?.();
  }

  async #made(signal: AbortSignal): Promise<Runnable> {
    this.#controller ??= await this.#options.make(signal);
    return this.#controller;
  }

  /** An answer that is no answer is asked for again at the next look. */
  async #isServed(resource: Resource, signal: AbortSignal): Promise<boolean> {
    const { client, log } = this.#options;
    try {
      return (await findServed(client, resource, { signal })) !== undefined;
    } catch (err) {
      if (!signal.aborted) log.warn({ err, group: resource.group }, 'discovery failed');
      return false;
    }
  }
}
