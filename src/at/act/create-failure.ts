/**
 * Create failure: what the failed create of a Pod says of the reason for which its At has none, which other Ats of
 * the namespace fail alike, and when the At tries again.
 */
import type { At } from '../../api/at.generated.ts';
import { atReason } from '../../api/at-constants.ts';
import type { Pod } from '../../kubernetes/objects.ts';
import { ApiError, isInvalid, TransportError } from '../../runtime/client/api-error.ts';
import type { Answer } from '../../runtime/controller/decision.ts';
import { requestKey } from '../../runtime/controller/reconciler.ts';
import { describeError } from '../../runtime/error-chain.ts';
import { errorFields, type Logger } from '../../runtime/logger.ts';
import type { Observed } from '../facts/observed.ts';
import { retryPriority } from '../facts/queue-priority.ts';
import type { Cause } from '../plan/cause.ts';
import { isDue } from '../plan/due.ts';
import type { AtParts } from './at-parts.ts';
import {
  addedField,
  delayAfter,
  failedForMs,
  isInvalidPod,
  isRefusal,
  maxDelayMs,
  maxUnansweredDelayMs,
  mayHaveHappened,
} from './create-answer.ts';
import type { Candidate, Wait } from './launch-turns.ts';

/** From when the first that failed for its cause was sent, a create without a definite answer is reported. */
const tellAfterMs = 2000;

export class CreateFailures {
  readonly #options;

  constructor(options: Pick<AtParts, 'clock' | 'memory' | 'turns'>) {
    this.#options = options;
  }

  /** Undefined when the At may send its create now. */
  wait(at: At): Wait | undefined {
    const { clock, memory, turns } = this.#options;
    const own = memory.ownRefusal(at);
    if (own !== undefined) {
      const waitMs = own.retryAt - clock.monotonic();
      // It takes no place in the line of others, whose turns it has no use for.
      return waitMs > 0 ? { waitMs, failure: own.failure, since: Number.NEGATIVE_INFINITY } : undefined;
    }
    const wait = turns.ask(candidateOf(at));
    // What keeps others of its namespace from being created keeps this one as well.
    if (wait !== undefined) memory.waits(at, clock.now());
    return wait;
  }

  /** Nothing refused the create. */
  admitted(at: At): void {
    this.#options.turns.admitted(candidateOf(at).key);
  }

  /**
   * The create has failed. Undefined for what passes by itself, and for a create that was never sent.
   *
   * @param sentAt monotonic milliseconds.
   */
  failed(at: At, error: unknown, pod: Pod, sentAt: number, log: Logger): Wait | undefined {
    const { clock, memory, turns } = this.#options;
    const since = clock.monotonic() - this.#heldUp(at, sentAt);
    if (mayHaveHappened(error)) {
      memory.unanswered(at);
    }
    const waitMs = isRefusal(error) ? delayAfter(memory.refused(at)) : 0;
    const failure = failureOf(error, pod);
    if (failure === undefined) {
      return this.#turnedAway(at, error, since);
    }
    if (failure.reason === atReason.createFailed) {
      log.warn({ err: errorFields(error) }, 'the create of the Pod failed');
    }
    const { cause, isAnswered } = failure;
    if (cause === undefined) return this.#refusedAlone(at, failure, waitMs);
    memory.refusedFor(at, undefined);
    return turns.failed(candidateOf(at), cause, failure, { since, isAnswered });
  }

  /**
   * The read that a create waits for has failed. Undefined where no launch waits for it, and for a second read of the
   * same pass: without it nothing more can be decided.
   *
   * @param sentAt monotonic milliseconds.
   */
  unread({ at, refusal }: Observed, error: unknown, sentAt: number): Wait | undefined {
    const { clock, memory } = this.#options;
    const since = memory.unread(at, sentAt);
    const isUnanswered = error instanceof TransportError;
    if (refusal !== undefined || !isDue(at, clock.now()) || !(isUnanswered || error instanceof ApiError)) {
      return undefined;
    }
    const waitMs = Math.min(
      isUnanswered ? maxUnansweredDelayMs : maxDelayMs,
      delayAfter(memory.lookedInVain(at)),
    );
    // What a create has met says more; two sentences that take turns would be a write each.
    const reason = atReason.createFailed;
    const told = at.status?.reason === reason ? at.status.message : undefined;
    const message = told ?? `what there is of its Pod could not be read: ${describeError(error)}`;
    return { waitMs, failure: { reason, message }, since };
  }

