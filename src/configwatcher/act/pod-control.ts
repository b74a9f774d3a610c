/**
 * PodControl: performs restarting writes, each with the uid of the Pod it means, and returns what the API
 * server answered to each. One refusal or failure never keeps the others from being tried.
 */
import {
  ApiError,
  isConflict,
  isForbidden,
  isProvenNotFound,
  isTooManyRequests,
  TransportError,
} from '../../runtime/client/api-error.ts';
import type { Client } from '../../runtime/client/client.ts';
import { type Action, changesTemplate, uidOf } from '../decide/decision.ts';
import type { PodOutcome } from '../facts/restart-memory.ts';
import { restartWriteOf } from './restart-write.ts';
import type { RolloutRights } from './rollout-rights.ts';

/** Restarting requests in flight, of all watchers together. */
const inFlight = 32;

/** What an action that the API server takes has done. */
const resultOf = {
  EvictPod: 'Restarted',
  DeletePod: 'Restarted',
  RestartRollout: 'RolledOut',
  TakeBackRollout: 'TakenBack',
} as const satisfies Record<Action['type'], PodOutcome['result']>;

/** What the API server's answer says about the Pod. */
function answerOf(
  action: Action,
  error: ApiError,
): Omit<Extract<PodOutcome, { result: 'Refused' }>, 'uid' | 'result'> {
  const message = error.status.message ?? error.message;
  const retryAfter = error.retryAfter === undefined ? {} : { retryAfter: error.retryAfter };
  if (isTooManyRequests(error)) {
    const ofBudget = error.status.details?.causes?.find(({ reason }) => reason === 'DisruptionBudget');
    if (!ofBudget) return { cause: 'Overload', message, ...retryAfter };
    // The cause names the budget and what it needs; the message, that there is one.
    return { cause: 'Budget', message: ofBudget.message ?? message, ...retryAfter };
  }
  if (isConflict(error)) return { cause: 'Conflict', message };
  if (isForbidden(error) && isMissingRight(message))
    return { cause: 'Forbidden', message: restartWriteOf(action).right };
  // The eviction API cannot choose between budgets and never will; deleting instead would break them all.
  const several = error.code === 500 && message.includes('more than one PodDisruptionBudget');
  // Of an API server that is away, or a page of a proxy: it says nothing of the Pod, nor of the template.
  const isAway = [404, 502, 503, 504].includes(error.code);
  return { cause: several ? 'SeveralBudgets' : isAway ? 'NoAnswer' : 'Failure', message, ...retryAfter };
}

/**
 * Whether a 403 comes from the authorization, whose words are the same for every authorizer. Admission, and the
 * eviction API itself, use the same code for what no right would change; the words of a policy come after its name.
 */
function isMissingRight(message: string): boolean {
  return /^[^:]* is forbidden: User "[^"]*" cannot \S+ resource "/.test(message);
}

/**
 * Whether a 409 says that the Pod of this name is another one by now. The eviction API also answers 409 when too many
 * evictions under one budget get into each other's way; then the Pod is still there.
 */
function isOfAnotherPod(message: string): boolean {
  return /UID in (the )?precondition/.test(message);
}

/** What an error means for the Pod; undefined: the write never left this process. */
function outcomeOf(action: Action, error: unknown): PodOutcome | undefined {
  const uid = uidOf(action);
  if (isProvenNotFound(error)) return { uid, result: 'Gone' };
  if (error instanceof ApiError) {
    const answer = answerOf(action, error);
    const isGone = answer.cause === 'Conflict' && isOfAnotherPod(answer.message);
    return isGone ? { uid, result: 'Gone' } : { uid, result: 'Refused', ...answer };
  }
  if (!(error instanceof TransportError && error.sent)) return undefined;
  // The uid makes a second try harmless.
  return { uid, result: 'Refused', cause: 'NoAnswer', message: error.message };
}

export class PodControl {
  readonly #client: Client;
  readonly #rights: RolloutRights | undefined;
  readonly #waiting: (() => void)[] = [];
  #free = inFlight;

  /** @param rights learn from the answers to changes of templates. */
  constructor(client: Client, rights?: RolloutRights) {
    this.#client = client;
    this.#rights = rights;
  }

  /**
   * Never rejects: what was done counts, whatever happened to the rest.
   *
   * @param options `isWanted`, asked before each write: whether the batch is to go on. Default: it is.
   * @returns `outcomes`: one per action, in their order; undefined for those that were not wanted any more, or could not
   *   be sent. `unsent`: what kept a write from being sent at all: lost leadership, no connection, the end of the reconcile.
   */
  async perform(
    namespace: string,
    actions: readonly Action[],
    options: { readonly signal: AbortSignal; readonly isWanted?: () => boolean },
  ): Promise<{
    readonly outcomes: readonly (PodOutcome | undefined)[];
    readonly unsent?: { readonly reason: unknown };
  }> {
    const { signal, isWanted = () => true } = options;
    const outcomes: (PodOutcome | undefined)[] = actions.map(() => undefined);
    const rest = actions.entries();
    // Each of these asks for its turn before every write, so a batch of thousands has no more of them
    // in the line than one of a few dozen has.
    const lane = async () => {
      for (const [index, action] of rest) {
        outcomes[index] = await this.#inTurn(async () =>
          isWanted() ? this.#performOne(namespace, action, signal) : undefined,
        );
      }
    };
    const lanes = Array.from({ length: Math.min(inFlight, actions.length) }, lane);
    const unsent = (await Promise.allSettled(lanes)).find(({ status }) => status === 'rejected');
    return unsent?.status === 'rejected' ? { outcomes, unsent } : { outcomes };
  }

  async #performOne(namespace: string, action: Action, signal: AbortSignal): Promise<PodOutcome> {
    // Nothing of the batch begins once the reconcile is over: its leader may be another process by now.
    signal.throwIfAborted();
    const outcome = await this.#send(namespace, action, signal);
    if (changesTemplate(action)) this.#rights?.learn(namespace, outcome);
    return outcome;
  }

  async #send(namespace: string, action: Action, signal: AbortSignal): Promise<PodOutcome> {
    const uid = uidOf(action);
    try {
      await restartWriteOf(action).send(this.#client, namespace, signal);
      return { uid, result: resultOf[action.type] };
    } catch (error) {
      const known = outcomeOf(action, error);
      if (known) return known;
      throw error;
    }
  }

  async #inTurn<T>(call: () => Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#free--;
    try {
      return await call();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}
