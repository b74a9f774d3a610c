/**
 * Startup: what must hold once before the work begins, and the sentence that tells people what to do when
 * it does not. Only here is such a thing the end of the process; later it is waited for.
 */
import { ApiError, isForbidden } from '../client/api-error.ts';
import type { Client, ObjectKey } from '../client/client.ts';
import { type Clock, sleep } from '../clock.ts';
import { errorChain } from '../error-chain.ts';
import { leases } from '../leader/lease.ts';
import { defaultDurations, reachLimit } from '../limits.ts';
import type { Logger } from '../logger.ts';
import { ManagerError } from './manager-error.ts';

/**
 * How long an answer must stay the same before it is believed, ms: CRDs and Roles are often applied in the
 * same moment as this process is started, and take effect a little later.
 */
const grace = 5000;

/** Between two looks, ms. */
const period = 500;

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

/** Why an informer is not following its resource. */
export interface StartupProblem {
  readonly reason: string;
  readonly message: string;
}

/**
 * Resolves when the API server answers and, with leader election, lets this process read the Lease.
 *
 * @param client one that does not retry by itself.
 * @throws {ManagerError} with the sentence. Rejects with the signal's reason when that is aborted.
 */
export async function assertUsable(
  client: Client,
  options: StartupOptions & { readonly leaderElection?: ObjectKey },
  signal: AbortSignal,
): Promise<void> {
  await reachApiServer(client, options, signal);
  const lease = options.leaderElection;
  if (lease) await assertPermitted(() => client.get(leases, lease, { signal }), options, signal);
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
    await sleep(clock, period, signal);
  }
}

/** @param waited ms so far. */
function assertWorthWaiting(error: unknown, server: string, waited: number): void {
  if (error instanceof ApiError && error.code === 401 && waited >= grace) {
    const sentence = `the API server at ${server} does not accept the credentials: ${error.message}`;
    throw new ManagerError(sentence, { cause: error });
  }
  if (waited < reachLimit) return;
  const why = `${reasonOf(error)}; check KUBECONFIG and that the cluster is running`;
  throw new ManagerError(`cannot reach the API server at ${server}: ${why}`, { cause: error });
}

/**
 * Awaits `synced`, and while it does looks at what keeps the informers from it.
 *
 * @param problems those of right now. @param loaded a number that grows as long as objects come in.
 * @throws {ManagerError} when a resource is not served, or may not be read, for more than a moment; or when
 *   nothing new has come in for `cacheSyncTimeout`.
 */
export async function awaitSync(
  synced: Promise<unknown>,
  problems: () => readonly StartupProblem[],
  options: StartupOptions,
  loaded: () => number = () => 0,
): Promise<void> {
  const { clock } = options;
  const done = new AbortController();
  const watch = async () => {
    const progress = new SyncProgress(options, problems, loaded);
    for (;;) {
      await sleep(clock, period, done.signal);
      progress.assertHopeful();
    }
  };
  try {
    await Promise.race([synced, watch()]);
  } finally {
    done.abort(new Error('synced'));
  }
}

/** Whether waiting for the caches still makes sense. */
class SyncProgress {
  readonly #options: StartupOptions;
  readonly #problems: () => readonly StartupProblem[];
  readonly #loaded: () => number;
  readonly #begun: number;
  #most: number;
  #progressedAt: number;
  /** Until when nothing was wrong that waiting does not mend. */
  #wellAt: number;

  constructor(options: StartupOptions, problems: () => readonly StartupProblem[], loaded: () => number) {
    this.#options = options;
    this.#problems = problems;
    this.#loaded = loaded;
    this.#most = loaded();
    this.#begun = options.clock.monotonic();
    this.#progressedAt = this.#begun;
    this.#wellAt = this.#begun;
  }

  /** @throws {ManagerError} */
  assertHopeful(): void {
    const { clock, installCommand, cacheSyncTimeout = defaultDurations.cacheSyncTimeout } = this.#options;
    const now = clock.monotonic();
    const problems = this.#problems();
    const final = problems.filter(({ reason }) => finalReasons.has(reason));
    if (final.length === 0) this.#wellAt = now;
    if (now - this.#wellAt >= grace) throw new ManagerError(sentenceOf(final, installCommand));
    const loaded = this.#loaded();
    if (loaded > this.#most) this.#progressedAt = now;
    this.#most = Math.max(this.#most, loaded);
    if (now - this.#progressedAt < cacheSyncTimeout) return;
    const since = this.#progressedAt === this.#begun ? '' : ' after their last progress';
    const what = problems.length > 0 ? sentenceOf(problems, installCommand) : 'no answer';
    throw new ManagerError(`the caches were not filled within ${cacheSyncTimeout / 1000} s${since}: ${what}`);
  }
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
      if (clock.monotonic() - begun >= grace)
        throw new ManagerError(withRoleHint(textOf(error)), { cause: error });
    }
    await sleep(clock, period, signal);
  }
}

/** Reasons that waiting does not mend. */
const finalReasons = new Set(['NotServed', 'Forbidden', 'Unauthorized']);

function sentenceOf(problems: readonly StartupProblem[], installCommand: string | undefined): string {
  const text = [...new Set(problems.map(({ message }) => message))].join('; ');
  const reasons = new Set(problems.map(({ reason }) => reason));
  if (reasons.has('NotServed') && installCommand) return `${text}; install it with: ${installCommand}`;
  return reasons.has('Forbidden') ? withRoleHint(text) : text;
}

function withRoleHint(text: string): string {
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
