/**
 * PodControl: performs restarting writes, each with the uid of the Pod it means, and returns what the API
 * server answered to each. One refusal or failure never keeps the others from being tried.
 */
import { pods } from '../../kubernetes/objects.ts';
import {
  ApiError,
  isConflict,
  isForbidden,
  isNotFound,
  isTooManyRequests,
  TransportError,
} from '../../runtime/client/api-error.ts';
import type { Client } from '../../runtime/client/client.ts';
import type { Action } from '../decide/observed.ts';
import type { PodOutcome } from '../decide/restart-memory.ts';
import { workloadOf } from '../facts/workload.ts';
import type { RolloutRights } from './rollout-rights.ts';

/** Restarting requests in flight, of all watchers together. */
const inFlight = 32;

type Refused = Extract<PodOutcome, { result: 'Refused' }>;

/** uid of what the action is about. */
function uidOf(action: Action): string {
  return action.type === 'RestartRollout' ? action.owner.uid : action.pod.uid;
}

/** The right an action takes, as RBAC names it. */
function rightFor(action: Action): string {
  switch (action.type) {
    case 'EvictPod':
      return 'create pods/eviction';
    case 'DeletePod':
      return 'delete pods';
    case 'RestartRollout':
      return `patch ${workloadOf(action.owner)?.plural ?? action.owner.kind}`;
  }
}

/** What the API server's answer says about the Pod. */
function answerOf(action: Action, error: ApiError): Pick<Refused, 'cause' | 'message' | 'retryAfter'> {
  const message = error.status.message ?? error.message;
  const retryAfter = error.retryAfter === undefined ? {} : { retryAfter: error.retryAfter };
  if (isTooManyRequests(error)) {
    const ofBudget = error.status.details?.causes?.find(({ reason }) => reason === 'DisruptionBudget');
    if (!ofBudget) return { cause: 'Overload', message, ...retryAfter };
    // The cause names the budget and what it needs; the message, that there is one.
    return { cause: 'Budget', message: ofBudget.message ?? message, ...retryAfter };
  }
  if (isConflict(error)) return { cause: 'Conflict', message };
  if (isForbidden(error) && isMissingRight(message)) return { cause: 'Forbidden', message: rightFor(action) };
  // The eviction API cannot choose between budgets and never will; deleting instead would break them all.
  const several = error.code === 500 && message.includes('more than one PodDisruptionBudget');
  // Of an API server that is away: it says nothing of the Pod, nor of the template.
  const isAway = [502, 503, 504].includes(error.code);
  return { cause: several ? 'SeveralBudgets' : isAway ? 'NoAnswer' : 'Failure', message, ...retryAfter };
}

/**
 * Whether a 403 comes from the authorization, whose words are the same for every authorizer. Admission, and the
 * eviction API itself, use the same code for what no right would change.
 */
function isMissingRight(message: string): boolean {
  return / cannot \S+ resource /.test(message);
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
  if (isNotFound(error)) return { uid, result: 'Gone' };
  if (error instanceof ApiError) {
    const answer = answerOf(action, error);
    const isGone = answer.cause === 'Conflict' && isOfAnotherPod(answer.message);
    return isGone ? { uid, result: 'Gone' } : { uid, result: 'Refused', ...answer };
  }
  if (!(error instanceof TransportError && error.sent)) return undefined;
  // The uid makes a second try harmless.
  return { uid, result: 'Refused', cause: 'NoAnswer', message: error.message };
}

export interface PerformOptions {
  readonly signal: AbortSignal;
  /** Asked before each write: whether the batch is to go on. Default: it is. */
  readonly isWanted?: () => boolean;
}

export interface Performed {
  /** One per action, in their order; undefined for those that were not wanted any more, or could not be sent. */
  readonly outcomes: readonly (PodOutcome | undefined)[];
  /** What kept a write from being sent at all: lost leadership, no connection, the end of the reconcile. */
  readonly unsent?: { readonly reason: unknown };
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

  /** Never rejects: what was done counts, whatever happened to the rest. */
  async perform(
    namespace: string,
    actions: readonly Action[],
    { signal, isWanted = () => true }: PerformOptions,
  ): Promise<Performed> {
    const outcomes: (PodOutcome | undefined)[] = actions.map(() => undefined);
    const rest = actions.entries();
    // Each of these asks for its turn anew for every write, so a batch of thousands has no more of them
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
    const outcome = await this.#send(namespace, action, signal).catch((error) => {
      const known = outcomeOf(action, error);
      if (known) return known;
      throw error;
    });
    if (action.type === 'RestartRollout') this.#rights?.learn(namespace, outcome);
    return outcome;
  }

  async #send(namespace: string, action: Action, signal: AbortSignal): Promise<PodOutcome> {
    switch (action.type) {
      case 'EvictPod': {
        const { name, uid } = action.pod;
        await this.#client.evict({ namespace, name }, { uid, signal });
        return { uid, result: 'Restarted' };
      }
      case 'DeletePod': {
        const { name, uid } = action.pod;
        await this.#client.delete(pods, { namespace, name }, { uid, signal });
        return { uid, result: 'Restarted' };
      }
      case 'RestartRollout': {
        const { owner, version, annotations } = action;
        const resource = workloadOf(owner);
        if (!resource) throw new TypeError(`${owner.kind} ${owner.name} has no rollout to restart`);
        // The uid cannot be changed, so a workload that was made anew refuses the patch (422). The version
        // keeps out the late write of an operator that believes it leads: it would undo the change that
        // another one has made for a later content, and restart all Pods for the earlier one.
        const metadata = { uid: owner.uid, ...(version !== undefined && { resourceVersion: version }) };
        const body = { metadata, spec: { template: { metadata: { annotations } } } };
        const key = { namespace, name: owner.name };
        await this.#client.patch(resource, key, { type: 'merge', body }, { signal });
        return { uid: owner.uid, result: 'RolledOut' };
      }
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
