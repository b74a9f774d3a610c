/**
 * Diagnostics: what happens inside, on channels of node:diagnostics_channel. Without a subscriber nothing is made and
 * nothing is published. No event holds a body, a header of a request, or anything else of an object but its name.
 */
import { channel, tracingChannel } from 'node:diagnostics_channel';

/** An event with a beginning and an end, which is one object for both. */
export interface SpanEvent {
  /**
   * A subscriber of the beginning may set it: it calls `work` once, in its own context, and returns what that returns.
   */
  within?: (<R>(work: () => R) => R) | undefined;
  /** At the end, why it failed. */
  error?: unknown;
}

/** One reconcile, on `tracing:atwatch.runtime.reconcile:start` and `:asyncEnd`. */
export interface ReconcileEvent extends SpanEvent {
  readonly controller: string;
  readonly namespace: string;
  readonly name: string;
  readonly reconcileID: string;
  /** At the end: `success`, `requeue`, `error`, `terminal` or `panic`. */
  outcome?: string;
}

/** One request with its retries, on `tracing:atwatch.runtime.request:start` and `:asyncEnd`. Watches are left out. */
export interface RequestEvent extends SpanEvent {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** `pods`, `ats.example.com/status`; undefined for a path that is no object's. */
  readonly resource: string | undefined;
  /** Sent with the request: a subscriber of the beginning may add to them, such as a `traceparent`. */
  readonly headers: Record<string, string>;
  /** At the end, the HTTP status code; undefined when there was no answer. */
  code?: number;
}

/** A watch was answered, or is over, on `atwatch.runtime.watch`. */
export interface WatchDiagnostic {
  readonly type: 'opened' | 'ended';
  readonly resource: string;
  /** At the end, how many lines it brought. */
  readonly events?: number;
  /** At the end, why it broke off; undefined when the API server ended it. */
  readonly error?: unknown;
}

/** The Lease was taken, renewed, given back or lost, on `atwatch.runtime.lease`. */
export interface LeaseDiagnostic {
  readonly type: 'acquired' | 'renewed' | 'released' | 'lost';
  /** `namespace/name`. */
  readonly lease: string;
  readonly identity: string;
  /** Of a loss. */
  readonly why?: string;
}

const reconciles = tracingChannel<string, SpanEvent>('atwatch.runtime.reconcile');
const requests = tracingChannel<string, SpanEvent>('atwatch.runtime.request');
const watches = channel('atwatch.runtime.watch');
const leases = channel('atwatch.runtime.lease');

type SpanChannel = Pick<typeof reconciles, 'start' | 'asyncEnd'>;

/** Runs the work as an event; without a subscriber just runs it, with none. */
export function asReconcile<R>(
  about: () => ReconcileEvent,
  work: (event?: ReconcileEvent) => Promise<R>,
): Promise<R> {
  return isHeard(reconciles) ? asEvent(reconciles, about(), work) : work();
}

/** As {@link asReconcile}. */
export function asRequest<R>(
  about: () => RequestEvent,
  work: (event?: RequestEvent) => Promise<R>,
): Promise<R> {
  return isHeard(requests) ? asEvent(requests, about(), work) : work();
}

/** Tells of a watch. */
export function tellWatch(about: () => WatchDiagnostic): void {
  if (watches.hasSubscribers) watches.publish(about());
}

/** Tells of the Lease. */
export function tellLease(about: () => LeaseDiagnostic): void {
  if (leases.hasSubscribers) leases.publish(about());
}

function isHeard({ start, asyncEnd }: SpanChannel): boolean {
  return start.hasSubscribers || asyncEnd.hasSubscribers;
}

async function asEvent<E extends SpanEvent, R>(
  { start, asyncEnd }: SpanChannel,
  event: E,
  work: (event: E) => Promise<R>,
): Promise<R> {
  start.publish(event);
  const { within } = event;
  try {
    return await (within === undefined ? work(event) : within(() => work(event)));
  } catch (error) {
    event.error = error;
    throw error;
  } finally {
    asyncEnd.publish(event);
  }
}
