/**
 * Standby launch: one At, launched by a process that does not lead. It reads the At from the API server, decides by the
 * whole rule, and performs what belongs to a launch: the create, and under ExactlyOnce the record and the release. All
 * else that the decision asks for is left to the leader.
 */
import type { At, AtStatus } from '../../api/at.generated.ts';
import { atPhase } from '../../api/at-constants.ts';
import type { Informer } from '../../runtime/cache/informer.ts';
import { DecidingReconciler } from '../../runtime/controller/deciding-reconciler.ts';
import type { Answer } from '../../runtime/controller/decision.ts';
import {
  type ReconcileContext,
  type Request,
  type Result,
  requestFor,
  requestKey,
} from '../../runtime/controller/reconciler.ts';
import { decide } from '../decide/decide.ts';
import type { Effect } from '../decide/decision.ts';
import type { Need, Observed } from '../facts/observed.ts';
import { phaseOf } from '../plan/phase.ts';
import { isExactlyOnce } from '../plan/run.ts';
import { Actuator } from './actuator.ts';
import { factsOf } from './at-facts.ts';
import type { AtParts } from './at-parts.ts';
import { maxDelayMs } from './create-answer.ts';
import { readLive } from './live-read.ts';
import { ReadAhead } from './read-ahead.ts';

/** A read that took longer is not relied on: as long as a leader may write after a renewal. */
const maxReadMs = 10_000;

export class StandbyLaunch {
  readonly #options;
  readonly #actuator: Actuator;
  readonly #ahead: ReadAhead;
  readonly #pass: DecidingReconciler<Observed, Need, Effect>;
  /** uids of the Ats whose Pod was created here, and that are not DONE. */
  readonly #launched = new Set<string>();
  readonly #removeHandler: () => void;

  /** @param options the client sends nothing but launches; `atInformer` shows when what was launched here is over. */
  constructor(
    options: Omit<AtParts, 'recorder' | 'onDryRun' | 'onStatus'> & {
      readonly atInformer: Pick<Informer<At>, 'addHandler'>;
    },
  ) {
    this.#options = options;
    // Events are writes, and belong to the leader.
    const recorder = { record() {} };
    const actuator = new Actuator({ ...options, recorder });
    this.#actuator = actuator;
    this.#ahead = new ReadAhead(options);
    this.#pass = new DecidingReconciler({
      observe: (request, context) => this.#observe(request, context),
      decide,
      read: (need, observed, context) => actuator.read(need, observed, context),
      perform: (effect, observed, context) => this.#perform(effect, observed, context),
    });
    this.#removeHandler = options.atInformer.addHandler({
      onUpdate: (_previous, at) => phaseOf(at) === atPhase.done && this.#settle(at),
      onDelete: (at) => this.#settle(at),
    });
  }

  /** Whether this process has created the Pod of the At with this uid, which is not DONE. */
  hasLaunched(uid: string): boolean {
    return this.#launched.has(uid);
  }

  /**
   * The At is launchable no more. Which Pod was created here, or seen by a read, is remembered: a leader that finds the
   * Pod gone and nothing recorded does not create it a second time.
   */
  forget(at: At): void {
    const key = requestKey(requestFor(at));
    this.#actuator.forget(key);
    const { memory, turns } = this.#options;
    turns.forget(key);
    const isKnown = this.hasLaunched(at.metadata.uid ?? '') || memory.recall(at).launch !== undefined;
    if (!isKnown) memory.forget(key);
  }

  /** It is DONE, or gone. */
  #settle(at: At): void {
    this.#launched.delete(at.metadata.uid ?? '');
    this.#options.memory.forget(requestKey(requestFor(at)));
  }

  /** Nothing is launched from now on. What is remembered passes to the leader that this process becomes. */
  stop(): void {
    this.#removeHandler();
    this.#launched.clear();
    this.#ahead.clear();
    this.#options.turns.stop();
  }

  /** Whether Ats of this namespace are being read together. */
  isReading(namespace: string): boolean {
    return this.#ahead.isReading(namespace);
  }

  /** See {@link ReadAhead.read}. */
  readAhead(toLaunch: readonly At[], signal: AbortSignal): Promise<unknown> | undefined {
    return this.#ahead.read(toLaunch, signal);
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
    const { ats, clock } = this.#options;
    const at = ats.get(namespace, name);
    if (at === undefined) return undefined;
    const observed = factsOf(at, this.#options);
    const need = observed.ambiguous === true || this.hasLaunched(at.metadata.uid ?? '') ? 'pods' : 'at';
    const askedAt = clock.monotonic();
    const listed = this.#ahead.take(at);
    const answer = await readLive({ ...this.#options, listed }, need, observed, signal);
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

  #remember({ metadata: { namespace = '', name, uid = '' } }: At): void {
    // Of one that is gone by now, that is not shown a second time.
    if (this.#options.ats.get(namespace, name)?.metadata.uid === uid) this.#launched.add(uid);
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
