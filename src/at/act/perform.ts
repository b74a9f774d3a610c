/**
 * Perform: the actions of a decision, one request each. What an answer means for the At is not decided here:
 * it goes into memory and into what the next decision sees.
 */
import type { At } from '../../api/at.generated.ts';
import { atAnnotation } from '../../api/at-constants.ts';
import { ats } from '../../api/resources.ts';
import { type Pod, pods } from '../../kubernetes/objects.ts';
import { isAlreadyExists, TransportError } from '../../runtime/client/api-error.ts';
import type { Client, JsonPatchOperation, ObjectKey } from '../../runtime/client/client.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type ReconcileContext, RetryError } from '../../runtime/controller/reconciler.ts';
import { describeError } from '../../runtime/error-chain.ts';
import {
  type Action,
  type CreatePod,
  type DryRunPod,
  type Observed,
  retryPriority,
} from '../decide/decision.ts';
import { releaseOperations, untrackOperations } from '../decide/exactly-once.ts';
import { findAmong, isGated, isOurs, podNames, podsAt } from '../facts/own-pod.ts';
import { podUidLabel } from '../plan/pod.ts';
import { runOf } from '../plan/run.ts';
import { sound } from '../plan/sound.ts';
import type { AuthorCheck, Authorization } from './author-check.ts';
import { delayAfter, isTestFailed, mayHaveHappened, mostDelay } from './create-answer.ts';
import { CreateFailures } from './create-failure.ts';
import { dryRun } from './dry-run.ts';
import type { LaunchTurns } from './launch-turns.ts';
import type { Memory } from './memory.ts';
import { withoutLiterals } from './redact.ts';
import { conflictDelay, found, goOn, type Performed, settled } from './settle.ts';

/** Longest wait before a create without an answer is tried again, in milliseconds. */
export const mostDelayWithoutAnswer = 2000;
/** For a read that a launch waits for, in milliseconds. */
const readTimeout = 5000;

export interface PerformerOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly memory: Memory;
  readonly turns: LaunchTurns;
  /** Absent: any author's Ats run. */
  readonly authorCheck?: AuthorCheck;
  /** Told what the API server says against the Pod of an At that is not due yet. */
  readonly onRefusedDryRun: (at: At, message: string) => void;
}

export class Performer {
  readonly #options: PerformerOptions;
  readonly #failures: CreateFailures;

  constructor(options: PerformerOptions) {
    this.#options = options;
    this.#failures = new CreateFailures(options);
  }

  /** @throws {RetryError} when the outcome of a create is unknown; other errors as the client's. */
  perform(action: Action, observed: Observed, context: ReconcileContext): Promise<Performed> {
    const { client } = this.#options;
    const { signal } = context;
    switch (action.type) {
      case 'ReadLive':
        return this.#readLive(observed, action.pods, signal);
      case 'CreatePod':
        return this.#create(action, observed, context);
      case 'DryRunPod':
        return this.#dryRun(action, observed, signal);
      case 'PatchPod': {
        const patch = { type: 'merge', body: action.body } as const;
        return settled(client.patch(pods, action, patch, { signal }));
      }
      case 'ReleasePod':
        return this.#edit(action.pod, releaseOperations(action.pod), signal);
      case 'UntrackPod':
        return this.#edit(action.pod, untrackOperations(action.pod), signal);
      case 'DeletePod': {
        const { uid, resourceVersion } = action;
        const preconditions = resourceVersion === undefined ? { uid } : { uid, resourceVersion };
        return settled(client.delete(pods, action, { ...preconditions, signal }));
      }
      case 'DeleteAt': {
        const { uid, resourceVersion } = action;
        const options = { uid, resourceVersion, propagationPolicy: 'Background', signal } as const;
        return settled(client.delete(ats, action, options));
      }
    }
  }

