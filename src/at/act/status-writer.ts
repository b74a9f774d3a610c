/** StatusWriter: writes the status of an At against the version that was decided on, and at a pace where many wait. */
import type { At, AtStatus } from '../../api/at.generated.ts';
import { ats } from '../../api/resources.ts';
import {
  ApiError,
  isConflict,
  isInvalid,
  isProvenNotFound,
  TransportError,
} from '../../runtime/client/api-error.ts';
import type { StatusBody } from '../../runtime/client/patch.ts';
import { isStatusError } from '../../runtime/client/response-error.ts';
import type { Answer } from '../../runtime/controller/decision.ts';
import { type ReconcileContext, requestKey } from '../../runtime/controller/reconciler.ts';
import { Rewrites } from '../../runtime/controller/rewrites.ts';
import { errorFields, type Logger } from '../../runtime/logger.ts';
import { type ReadAt, withLastEdit } from '../facts/last-edit.ts';
import type { Observed } from '../facts/observed.ts';
import { findAmong, isGated, podsAt } from '../facts/own-pod.ts';
import { retryPriority } from '../facts/queue-priority.ts';
import { isDue } from '../plan/due.ts';
import { isRefused, isRefusedFor } from '../plan/phase.ts';
import { sanitize } from '../plan/sanitize.ts';
import type { AtParts } from './at-parts.ts';
import { failedForMs } from './create-answer.ts';
import { readTimeoutMs } from './live-read.ts';
import { conflictDelayMs, found } from './settle.ts';
import { StatusPace } from './status-pace.ts';
import { statusPatch } from './status-patch.ts';

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
      return { next: 'end', result: { requeueAfter: paused, priority: retryPriority } };
    }
    const sentAt = clock.monotonic();
    let written: ReadAt;
    try {
      written = withLastEdit(await this.#patch(at, status, body, signal));
    } catch (error) {
      if (isConflict(error) || isProvenNotFound(error)) {
        this.forget(key);
        // What a write had to precede must not be decided from the same version of the At once more.
        if (asLock) memory.overtaken(at);
        return { next: 'end', result: { requeueAfter: conflictDelayMs } };
      }
      return this.#refused(error, observed, sentAt, log);
    }
    this.forget(key);
    this.#rewrites.written(key, at.status, status, clock.monotonic());
    memory.written(at);
    onStatus?.(at, status);
    const facts = { ...observed, at: written, ...podsAt(written, findAmong(observed)) };
    // A laxer CRD than ours may have dropped a part of it; what follows rests on what is stored.
    const isStored = !asLock || statusPatch(written, status) === undefined;
    return { next: isStored ? 'goOn' : 'decide', facts };
  }

  /** Returns the At with the status. Where the answer is lost, what follows the write is not lost with it. */
  async #patch(at: At, status: AtStatus, body: StatusBody<object>, signal: AbortSignal): Promise<At> {
    const { namespace = '', name } = at.metadata;
    const patch = { type: 'merge', body } as const;
    try {
      return await this.#options.client.patchStatus(ats, { namespace, name }, patch, { signal });
    } catch (error) {
      const live = !signal.aborted && isUnanswered(error) ? await this.#live(at, signal) : undefined;
      if (live === undefined || statusPatch(live, status) !== undefined) throw error;
      return live;
    }
  }

  /** Undefined where it is gone, another one by now, or cannot be read. */
  async #live(at: At, signal: AbortSignal): Promise<At | undefined> {
    const { client, memory } = this.#options;
    const { namespace = '', name, uid } = at.metadata;
    try {
      const live = await found(client.get(ats, { namespace, name }, { signal, timeout: readTimeoutMs }));
      // From now on nothing rests on an older one.
      memory.read(at, live && sanitize(live));
      return live?.metadata.uid === uid ? live : undefined;
    } catch {
      return undefined;
    }
  }

  /** @throws the error, unless it says that the status is not valid. */
  #refused(error: unknown, observed: Observed, sentAt: number, log: Logger): Answer<Observed> {
    const { clock, memory } = this.#options;
    const { at } = observed;
    // A launch may wait for this status, or a release.
    const now = clock.now();
    const since = now - failedForMs(clock, sentAt);
    if (isDue(at, now)) memory.heldUp(at, since);
    if (isGated(observed.pod)) memory.unreleased(at, since);
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

/**
 * The API server may have done what it was asked: no answer has come from it, or that it has given up waiting. Another
 * failure of its own is told of a write that was not done.
 */
function isUnanswered(error: unknown): boolean {
  if (error instanceof TransportError) return error.sent;
  return error instanceof ApiError && (error.code === 504 || (error.code >= 500 && !isStatusError(error)));
}
