/**
 * Perform: the effects of a decision, mostly one request each. What an answer means for the At is not decided here:
 * it goes into memory and into what the next decision sees.
 */
import type { At } from '../../api/at.generated.ts';
import { atReason } from '../../api/at-constants.ts';
import { ats } from '../../api/resources.ts';
import { type Pod, pods } from '../../kubernetes/objects.ts';
import { parseTime } from '../../kubernetes/time.ts';
import { ApiError, isAlreadyExists } from '../../runtime/client/api-error.ts';
import type { Answer } from '../../runtime/controller/decision.ts';
import type { ReconcileContext } from '../../runtime/controller/reconciler.ts';
import { describeError } from '../../runtime/error-chain.ts';
import type { EventRecord } from '../../runtime/events/event-recorder.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Effect } from '../decide/decision.ts';
import { releaseOperations, untrackOperations } from '../decide/exactly-once.ts';
import { holdCondition, holdEvent } from '../decide/launch.ts';
import type { Need, Observed } from '../facts/observed.ts';
import { isGated } from '../facts/own-pod.ts';
import { retryPriority } from '../facts/queue-priority.ts';
import type { Cause } from '../plan/cause.ts';
import { runOf } from '../plan/run.ts';
import type { AtParts } from './at-parts.ts';
import { withAuthor } from './author-check.ts';
import { delayAfter, failedForMs, launchTimeOf, unknownOutcome } from './create-answer.ts';
import { CreateFailures } from './create-failure.ts';
import { dryRun } from './dry-run.ts';
import { HourlyEvents } from './hourly-events.ts';
import { readLive } from './live-read.ts';
import { editPod } from './pod-edit.ts';
import { redact } from './redact.ts';
import { settled } from './settle.ts';
import { StatusWriter } from './status-writer.ts';
import { timed } from './timed.ts';

export class Actuator {
  readonly #options;
  readonly #failures: CreateFailures;
  readonly #statuses: StatusWriter;
  readonly #hourly = new HourlyEvents();

  constructor(options: Omit<AtParts, 'ats' | 'pods' | 'tracks' | 'defaults'>) {
    this.#options = options;
    this.#failures = new CreateFailures(options);
    this.#statuses = new StatusWriter(options);
  }

  /** Nothing about this name matters any more. */
  forget(key: string): void {
    this.#statuses.forget(key);
  }

  /** Milliseconds until the turn of the At to send its create; undefined: now. */
  waitMs(at: At): number | undefined {
    return this.#failures.wait(at)?.waitMs;
  }

  /** @throws errors of the client, but for those that status is to tell. */
  async read(need: Need, observed: Observed, { signal }: ReconcileContext): Promise<Answer<Observed>> {
    const { clock, memory } = this.#options;
    const sentAt = clock.monotonic();
    try {
      return await timed(this.#options, observed, () => readLive(this.#options, need, observed, signal));
    } catch (error) {
      // A release may wait for it.
      if (isGated(observed.pod)) memory.unreleased(observed.at, clock.now() - failedForMs(clock, sentAt));
      const failed = signal.aborted ? undefined : this.#failures.unread(observed, error, sentAt);
      if (failed === undefined) throw error;
      return this.#failures.hold(observed, failed);
    }
  }

  /** @throws {RetryError} when the outcome of a create is unknown; other errors as the client's. */
  // Crash window before and after each effect: whatever is done by now, the next decision sees it.
  async perform(action: Effect, observed: Observed, context: ReconcileContext): Promise<Answer<Observed>> {
    const { client, memory } = this.#options;
    const { signal } = context;
    if (observed.isOvertaken && action.type !== 'RecordEvents') {
      return { next: 'decide', facts: { ...observed, isOvertaken: false } };
    }
    switch (action.type) {
      case 'WriteStatus':
        return this.#statuses.write(action.status, action.asLock, observed, context);
      case 'RecordEvents':
        this.#record(action.events, observed.at, context.log);
        return { next: 'goOn', facts: observed };
      case 'CreatePod':
        return this.#create(action.pod, action.attempt, observed, context);
      case 'DryRunPod':
        return this.#dryRun(action.pod, observed, signal);
      case 'QueueDryRun':
        memory.toTry(observed.at);
        return { next: 'goOn', facts: observed };
      case 'PatchPod':
        return this.#patchPod(action, observed, context);
      case 'ReleasePod':
        return this.#release(action.pod, observed, signal);
      case 'UntrackPod':
        return editPod(client, action.pod, untrackOperations(action.pod), { facts: observed, signal });
      case 'DeletePod': {
        const { uid, resourceVersion } = action;
        const preconditions = resourceVersion === undefined ? { uid } : { uid, resourceVersion };
        return settled(client.delete(pods, action, { ...preconditions, signal }), observed);
      }
      case 'DeleteAt': {
        const { uid, resourceVersion } = action;
        const options = { uid, resourceVersion, propagationPolicy: 'Background', signal } as const;
        return settled(client.delete(ats, action, options), observed);
      }
    }
  }

  /** @throws what the client does, once status tells of the stop that was refused. */
  async #patchPod(
    { namespace, name, body, ifRefused }: Extract<Effect, { type: 'PatchPod' }>,
    observed: Observed,
    context: ReconcileContext,
  ): Promise<Answer<Observed>> {
    const { signal } = context;
    const { client } = this.#options;
    // Crash window: without it, a cancel that is taken back meanwhile would be forgotten.
    const note = async () => {
      if (ifRefused !== undefined && !signal.aborted) {
        await this.#statuses.write(ifRefused, false, observed, context).catch(() => {});
      }
    };
    try {
      const patch = client.patch(pods, { namespace, name }, { type: 'merge', body }, { signal });
      const answer = await settled(patch, observed);
      if (answer.next === 'end') await note();
      return answer;
    } catch (error) {
      await note();
      throw error;
    }
  }

