/**
 * Startup: what must hold once before the caches are filled, and the sentence that tells people what to do when
 * it does not. Only here is such a thing the end of the process; later it is waited for.
 */
import { ApiError, isForbidden } from '../client/api-error.ts';
import type { Client } from '../client/client.ts';
import { type Clock, sleep } from '../clock.ts';
import { errorChain } from '../error-chain.ts';
import type { LeaderElector } from '../leader/leader-elector.ts';
import { reachLimit } from '../limits.ts';
import type { Logger } from '../logger.ts';
import { ManagerError } from './manager-error.ts';

/**
 * How long an answer must stay the same before it is believed: CRDs and Roles are often applied in the
 * same moment as this process is started, and take effect a little later.
 */
export const confirmationMs = 5000;

/** Between two looks. */
export const lookIntervalMs = 500;

/** Longest single call, ms. */
const callTimeout = 5000;

/** What a Manager needs until its caches are filled. */
export interface StartupOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** URL of the API server, for the sentence. */
  readonly server: string;
  /** Command that installs the CRDs, for the sentence. */
  readonly installCommand?: string;
  /** Milliseconds that the caches may take without any progress. Default 120 000. */
  readonly cacheSyncTimeout?: number;
}

/**
 * Resolves when the API server answers and, with leader election, lets this process read the Lease.
 *
 * @param client one that does not retry by itself.
 * @throws {ManagerError} with the sentence. Rejects with the signal's reason when that is aborted.
 */
export async function assertUsable(
  client: Client,
  options: StartupOptions,
  elector: Pick<LeaderElector, 'look'> | undefined,
  signal: AbortSignal,
): Promise<void> {
  await reachApiServer(client, options, signal);
  if (elector) await assertPermitted(() => elector.look(signal), options, signal);
}

/**
 * Resolves as soon as the API server has answered.
 *
 * @param client one that does not retry by itself.
 * @throws {ManagerError} when it did not for 30 s, or does not accept who we are. Rejects with the signal's
 *   reason when that is aborted.
 */
export async function reachApiServer(
  client: Client,
  { clock, log, server }: StartupOptions,
  signal: AbortSignal,
): Promise<void> {
  const begun = clock.monotonic();
  for (let attempt = 1; ; attempt++) {
    try {
      await client.getRaw('/version', { timeout: callTimeout, signal });
      return;
    } catch (error) {
      signal.throwIfAborted();
      // It may not like us to ask for its version, but it is there.
      if (isForbidden(error)) return;
      assertWorthWaiting(error, server, clock.monotonic() - begun);
      if (attempt === 1) log.warn({ err: error, server }, 'the API server does not answer yet; trying again');
    }
    await sleep(clock, lookIntervalMs, signal);
  }
}

/** @param waited ms so far. */
function assertWorthWaiting(error: unknown, server: string, waited: number): void {
  if (error instanceof ApiError && error.code === 401 && waited >= confirmationMs) {
    const sentence = `the API server at ${server} does not accept the credentials: ${error.message}`;
    throw new ManagerError(sentence, { cause: error });
  }
  if (waited < reachLimit) return;
  const why = `${reasonOf(error)}; check KUBECONFIG and that the cluster is running`;
  throw new ManagerError(`cannot reach the API server at ${server}: ${why}`, { cause: error });
}

/**
 * Reads the Lease once, so that a missing right is an error at once, and not a replica that never leads.
 *
 * @throws {ManagerError} when that is forbidden.
 */
export async function assertPermitted(
  read: () => Promise<unknown>,
  { clock }: StartupOptions,
  signal: AbortSignal,
): Promise<void> {
  const begun = clock.monotonic();
  for (;;) {
    try {
      await read();
      return;
    } catch (error) {
      signal.throwIfAborted();
      // Anything else is for the one who uses it to wait for.
      if (!isForbidden(error)) return;
      if (clock.monotonic() - begun >= confirmationMs)
        throw new ManagerError(withRoleHint(textOf(error)), { cause: error });
    }
    await sleep(clock, lookIntervalMs, signal);
  }
}

export function withRoleHint(text: string): string {
  return `${text}; grant it by a Role or ClusterRole`;
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was cut',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name service does not answer',
  ETIMEDOUT: 'no answer',
};

/** In words, when the system named the reason by a code somewhere down the chain of causes. */
function reasonOf(error: unknown): string {
  for (const cause of errorChain(error)) {
    const words = reasons[(cause as NodeJS.ErrnoException).code ?? ''];
    if (words) return words;
  }
  return textOf(error);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
