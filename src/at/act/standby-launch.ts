/**
 * Standby launch: one At, launched by a process that does not lead. It reads the At from the API server, decides by the
 * whole rule, and performs what belongs to a launch: the create, and under ExactlyOnce the record and the release. All
 * else that the decision asks for is left to the leader.
 */
import type { At, AtStatus } from '../../api/at.generated.ts';
import { atPhase } from '../../api/at-constants.ts';
import { DecidingReconciler } from '../../runtime/controller/deciding-reconciler.ts';
import type { Answer } from '../../runtime/controller/decision.ts';
import {
  type ReconcileContext,
  type Request,
  type Result,
  requestKey,
} from '../../runtime/controller/reconciler.ts';
import { decide } from '../decide/decide.ts';
import type { Effect, Need, Observed } from '../decide/decision.ts';
import { podsAt } from '../facts/own-pod.ts';
import { isExactlyOnce } from '../plan/run.ts';
import { Actuator } from './actuator.ts';
import type { AtParts } from './at-parts.ts';
import { maxDelayMs } from './create-answer.ts';
import { readLive } from './live-read.ts';

/** First wait before a create that was refused is tried again, in milliseconds. */
const firstRetryDelayMs = 250;
/** A read that took longer is not relied on, in milliseconds: as long as a leader may write after a renewal. */
const maxReadMs = 10_000;
/** So many launches are remembered, the newest. A leader records them long before there are as many. */
const maxRemembered = 100_000;

export class StandbyLaunch {
  readonly #options;
  readonly #actuator: Actuator;
  readonly #pass: DecidingReconciler<Observed, Need, Effect>;
  /** uids of the Ats whose Pod was created here. */
  readonly #launched = new Set<string>();

  /** @param options its client sends nothing but launches. */
  constructor(options: Omit<AtParts, 'recorder' | 'onDryRun' | 'onStatus'>) {
    this.#options = options;
    // Events are writes, and belong to the leader.
    const recorder = { record() {} };
    const actuator = new Actuator({ ...options, recorder });
    this.#actuator = actuator;
    this.#pass = new DecidingReconciler({
      observe: (request, context) => this.#observe(request, context),
      decide,
      read: (need, observed, context) => actuator.read(need, observed, context),
      perform: (effect, observed, context) => this.#perform(effect, observed, context),
    });
  }

  /** Whether this process has created the Pod of the At with this uid. */
  hasLaunched(uid: string): boolean {
    return this.#launched.has(uid);
  }

  /** The At is launchable no more. That its Pod was created here is remembered. */
  forget({ metadata }: At): void {
    const key = requestKey({ namespace: metadata.namespace ?? '', name: metadata.name });
    const { memory, turns } = this.#options;
    for (const kept of [memory, this.#actuator, turns]) kept.forget(key);
  }

  /** Nothing is launched from now on. */
  stop(): void {
    this.#options.turns.stop();
  }

  /** @throws as a reconcile does: the outcome of the create is unknown. */
  async launch(at: At, context: ReconcileContext): Promise<Result> {
    const { namespace = '', name } = at.metadata;
    const request = { namespace, name };
    const isCreated = this.hasLaunched(at.metadata.uid ?? '');
    // Not even read: there may be thousands of which one asks for all.
    const waitMs = isCreated ? undefined : this.#actuator.waitMs(at);
    if (waitMs !== undefined) return { requeueAfter: waitMs };
    const result = await this.#pass.reconcile(request, context);
    // The Pod waits for its record and its release.
    return this.hasLaunched(at.metadata.uid ?? '') && isExactlyOnce(at)
      ? this.#pass.reconcile(request, context)
      : result;
  }

  /** The At as the API server shows it, and where its create may have taken effect, its Pod. */
  async #observe({ namespace, name }: Request, { signal }: ReconcileContext): Promise<Observed | undefined> {
    const { ats, pods, clock, departed, tracks, defaults, memory } = this.#options;
    const at = ats.get(namespace, name);
    if (at === undefined) return undefined;
    const observed: Observed = {
      at,
      ...podsAt(at, (podName) => pods.get(namespace, podName)),
      departed: departed.of(at),
      now: clock.now(),
      live: false,
      tracks,
      ...(defaults && { defaults }),
      retryDelay: firstRetryDelayMs,
      ...memory.recall(at),
    };
    const need = observed.ambiguous === true || this.hasLaunched(at.metadata.uid ?? '') ? 'pods' : 'at';
    const askedAt = clock.monotonic();
    const answer = await readLive(this.#options, need, observed, signal);
    // No lease says that this process has not been stopped meanwhile, and the At suspended.
    const isFresh = clock.monotonic() - askedAt < maxReadMs;
    return answer.next === 'decide' && isFresh ? answer.facts : undefined;
  }

  async #perform(effect: Effect, observed: Observed, context: ReconcileContext): Promise<Answer<Observed>> {
    if (!belongsToLaunch(effect, observed)) {
      // Only the leader goes on. Thousands that are read over and over meanwhile would hold up the launches.
      const leastMs = observed.refusal === undefined ? maxDelayMs : 0;
      return { next: 'end', result: { requeueAfter: Math.max(observed.retryDelay, leastMs) } };
    }
    const answer = await this.#actuator.perform(effect, observed, context);
    if (effect.type === 'CreatePod' && answer.next === 'goOn') this.#remember(observed.at);
    return answer;
  }

  #remember({ metadata }: At): void {
    this.#launched.add(metadata.uid ?? '');
    const [oldest] = this.#launched;
    if (this.#launched.size > maxRemembered && oldest !== undefined) this.#launched.delete(oldest);
  }
}

/** Whether a standby may do it. */
function belongsToLaunch(effect: Effect, { at }: Observed): boolean {
  switch (effect.type) {
    case 'CreatePod':
      return effect.attempt === 1;
    case 'WriteStatus':
      return isExactlyOnce(at) && effect.asLock && isFirstRecord(effect.status, at);
    case 'ReleasePod':
    case 'RecordEvents':
      return true;
    default:
      return false;
  }
}

function isFirstRecord(status: AtStatus, at: At): boolean {
  return status.phase === atPhase.running && at.status?.podUID === undefined;
}
