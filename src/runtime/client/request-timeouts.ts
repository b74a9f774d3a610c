/**
 * Request timeouts: how long a call may take that does not say so itself.
 */

import { defaultRequestTimeouts } from '../limits.ts';

/** Time limits of requests, in milliseconds. */
export interface RequestTimeouts {
  /** Of a get, and of opening a watch. Default 30 000. */
  readonly read?: number;
  /** Of a write. Default 5 000. The WriteGate may allow less. */
  readonly write?: number;
  /** Of one page of a list. Default 120 000. */
  readonly list?: number;
}

/** What a timer can wait for. */
const longest = 2 ** 31 - 1;
/** The API server gives a write up before its client does, so that the client hears of it. */
const serverShare = 0.8;

/** @throws {RangeError} that names the one that is no time to wait. */
export function requestTimeouts(options: RequestTimeouts = {}): Required<RequestTimeouts> {
  const timeouts = { ...defaultRequestTimeouts, ...options };
  for (const [name, value] of Object.entries(timeouts)) {
    if (!(value > 0 && value <= longest)) {
      throw new RangeError(
        `requestTimeouts.${name} must be more than 0 and at most ${longest} ms, got ${value}`,
      );
    }
  }
  return timeouts;
}

/**
 * `timeout` of a write's query: after how long the API server itself gives it up.
 *
 * @param limit milliseconds that the write may take. @param usual those of a write that says nothing.
 * @param asked milliseconds, of a caller that wants the server to be sooner.
 */
export function serverTimeout(limit: number, usual: number, asked?: number): string {
  const most = serverShare * (asked === undefined ? limit : Math.max(limit, usual));
  return `${Math.floor(Math.min(most, asked ?? most)) / 1000}s`;
}
