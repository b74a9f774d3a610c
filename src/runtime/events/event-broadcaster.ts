/**
 * EventBroadcaster: takes what all EventRecorders of a process record and sends it, one call at a time, never
 * faster than its rate, and for a while only when nothing else is under way, so that Events take nothing from
 * the work they tell about. What does not fit into its queue is dropped and counted; no reconcile
 * waits for an Event, and no failure here is fatal.
 */
import type { Registry } from '@prometheus-io/client';
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import { type Clock, sleep, type Timer } from '../clock.ts';
import { type EventOptions, eventOf } from './event.ts';
import { EventCorrelator, type Series } from './event-correlator.ts';
import { type EventResult, eventMetrics } from './event-metrics.ts';
import type { EventRecord, EventRecorder } from './event-recorder.ts';
import { EventSender, type EventSenderOptions } from './event-sender.ts';

export interface EventBroadcasterOptions extends EventSenderOptions {
  /** Of this process, as `reportingInstance`: its host's name, for example. */
  readonly instance: string;
  readonly registry?: Registry;
  /** Events waiting to be sent, of about 1 KB each. Default 2000. */
  readonly queueLimit?: number;
  /** Calls per second in the long run. Default 50. */
  readonly rate?: number;
  /**
   * Whether other requests are under way, each of which takes from the API server what an Event would take from it;
   * an Event waits for their end, for 5 s at most. Default: never.
   */
  readonly isBusy?: () => boolean;
  /** Uniform in [0, 1). Default Math.random. */
  readonly random?: () => number;
}

/** Ms between two updates of a series, after its first. */
const seriesPeriod = 30_000;

/** Ms that an Event lets other requests go first. */
const patience = 5000;
/** Ms until it is asked again whether they are over. */
const busyPeriod = 20;

/** Ms between two log lines about dropped Events. */
const dropLogPeriod = 60_000;

export class EventBroadcaster {
  readonly #options: EventBroadcasterOptions;
  readonly #clock: Clock;
  readonly #sender: EventSender;
  readonly #count: (result: EventResult) => void;
  readonly #correlator = new EventCorrelator();
  /** With the monotonic time since when they wait. */
  readonly #queue = new Map<Series, number>();
  /** Series with news that were updated only recently. */
  readonly #deferred = new Set<Series>();
  readonly #stop = new AbortController();
  #sending: Promise<void> | undefined;
  #deferTimer: Timer | undefined;
  #flushing = false;
  #nextSend = 0;
  #sequence: number;
  #dropped = 0;
  #dropsLoggedAt = -Infinity;

  constructor(options: EventBroadcasterOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#sender = new EventSender(options);
    this.#count = eventMetrics(options.registry);
    // Begins anywhere, so that two processes which name an Event in the same millisecond differ.
    this.#sequence = Math.floor((options.random ?? Math.random)() * 1e6);
  }

  /** @param reportingController which controller reports, `domain/name`. */
  recorder(reportingController: string): EventRecorder {
    return {
      record: (resource, regarding, record) => {
        try {
          this.#record(reportingController, resource, regarding, record);
        } catch (error) {
          this.#options.log.error({ err: error }, 'an Event could not be recorded');
        }
      },
    };
  }