  async #release(pod: Pod, observed: Observed, signal: AbortSignal): Promise<Answer<Observed>> {
    const { client, clock, memory } = this.#options;
    const sentAt = clock.monotonic();
    try {
      const release = () => editPod(client, pod, releaseOperations(pod), { facts: observed, signal });
      return await timed(this.#options, observed, release);
    } catch (error) {
      memory.unreleased(observed.at, clock.now() - failedForMs(clock, sentAt));
      if (!(error instanceof ApiError)) throw error;
      const message = `Pod ${pod.metadata.name} waits for its release, which fails: ${error.message}`;
      const refusal = { reason: atReason.createFailed, message };
      const retryDelay = delayAfter(memory.refused(observed.at));
      return { next: 'decide', facts: { ...observed, refusal, retryDelay, now: clock.now() } };
    }
  }

  #record(events: readonly EventRecord[], at: At, log: Logger): void {
    const { clock, recorder } = this.#options;
    const now = clock.monotonic();
    const heldSince = parseTime(holdCondition(at)?.lastTransitionTime ?? '');
    const heldForMs = Number.isNaN(heldSince) ? 0 : Math.max(0, clock.now() - heldSince);
    for (const event of events.filter((one) => this.#hourly.take(at, one, now, heldForMs))) {
      recorder.record(ats, at, event);
      log[event.type === 'Warning' ? 'warn' : 'info']({ reason: event.reason }, event.note);
    }
  }

  async #create(
    made: Pod,
    attempt: number,
    observed: Observed,
    { signal, log }: ReconcileContext,
  ): Promise<Answer<Observed>> {
    const { client, clock, memory } = this.#options;
    const { at } = observed;
    const pausedMs = memory.gatedWaitMs(at, clock.monotonic());
    if (pausedMs > 0) return { next: 'end', result: { requeueAfter: pausedMs, priority: retryPriority } };
    const wait = this.#failures.wait(at);
    if (wait !== undefined) return this.#failures.hold(observed, wait);
    const askedAt = clock.monotonic();
    const authorization = await timed(this.#options, observed, () => this.#authorize(at, signal));
    if ('refusal' in authorization) {
      return this.#failures.hold(observed, this.#failures.notSent(at, authorization.refusal, askedAt));
    }
    const pod = withAuthor(made, authorization);
    const sentAt = clock.monotonic();
    try {
      const answer = await timed(this.#options, observed, () => client.create(pods, pod, { signal }));
      this.#failures.admitted(at);
      if (isGated(pod)) {
        // Crash window: the Pod exists, and starts nothing before status records it.
        memory.createdGated(at, clock.monotonic());
        return { next: 'goOn', facts: observed };
      }
      // Crash window: the Pod exists and only this process knows; the next one finds it by its name.
      const launchTime = launchTimeOf(answer, clock.now());
      const launch = {
        attempt,
        podName: answer.metadata.name,
        podUID: answer.metadata.uid ?? '',
        launchTime,
      };
      const { launchedSpec, scheduledTime, defaultImage } = runOf(at, pod);
      memory.launched(at, { ...launch, launchedSpec, scheduledTime, defaultImage });
      return { next: 'goOn', facts: observed };
    } catch (caught) {
      const error = redact(caught, pod);
      if (isAlreadyExists(error)) return this.#lookAtExisting(observed, signal);
      const failed = this.#failures.failed(at, error, pod, sentAt, log);
      if (failed === undefined) throw unknownOutcome(error, observed, pod);
      return this.#failures.hold(observed, failed);
    }
  }

  async #dryRun(pod: Pod, observed: Observed, signal: AbortSignal): Promise<Answer<Observed>> {
    const { client, clock, memory, recorder, onDryRun } = this.#options;
    memory.tried(observed.at);
    const { warning, preflight } = await dryRun(client, pod, signal);
    onDryRun?.(observed.at, preflight);
    if (warning !== undefined) recorder.record(ats, observed.at, holdEvent(atReason.podRejected, warning));
    return preflight?.rejection === undefined
      ? { next: 'goOn', facts: observed }
      : { next: 'decide', facts: { ...observed, untried: false, preflight, now: clock.now() } };
  }

  /** Who may run the At, or why it must not run. An error is no answer, for which the author is not to blame. */
  async #authorize(
    at: At,
    signal: AbortSignal,
  ): Promise<{ readonly username?: string } | { readonly refusal: Cause }> {
    const { authorCheck } = this.#options;
    if (authorCheck === undefined) return {};
    try {
      const answer = await authorCheck.authorize(at, signal);
      if ('username' in answer) return answer;
      return { refusal: { reason: atReason.notAuthorized, message: answer.refusal } };
    } catch (error) {
      const message = `it is not known whether its author may create Pods: ${describeError(error)}`;
      return { refusal: { reason: atReason.createFailed, message } };
    }
  }

  /**
   * A Pod of that name is there: another replica's of this At, or a stranger's, whose end is waited for. The create was
   * admitted, and found the name taken after that.
   */
  #lookAtExisting(observed: Observed, signal: AbortSignal): Promise<Answer<Observed>> {
    this.#failures.admitted(observed.at);
    this.#options.memory.answered(observed.at);
    return readLive(this.#options, 'pods', observed, signal);
  }
}
