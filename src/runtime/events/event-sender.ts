/**
 * EventSender: tells the API server about one series: creates its Event, or brings its count up to date.
 * Tries a failure that may pass a few times, and gives up rather than hold up the others for long.
 */
import {
  ApiError,
  isAlreadyExists,
  isNotFound,
  isProvenNotFound,
  TransportError,
} from '../client/api-error.ts';
import type { Client } from '../client/client.ts';
import type { WriteGate } from '../client/write-gate.ts';
import { type Clock, sleep } from '../clock.ts';
import { isDelay } from '../delay.ts';
import type { Logger } from '../logger.ts';
import { microTime } from '../micro-time.ts';
import { events } from './event.ts';
import type { Series } from './event-correlator.ts';
import type { EventResult } from './event-metrics.ts';

/** Ms before each further try of a call that failed in a way that may pass. */
const retryDelays = [1000, 3000];

export interface EventSenderOptions {
  readonly client: Client;
  /** Asked before each call, so that a closed gate costs no retries. */
  readonly gate: WriteGate;
  readonly clock: Clock;
  readonly log: Logger;
}

export class EventSender {
  readonly #options: EventSenderOptions;

  constructor(options: EventSenderOptions) {
    this.#options = options;
  }

  /** Never rejects. When `signal` is aborted it gives up. */
  async send(series: Series, signal: AbortSignal): Promise<EventResult> {
    for (const delay of [...retryDelays, undefined]) {
      if (signal.aborted || !this.#mayWrite()) return 'dropped';
      try {
        await this.#call(series, signal);
        return 'sent';
      } catch (error) {
        if (signal.aborted) return 'dropped';
        if (delay === undefined || !mayPass(error)) return this.#giveUp(series, error);
        const wait = Math.max(delay, retryAfterOf(error));
        await sleep(this.#options.clock, wait, signal).catch(() => {});
      }
    }
    return 'failed';
  }

  async #call(series: Series, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const { namespace, name, event, count, lastObserved } = series;
    const news = count > 1 ? { series: { count, lastObservedTime: microTime(lastObserved) } } : {};
    if (event) {
      // The second try of a creation whose answer was lost finds it done.
      await client.create(events, { ...event, ...news }, { signal }).catch((error: unknown) => {
        if (!isAlreadyExists(error)) throw error;
      });
    } else {
      await client.patch(events, { namespace, name }, { type: 'merge', body: news }, { signal });
    }
    series.event = undefined;
    series.sentCount = count;
    series.sentAt = clock.monotonic();
  }

  #giveUp(series: Series, error: unknown): EventResult {
    // An Event that has expired, or whose namespace is going away, is of no use any more.
    if (!isProvenNotFound(error) && !isNamespaceTerminating(error)) {
      const { namespace, name } = series;
      this.#options.log.warn({ err: error, namespace, event: name }, 'an Event could not be sent');
    }
    return 'failed';
  }

  #mayWrite(): boolean {
    try {
      this.#options.gate.assertMayWrite();
      return true;
    } catch {
      return false;
    }
  }
}

function mayPass(error: unknown): boolean {
  // A 404 in other words than the API server's is a proxy's.
  if (isNotFound(error)) return !isProvenNotFound(error);
  if (error instanceof ApiError) return error.code >= 500 || error.code === 429;
  return error instanceof TransportError;
}

function retryAfterOf(error: unknown): number {
  return error instanceof ApiError && isDelay(error.retryAfter) ? Math.min(error.retryAfter, 30_000) : 0;
}

function isNamespaceTerminating(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.code !== 403) return false;
  return error.status.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') ?? false;
}
