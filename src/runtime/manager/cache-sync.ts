/**
 * Cache sync: the time until every cache is filled and every Runnable is warmed up, and the sentence that tells people
 * what to do when it does not end.
 */
import type { Informers } from '../cache/informers.ts';
import { sleep } from '../clock.ts';
import { defaultDurations } from '../limits.ts';
import { aborted } from '../time-limit.ts';
import { ManagerError } from './manager-error.ts';
import type { RunnableGroup } from './runnable-group.ts';
import { confirmationMs, lookIntervalMs, type StartupOptions, withRoleHint } from './startup.ts';

/** Why an informer is not following its resource. */
export interface StartupProblem {
  readonly reason: string;
  readonly message: string;
}

/** @throws {ManagerError} as {@link awaitSync}. Rejects with the signal's reason when that is aborted. */
export async function warmUp(
  informers: Informers,
  runnables: RunnableGroup,
  options: StartupOptions,
  signal: AbortSignal,
): Promise<void> {
  const synced = Promise.all([informers.waitForSync(signal), runnables.warmUp()]);
  // A warm-up that does not hear the stop does not hold it up.
  const over = Promise.race([synced, aborted(signal)]);
  await awaitSync(
    over,
    () => informers.problems,
    options,
    () => informers.loaded,
  );
  signal.throwIfAborted();
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
      await sleep(clock, lookIntervalMs, done.signal);
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
    if (now - this.#wellAt >= confirmationMs) throw new ManagerError(sentenceOf(final, installCommand));
    const loaded = this.#loaded();
    if (loaded > this.#most) this.#progressedAt = now;
    this.#most = Math.max(this.#most, loaded);
    if (now - this.#progressedAt < cacheSyncTimeout) return;
    const since = this.#progressedAt === this.#begun ? '' : ' after their last progress';
    const what = problems.length > 0 ? sentenceOf(problems, installCommand) : 'no answer';
    throw new ManagerError(`the caches were not filled within ${cacheSyncTimeout / 1000} s${since}: ${what}`);
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
