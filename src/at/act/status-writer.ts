/** StatusWriter: writes the status of an At against the version that was decided on, and at a pace where many wait. */
import type { At, AtStatus } from '../../api/at.generated.ts';
import { ats } from '../../api/resources.ts';
import { isConflict, isInvalid, isProvenNotFound } from '../../runtime/client/api-error.ts';
import type { StatusBody } from '../../runtime/client/patch.ts';
import type { Answer } from '../../runtime/controller/decision.ts';
import { type ReconcileContext, requestKey } from '../../runtime/controller/reconciler.ts';
import { Rewrites } from '../../runtime/controller/rewrites.ts';
import { errorFields, type Logger } from '../../runtime/logger.ts';
import { startingDeadline } from '../decide/defaults.ts';
import { type ReadAt, withLastEdit } from '../facts/last-edit.ts';
import type { Observed } from '../facts/observed.ts';
import { findAmong, isGated, podsAt } from '../facts/own-pod.ts';
import { retryPriority } from '../facts/queue-priority.ts';
import { dueTime, isDue } from '../plan/due.ts';
import { isRefused, isRefusedFor } from '../plan/phase.ts';
import { sanitize } from '../plan/sanitize.ts';
import type { AtParts } from './at-parts.ts';
import { failedForMs, mayHaveHappened } from './create-answer.ts';
import { readTimeoutMs } from './live-read.ts';
import { conflictDelayMs, found } from './settle.ts';
import { StatusPace } from './status-pace.ts';
import { statusPatch } from './status-patch.ts';
import { timed } from './timed.ts';

interface FailedWrite {
  /** Since when it fails, epoch ms. */
  readonly failedAt: number;
  readonly log: Logger;
}

export class StatusWriter {
  readonly #options;
  readonly #pace = new StatusPace();
  readonly #rewrites = new Rewrites();

  constructor(options: Pick<AtParts, 'client' | 'clock' | 'memory' | 'onStatus'>) {
    this.#options = options;
  }

  /** Nothing about this name matters any more. */
  forget(key: string): void {
    this.#pace.forget(key);
  }

  async write(
    status: AtStatus,
    asLock: boolean,
    observed: Observed,
    { signal, log }: ReconcileContext,
  ): Promise<Answer<Observed>> {
    const { clock, memory, onStatus } = this.#options;
    const { at } = observed;
    const { namespace = '', name } = at.metadata;
    const key = requestKey({ namespace, name });
    const body = statusPatch(at, status);
    if (body === undefined) {
      this.forget(key);
      return { next: 'goOn', facts: observed };
    }
    const again = this.#rewrites.wait(key, at.status, status, clock.monotonic());
    const paused = Math.max(again, this.#paceOf(key, at, status));
    if (paused > 0) {
      const lateIn = startingDeadline(observed, dueTime(at)) + 1 - observed.now;
      const requeueAfter = lateIn > 0 ? Math.min(paused, lateIn) : paused;
      return { next: 'end', result: { requeueAfter, priority: retryPriority } };
    }
    const sentAt = clock.monotonic();
    let written: ReadAt;
    try {
      const patch = () => this.#patch(at, body, signal);
      written = withLastEdit(sanitize(await timed(this.#options, observed, patch)));
    } catch (error) {
      // What it takes to look for the status is not the write's own time.
      const failedAt = clock.now() - failedForMs(clock, sentAt);
      const stored =
        signal.aborted || !mayHaveHappened(error) ? undefined : await this.#stored(at, status, signal);
      if (stored === undefined) return this.#failed(error, observed, { key, asLock, failedAt, log });
      written = stored;
    }
    this.forget(key);
    this.#rewrites.written(key, at.status, status, clock.monotonic());
    memory.written(at);
    onStatus?.(at, status);
    const isOvertaken = at.metadata.generation !== written.metadata.generation;
    const facts = { ...observed, at: written, isOvertaken, ...podsAt(written, findAmong(observed)) };
    // A laxer CRD than ours may have dropped a part of it; what follows rests on what is stored.
    const isStored = !asLock || statusPatch(written, status) === undefined;
    return { next: isStored ? 'goOn' : 'decide', facts };
  }

  #patch({ metadata }: At, body: StatusBody<object>, signal: AbortSignal): Promise<At> {
    const { namespace = '', name } = metadata;
    return this.#options.client.patchStatus(ats, { namespace, name }, { type: 'merge', body }, { signal });
  }

  /**
   * The At where it has the status of a write whose answer is lost, so that what follows the write is not lost with it, and
   * the At can be read at once. Another replica that has written the same does the same after it.
   */
  async #stored(at: At, status: AtStatus, signal: AbortSignal): Promise<ReadAt | undefined> {
    const { client, memory } = this.#options;
    const { namespace = '', name, uid } = at.metadata;
    let live: At | undefined;
    try {
      live = await found(client.get(ats, { namespace, name }, { signal, timeout: readTimeoutMs }));
    } catch {
      return undefined;
    }
    // From now on nothing rests on an older one.
    memory.shown(at, live);
    if (live === undefined || live.metadata.uid !== uid) return undefined;
    return statusPatch(live, status) === undefined ? withLastEdit(sanitize(live)) : undefined;
  }

  /** @throws the error where it is not known what became of the write, or it is to be tried again. */
  #failed(
    error: unknown,
    observed: Observed,
    write: FailedWrite & { readonly key: string; readonly asLock: boolean },
  ): Answer<Observed> {
    if (!isConflict(error) && !isProvenNotFound(error)) return this.#refused(error, observed, write);
    this.forget(write.key);
    // What a write had to precede must not be decided from the same version of the At once more.
    if (write.asLock) this.#options.memory.overtaken(observed.at);
    return { next: 'end', result: { requeueAfter: conflictDelayMs } };
  }

  /** @throws the error, unless it says that the status is not valid. */
  #refused(error: unknown, observed: Observed, { failedAt, log }: FailedWrite): Answer<Observed> {
    const { clock, memory } = this.#options;
    const { at } = observed;
    // A launch may wait for this status, or a release.
    if (isDue(at, clock.now())) memory.heldUp(at, failedAt);
    if (isGated(observed.pod)) memory.unreleased(at, failedAt);
    if (!isInvalid(error)) throw error;
    const unwritable = memory.unwritable(at);
    // Each further try finds the same, until a user mends the At.
    const level = unwritable === 1 ? 'error' : 'debug';
    log[level](
      { err: errorFields(error) },
      'the status cannot be written: the API server finds it not valid',
    );
    return { next: 'decide', facts: { ...observed, unwritable } };
  }

  /** Milliseconds for which a status waits that says why a due At has no Pod. */
  #paceOf(key: string, at: At, status: AtStatus): number {
    if (!isRefused({ ...at, status }) || isRefusedFor(at, status.reason)) {
      return 0;
    }
    return this.#pace.wait(key, `${at.metadata.namespace}/${status.reason}`, this.#options.clock.monotonic());
  }
}
