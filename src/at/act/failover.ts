/**
 * Failover: launches by a standby. Between the death of a leader and the next one's start lie up to twenty seconds, in
 * which Ats fall due. A standby that has seen one launchable for a second, while no Pod of another At appeared, takes it
 * that no replica launches. The name of the Pod is the lock, so that it may be wrong.
 *
 * Times are monotonic milliseconds.
 */
import type { At } from '../../api/at.generated.ts';
import { ats } from '../../api/resources.ts';
import { controllerOf, type Pod } from '../../kubernetes/objects.ts';
import type { Informer } from '../../runtime/cache/informer.ts';
import type { Clock } from '../../runtime/clock.ts';
import { requestFor, requestKey } from '../../runtime/controller/reconciler.ts';
import type { Runnable } from '../../runtime/controller/runnable.ts';
import { describeError } from '../../runtime/error-chain.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { LaunchableAts } from '../facts/launchable-ats.ts';
import type { StandbyLaunch } from './standby-launch.ts';

/** Between two looks while an At is launchable. */
const lookMs = 100;
/** Between two looks while none is. */
const maxPauseMs = 1000;
/** Between two looks while none is near: one that a user creates wakes, and the others come near two minutes before. */
const idlePauseMs = 10_000;
/** As so much counts the time between two looks at most: a process that stood still has seen nothing meanwhile. */
const maxLookMs = 500;
/** Launches at a time. */
const maxLaunches = 16;
/** So long before the delay is over, Ats are read: a thousand of them take a quarter of a second. */
const readAheadMs = 300;
/** Wait after a launch that failed without an answer. */
const failedDelayMs = 2000;
/** Up to so much of the delay is added by chance: the standby that begins shows the others that they need not. */
const jitter = 0.2;

/** An At that is launchable. */
interface Candidate {
  readonly at: At;
  /** For how long it has been seen so, while no Pod of another At appeared. */
  seenMs: number;
  /** Not to be tried before. */
  retryAt: number;
  isTried: boolean;
}

export class Failover implements Runnable {
  readonly name = 'at-failover';
  readonly needsLeaderElection = false;
  readonly #options;
  readonly #delayMs: number;
  /** By uid. */
  readonly #candidates = new Map<string, Candidate>();
  /** What the last look has found, the first one last. */
  #line: Candidate[] = [];
  readonly #launches = new Set<Promise<void>>();
  #lookedAt = Number.NEGATIVE_INFINITY;
  #wake = () => {};

  constructor(options: {
    readonly clock: Clock;
    readonly log: Logger;
    readonly random: () => number;
    /** For how long an At has to be launchable. */
    readonly delayMs: number;
    readonly pods: Pick<Informer<Pod>, 'addHandler'>;
    /** Whether what is seen may be minutes old. */
    readonly isBlind: () => boolean;
    readonly launchable: LaunchableAts;
    readonly launch: StandbyLaunch;
    /** Whether this process leads, or has led. */
    readonly hasLed: () => boolean;
  }) {
    this.#options = options;
    this.#delayMs = options.delayMs * (1 + jitter * options.random());
  }

