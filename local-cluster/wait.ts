/**
 * Waiting with a limit: every wait of this harness ends, with the thing waited for or with a sentence.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ClusterError } from './cluster-error.ts';

export interface WaitOptions {
  /** Names what is waited for, as in "waiting for <what>". */
  what: string;
  /** The limit, in milliseconds. */
  limit: number;
  /** The pause between two tries, in milliseconds; default 100. */
  interval?: number;
  /** Throws when waiting any longer is pointless, for example because a component died. */
  check?: () => void;
  signal?: AbortSignal | undefined;
}

/**
 * Calls `probe` until it returns something other than undefined or false. An error that it throws means "not yet".
 *
 * @throws {ClusterError} when the limit is reached, with the probe's last error as cause
 */
export async function waitFor<T>(options: WaitOptions, probe: () => Promise<T>): Promise<NonNullable<T>> {
  const { what, limit, interval = 100, check, signal } = options;
  const start = performance.now();
  let lastError: unknown;
  for (;;) {
    signal?.throwIfAborted();
    check?.();
    try {
      const result = await probe();
      if (result !== undefined && result !== null && result !== false) {
        return result;
      }
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    if (performance.now() - start > limit) {
      const because = lastError instanceof Error ? `: ${lastError.message}` : '';
      throw new ClusterError(`gave up waiting for ${what} after ${limit / 1000} s${because}`, {
        cause: lastError,
      });
    }
    // The pause is short enough to look at the signal after it, which throws the signal's own reason.
    await delay(interval);
  }
}