  async #edit(
    { metadata }: Pod,
    operations: readonly JsonPatchOperation[],
    signal: AbortSignal,
  ): Promise<Performed> {
    const { namespace = '', name } = metadata;
    const write = this.#options.client.patch(
      pods,
      { namespace, name },
      { type: 'json', operations },
      { signal },
    );
    return settled(write, isTestFailed);
  }

  /**
   * Takes the finalizer off Pods that it holds for an At of this name which is gone: what became of them will not be
   * recorded. A name has one At at a time, so the one that has it, or that none has, shows which are gone.
   */
  async letGo(key: ObjectKey, orphans: readonly Pod[], { signal }: ReconcileContext): Promise<void> {
    const options = { signal, timeout: readTimeout };
    const at = await found(this.#options.client.get(ats, key, options));
    const gone = orphans.filter(({ metadata }) => metadata.labels?.[podUidLabel] !== at?.metadata.uid);
    for (const pod of gone) {
      await this.#edit(pod, untrackOperations(pod), signal);
    }
  }

  /** The truth, for a decision that must not rest on a cache. An At that is gone or another ends the pass. */
  async #readLive(observed: Observed, withPods: boolean, signal: AbortSignal): Promise<Performed> {
    const { client, clock, memory } = this.#options;
    const { namespace = '', name, uid } = observed.at.metadata;
    const options = { signal, timeout: readTimeout };
    const answer = await found(client.get(ats, { namespace, name }, options));
    const at = answer && sound(answer);
    memory.read(observed.at, at);
    if (at === undefined || at.metadata.uid !== uid) {
      return { next: 'end', result: { requeueAfter: conflictDelay } };
    }
    const read = async (podName: string | undefined): Promise<Pod | undefined> =>
      podName === undefined ? undefined : found(client.get(pods, { namespace, name: podName }, options));
    const { current, next } = podNames(at);
    const live: Partial<Pick<Observed, 'pod' | 'nextPod'>> = withPods
      ? { pod: await read(current), nextPod: await read(next) }
      : {};
    const seen = { ...podsAt(at, findAmong(observed)), ...live };
    const known = { ...observed, at, ...seen, live: true, now: clock.now() };
    // Neither a create without an answer has made that Pod, nor does a cache that is behind show more of it. The next
    // look comes later each time.
    const isInVain =
      (observed.ambiguous === true || observed.behind === true) &&
      [live.pod, live.nextPod].some((pod) => pod !== undefined && !isOurs(known, pod));
    const retryDelay = isInVain ? delayAfter(memory.lookedInVain(observed.at)) : observed.retryDelay;
    return { next: 'decide', observed: { ...known, retryDelay } };
  }

  async #create(
    action: CreatePod,
    observed: Observed,
    { signal, log }: ReconcileContext,
  ): Promise<Performed> {
    const { attempt } = action;
    const { client, clock, memory } = this.#options;
    const { at } = observed;
    const wait = this.#failures.wait(at);
    if (wait !== undefined) return this.#failures.hold(observed, wait);
    const authorization = await this.#authorize(at, signal);
    if ('refusal' in authorization) {
      return this.#failures.hold(observed, this.#failures.notAuthorized(at, authorization.refusal));
    }
    const pod = withAuthor(action.pod, authorization);
    try {
      const { metadata } = await client.create(pods, pod, { signal });
      this.#failures.succeeded(at);
      if (isGated(pod)) {
        // Crash window: the Pod exists, and starts nothing before status records it.
        memory.created(at);
        return goOn;
      }
      // Crash window: the Pod exists and only this process knows; the next one finds it by its name.
      const launch = { attempt, podName: metadata.name, podUID: metadata.uid ?? '', launchTime: clock.now() };
      const { launchedSpec, scheduledTime } = runOf(at, pod);
      memory.launched(at, { ...launch, launchedSpec, scheduledTime });
      return goOn;
    } catch (caught) {
      const error = withoutLiterals(caught, pod);
      if (isAlreadyExists(error)) return this.#lookAtExisting(observed, signal);
      const failed = this.#failures.failed(at, error, pod.metadata.name, log);
      if (failed === undefined) throw this.#retryError(error, observed, pod);
      return this.#failures.hold(observed, failed);
    }
  }

  #retryError(error: unknown, { ambiguous }: Observed, { metadata }: Pod): RetryError {
    const hasAnswered = !(error instanceof TransportError);
    // Failed again by a server that answers, such as for a webhook that is down: it waits as one that was refused.
    const isRepeated = hasAnswered && mayHaveHappened(error) && ambiguous === true;
    const delay = hasAnswered ? mostDelay : mostDelayWithoutAnswer;
    const options = { cause: error, priority: isRepeated ? retryPriority : undefined };
    return new RetryError(`Pod ${metadata.name} could not be created`, delay, options);
  }

  async #dryRun({ pod }: DryRunPod, observed: Observed, signal: AbortSignal): Promise<Performed> {
    const { client, clock, memory, onRefusedDryRun } = this.#options;
    memory.tried(observed.at);
    const { warning, rejection } = await dryRun(client, pod, signal);
    if (warning !== undefined) onRefusedDryRun(observed.at, warning);
    return rejection === undefined
      ? goOn
      : { next: 'decide', observed: { ...observed, untried: false, rejection, now: clock.now() } };
  }

  /** Who may run the At, or why it must not run. An error is no answer, and the At waits. */
  async #authorize(at: At, signal: AbortSignal): Promise<Authorization | { readonly username?: undefined }> {
    const { authorCheck } = this.#options;
    if (authorCheck === undefined) return {};
    try {
      return await authorCheck.authorize(at, signal);
    } catch (error) {
      return { refusal: `it is not known whether its author may create Pods: ${describeError(error)}` };
    }
  }

  /** A Pod of that name is there: another replica's of this At, or a stranger's, whose end is waited for. */
  #lookAtExisting(observed: Observed, signal: AbortSignal): Promise<Performed> {
    this.#failures.forget(observed.at);
    const retryDelay = delayAfter(this.#options.memory.refused(observed.at));
    return this.#readLive({ ...observed, retryDelay }, true, signal);
  }
}

/** The Pod with the name of the user who asked for it; the rest of what is recorded is not for all who may read Pods. */
function withAuthor(pod: Pod, { username }: { readonly username?: string | undefined }): Pod {
  if (username === undefined) return pod;
  const { metadata } = pod;
  const annotations = { ...metadata.annotations, [atAnnotation.author]: username };
  return { ...pod, metadata: { ...metadata, annotations } };
}