  async start(stop: AbortSignal, abort: AbortSignal): Promise<void> {
    const { pods, launchable, launch, hasLed } = this.#options;
    const remove = pods.addHandler({ onAdd: (pod, initial) => initial || this.#appeared(pod) });
    const onStop = () => this.#wake();
    stop.addEventListener('abort', onStop, { once: true });
    while (!stop.aborted && !hasLed()) {
      const pauseMs = this.#look(abort);
      await this.#pause(pauseMs);
    }
    stop.removeEventListener('abort', onStop);
    remove();
    this.#line = [];
    launchable.stop();
    await Promise.all(this.#launches);
    launch.stop();
  }

  /** Looks again at once. */
  wake(): void {
    this.#wake();
  }

  /** The turn of this At has come. */
  retry(key: string): void {
    for (const candidate of this.#candidates.values()) {
      if (requestKey(requestFor(candidate.at)) === key) candidate.retryAt = Number.NEGATIVE_INFINITY;
    }
    this.#wake();
  }

  /** Launches what is to be launched. Returns for how long nothing else is to be done. */
  #look(abort: AbortSignal): number {
    const { clock, launchable } = this.#options;
    const now = clock.monotonic();
    const passed = Math.min(maxLookMs, now - this.#lookedAt);
    this.#lookedAt = now;
    const { ats: found, nextDue } = launchable.look();
    this.#update(found, passed);
    this.#line = this.#options.isBlind() ? [] : [...this.#candidates.values()].reverse();
    this.#readAhead(abort);
    this.#advance(abort);
    if (this.#candidates.size > 0) return lookMs;
    return launchable.isIdle ? idlePauseMs : Math.max(1, Math.min(maxPauseMs, nextDue - clock.now()));
  }

  #update(found: readonly At[], passed: number): void {
    const { launch } = this.#options;
    const uids = new Set(found.map(({ metadata }) => metadata.uid ?? ''));
    for (const [uid, { at, isTried }] of this.#candidates) {
      if (uids.has(uid) || isTried) continue;
      this.#candidates.delete(uid);
      launch.forget(at);
    }
    for (const at of found) {
      const { uid = '' } = at.metadata;
      const known = this.#candidates.get(uid);
      if (known !== undefined) known.seenMs += passed;
      else if (!launch.hasLaunched(uid)) {
        this.#candidates.set(uid, { at, seenMs: 0, retryAt: Number.NEGATIVE_INFINITY, isTried: false });
      }
    }
  }

  #isReady({ seenMs, retryAt, isTried }: Candidate, aheadMs = 0): boolean {
    return seenMs + aheadMs >= this.#delayMs && this.#options.clock.monotonic() >= retryAt && !isTried;
  }

  /** Those that wait for their launch, or soon will, are read together. It begins at once then. */
  #readAhead(abort: AbortSignal): void {
    if (abort.aborted) return;
    const ready = this.#line.filter((candidate) => this.#isReady(candidate, readAheadMs));
    const reading = this.#options.launch.readAhead(
      ready.map(({ at }) => at),
      abort,
    );
    void reading?.then(() => this.#wake());
  }

  /** Goes on with the line, as far as launches are free. */
  #advance(abort: AbortSignal): void {
    const { hasLed, launch } = this.#options;
    while (this.#launches.size < maxLaunches && !hasLed()) {
      const candidate = this.#line.pop();
      if (candidate === undefined) return;
      const isRead = !launch.isReading(candidate.at.metadata.namespace ?? '');
      if (isRead && this.#isReady(candidate) && !abort.aborted) this.#begin(candidate, abort);
    }
  }

  #begin(candidate: Candidate, abort: AbortSignal): void {
    candidate.isTried = true;
    const launched = this.#try(candidate, abort).finally(() => {
      this.#launches.delete(launched);
      candidate.isTried = false;
      this.#advance(abort);
    });
    this.#launches.add(launched);
  }

  /** Never rejects. */
  async #try(candidate: Candidate, abort: AbortSignal): Promise<void> {
    const { clock, launch } = this.#options;
    const { at } = candidate;
    const { namespace = '', name } = at.metadata;
    const log = this.#options.log.child({ controller: this.name, namespace, name });
    let delayMs = failedDelayMs;
    try {
      const context = { signal: abort, log, reconcileID: '' };
      const { requeueAfter = failedDelayMs } = await launch.launch(at, context);
      delayMs = requeueAfter;
      if (launch.hasLaunched(at.metadata.uid ?? '')) log.info('launched as a standby: no other replica did');
    } catch (error) {
      log.warn({ error: describeError(error) }, 'not launched as a standby');
    }
    candidate.retryAt = clock.monotonic() + delayMs;
  }

  /** A replica launches, so that the others need not. */
  #appeared(pod: Pod): void {
    const owner = controllerOf(pod);
    if (owner?.kind !== ats.kind) return;
    const { uid } = owner;
    // The event of an own create may come before its answer.
    if (this.#candidates.get(uid)?.isTried === true || this.#options.launch.hasLaunched(uid)) return;
    for (const candidate of this.#candidates.values()) candidate.seenMs = 0;
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.setTimer(ms, () => this.#wake());
      this.#wake = () => {
        timer.cancel();
        this.#wake = () => {};
        resolve();
      };
    });
  }
}