  /** Returns for how many milliseconds the request has failed. */
  #heldUp(at: At, sentAt: number): number {
    const { clock, memory } = this.#options;
    const forMs = failedForMs(clock, sentAt);
    memory.heldUp(at, clock.now() - forMs);
    return forMs;
  }

  /**
   * Too many requests, a token that is over: passes without an edit, and is reported where it lasts. The client itself
   * has repeated the request until its time was over, which counts.
   *
   * @param sentAt monotonic milliseconds.
   */
  #turnedAway(at: At, error: unknown, sentAt: number): Wait | undefined {
    const { clock, memory } = this.#options;
    if (!(error instanceof ApiError)) {
      return undefined;
    }
    const since = memory.turnedAway(at, sentAt);
    if (clock.monotonic() - since < tellAfterMs) {
      return undefined;
    }
    const failure = { reason: atReason.createFailed, message: error.message };
    // It waits also where the status that tells this meets a conflict, or comes back as an event.
    return this.#refusedAlone(at, failure, Math.max(maxDelayMs, error.retryAfter ?? 0));
  }

  /** The author of the At may not create Pods, or it is not known whether: nothing was sent. */
  notSent(at: At, failure: Cause, sentAt: number): Wait {
    const { memory } = this.#options;
    this.#heldUp(at, sentAt);
    return this.#refusedAlone(at, failure, delayAfter(memory.refused(at)));
  }

  /** It says nothing of the others of its namespace: where this was their try, another one has it. */
  #refusedAlone(at: At, failure: Cause, waitMs: number): Wait {
    const { clock, memory, turns } = this.#options;
    turns.passOn(candidateOf(at).key);
    memory.refusedFor(at, { failure, retryAt: clock.monotonic() + waitMs });
    return { waitMs, failure, since: Number.NEGATIVE_INFINITY };
  }

  /** What the pass does about it. A failure that passes at once is not reported. */
  hold(observed: Observed, { waitMs, failure, since }: Wait): Answer<Observed> {
    const { clock } = this.#options;
    const { reason, message } = failure;
    const untold = reason === atReason.createFailed ? since + tellAfterMs - clock.monotonic() : 0;
    if (untold > 0) {
      return { next: 'end', result: { requeueAfter: Math.min(waitMs, untold), priority: retryPriority } };
    }
    const facts = { ...observed, refusal: { reason, message }, retryDelay: waitMs, now: clock.now() };
    return { next: 'decide', facts };
  }
}

/** As whom the At waits for its turn. */
function candidateOf({ metadata: { namespace = '', name, uid = '', generation = 1 } }: At): Candidate {
  return { key: requestKey({ namespace, name }), namespace, version: { uid, generation } };
}

/** `cause` names what fails alike for others; it is undefined for an answer about this Pod alone. */
function failureOf(error: unknown, pod: Pod) {
  if (isInvalidPod(error, pod)) {
    const { message } = error;
    return { reason: atReason.invalidTemplate, message, cause: undefined, isAnswered: true };
  }
  if (isRefusal(error)) {
    const { message } = error;
    const cause = causeOf(error) ?? addedField(error, pod);
    return { reason: atReason.podRejected, message, cause, isAnswered: true };
  }
  if (!mayHaveHappened(error)) {
    return undefined;
  }
  if (error instanceof ApiError) {
    const cause = causeOf(error) ?? `code ${error.code}`;
    return { reason: atReason.createFailed, message: error.message, cause, isAnswered: true };
  }
  const why = error instanceof TransportError ? `: ${error.message}` : '';
  const message = `the API server did not answer the create of Pod ${pod.metadata.name}${why}`;
  return { reason: atReason.createFailed, message, cause: 'no answer', isAnswered: false };
}

/** What the sentence of the API server names as the cause. */
const patterns: readonly RegExp[] = [
  /exceeded quota: ([^,]+), requested: ([^=,]+)/,
  /failed quota: ([^:]+):/,
  /(violates PodSecurity "[^"]*")/,
  /(failed calling webhook "[^"]*")/,
  /(admission webhook "[^"]*")/,
  /(ValidatingAdmissionPolicy '[^']*')/,
];

function causeOf(error: ApiError): string | undefined {
  for (const pattern of patterns) {
    const found = pattern.exec(error.message);
    if (found !== null) {
      return found.slice(1).join(' ');
    }
  }
  // What is not valid is so for its own template.
  return isInvalid(error) || error.code === 400 ? undefined : `${error.code} ${error.reason}`.trimEnd();
}