  /** Sends what is waiting, for at most `limit` ms, and then nothing ever again. Never rejects. */
  async stop(limit: number): Promise<void> {
    this.#flushing = true;
    for (const series of this.#deferred) this.#queue.set(series, this.#clock.monotonic());
    this.#deferred.clear();
    this.#deferTimer?.cancel();
    const { signal } = this.#stop;
    const ended = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    const timer = this.#clock.setTimer(limit, () => this.#stop.abort(new Error('events: stopped')));
    this.#startSending();
    await Promise.race([this.#sending, ended]);
    timer.cancel();
    this.#stop.abort(new Error('events: stopped'));
    for (const _ of this.#queue) this.#drop('this process has ended');
    this.#queue.clear();
  }

  #record(controller: string, resource: Resource, regarding: KubernetesObject, record: EventRecord): void {
    if (this.#stop.signal.aborted) return;
    const now = this.#clock.now();
    const options: EventOptions = {
      ...{ resource, regarding, record, now, suffix: this.#suffix(now), reportingController: controller },
      reportingInstance: this.#options.instance,
    };
    const { namespace = '', name, uid = '' } = regarding.metadata;
    const { type, reason, action, note } = record;
    const key = [controller, resource.kind, namespace, name, uid, type, reason, action, note].join('\n');
    const series = this.#correlator.correlate(key, eventOf(options), now);
    if (series === undefined) this.#drop('its object has had too many');
    else this.#enqueue(series);
  }

  #enqueue(series: Series): void {
    if (this.#queue.has(series) || this.#deferred.has(series)) return;
    const age = this.#clock.monotonic() - series.sentAt;
    if (series.sentCount > 1 && age < seriesPeriod && !this.#flushing) {
      this.#deferred.add(series);
      this.#deferTimer ??= this.#clock.setTimer(seriesPeriod, () => this.#enqueueDeferred());
      return;
    }
    if (this.#queue.size >= (this.#options.queueLimit ?? 2000)) {
      // The series remembers it: should there be room for the next one, that tells of both.
      this.#drop('the queue is full');
      return;
    }
    this.#queue.set(series, this.#clock.monotonic());
    this.#startSending();
  }

  #enqueueDeferred(): void {
    this.#deferTimer = undefined;
    const waiting = [...this.#deferred];
    this.#deferred.clear();
    for (const series of waiting) this.#enqueue(series);
  }

  #startSending(): void {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
      // Recorded after the last one was sent, but before this was known to be over.
      if (this.#queue.size > 0 && !this.#stop.signal.aborted) this.#startSending();
    });
  }

  async #sendAll(): Promise<void> {
    const { signal } = this.#stop;
    for (const [series, since] of this.#queue) {
      if (!this.#flushing) await this.#pace();
      await this.#untilIdle(since + patience);
      if (signal.aborted) return;
      this.#queue.delete(series);
      const result = await this.#sender.send(series, signal);
      if (result === 'dropped') this.#drop('this process may not write any more');
      else this.#count(result);
      // The next equal record begins a new Event: this one is gone, or was never created.
      if (result !== 'sent') this.#correlator.forget(series);
    }
  }

  /** Waits for this call's turn: up to a second's worth may be sent at once after a time without any. */
  async #pace(): Promise<void> {
    const interval = 1000 / (this.#options.rate ?? 50);
    const now = this.#clock.monotonic();
    this.#nextSend = Math.max(this.#nextSend, now - 1000) + interval;
    if (this.#nextSend > now) {
      await sleep(this.#clock, this.#nextSend - now, this.#stop.signal).catch(() => {});
    }
  }

  async #untilIdle(end: number): Promise<void> {
    const { isBusy = () => false } = this.#options;
    while (!this.#flushing && isBusy() && this.#clock.monotonic() < end) {
      await sleep(this.#clock, busyPeriod, this.#stop.signal).catch(() => {});
    }
  }

  #drop(why: string): void {
    this.#count('dropped');
    this.#dropped++;
    if (this.#clock.monotonic() - this.#dropsLoggedAt < dropLogPeriod) return;
    this.#options.log.warn({ dropped: this.#dropped, why }, 'Events were dropped');
    this.#dropsLoggedAt = this.#clock.monotonic();
    this.#dropped = 0;
  }

  /** Hexadecimal nanoseconds, as Events are named in Kubernetes; the last six decimal places are counted. */
  #suffix(now: number): string {
    this.#sequence = (this.#sequence + 1) % 1e6;
    return (BigInt(Math.floor(now)) * 1_000_000n + BigInt(this.#sequence)).toString(16);
  }
}
