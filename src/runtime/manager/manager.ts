/**
 * Manager: the life of an operator process. It holds what controllers share (client, informers, Events,
 * metrics, health), starts everything in the right order and stops it in the reverse one.
 *
 * Start: servers → API server reached → informers and warm-ups → leader election → workers. A standby stops
 * before the last step, with full caches. Stop: not ready → sources and workers → Events → lease given
 * back → servers. Whatever fails in between ends the process without a drain: the state of another leader
 * is unknown then, and every reconcile can be repeated.
 */
import type { Registry } from '@prometheus-io/client';
import { Informers } from '../cache/informers.ts';
import type { Client } from '../client/client.ts';
import type { Connection } from '../client/connect.ts';
import { openGate } from '../client/write-gate.ts';
import type { ControllerHost, Host } from '../controller/builder.ts';
import { currentScope } from '../controller/reconcile-scope.ts';
import type { Runnable } from '../controller/runnable.ts';
import { EventBroadcaster } from '../events/event-broadcaster.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import type { HealthCheck, HealthCheckOptions } from '../health/health-checks.ts';
import { LeaderElector } from '../leader/leader-elector.ts';
import { Leadership } from '../leader/leadership.ts';
import { breakOffLimit, checkedDurations, flushLimit, releaseLimit } from '../limits.ts';
import type { Logger } from '../logger.ts';
import { type Randomness, systemRandomness } from '../randomness.ts';
import { ServerClock } from '../server-clock.ts';
import { aborted, endsWithin } from '../time-limit.ts';
import { warmUp } from './cache-sync.ts';
import { assertDeclared } from './declared-resources.ts';
import { ManagerError, unexpectedError } from './manager-error.ts';
import type { ManagerOptions } from './manager-options.ts';
import { Probes } from './probes.ts';
import { RunnableGroup } from './runnable-group.ts';
import { assertUsable } from './startup.ts';

/**
 * The life of a process: what its controllers share, and their start and stop in order. There is one for each
 * process, started once.
 */
export class Manager implements Host, ControllerHost {
  /** The API server's time; leader election goes by the machine's own clock. */
  readonly clock: ServerClock;
  readonly randomness: Randomness;
  readonly log: Logger;
  readonly registry: Registry;
  readonly connection: Connection;
  readonly informers: Informers;
  readonly #options: ManagerOptions;
  readonly #drainLimit: number;
  readonly #leadership: Leadership;
  readonly #elector: LeaderElector | undefined;
  readonly #events: EventBroadcaster;
  readonly #probes: Probes;
  readonly #stop = new AbortController();
  readonly #abort = new AbortController();
  readonly #informersStop = new AbortController();
  readonly #failure = Promise.withResolvers<never>();
  readonly #runnables: RunnableGroup;
  #started = false;
  #ready = false;
  #hasLed = false;

  /** @throws {RangeError} with one sentence, for durations that do not fit each other. */
  constructor(options: ManagerOptions) {
    const { clock, log, registry, namespaces = [], instance, leaderElection } = options;
    this.#options = options;
    const { leaseDuration, renewDeadline, retryPeriod, gracefulShutdownTimeout } = checkedDurations(options);
    this.#drainLimit = gracefulShutdownTimeout;
    this.clock = new ServerClock(clock);
    this.randomness = options.randomness ?? systemRandomness;
    this.log = log;
    this.registry = registry;
    this.#leadership = new Leadership(clock, renewDeadline, leaseDuration);
    const gate = leaderElection ? this.#leadership : openGate;
    this.connection = options.connect(gate);
    const { leaseClient, isBusy, maxWatches } = this.connection;
    const random = () => this.randomness.random();
    this.informers = new Informers({
      client: this.connection.clientFor('informers'),
      ...{ clock, log, namespaces, registry, random, maxWatches },
    });
    this.connection.onAnswer((answer) => this.clock.observe(answer));
    this.connection.onWrite((resource, written, isOwn) => {
      this.informers.observeWrite(resource, written);
      currentScope()?.wrote(written, isOwn);
    });
    this.#events = new EventBroadcaster({
      client: this.connection.clientFor('events'),
      ...{ gate, clock, log, registry, instance, isBusy, random },
    });
    if (leaderElection) {
      this.#elector = new LeaderElector({
        ...leaderElection,
        ...{ client: leaseClient, leaseDuration, retryPeriod, clock, log, registry, random },
        leadership: this.#leadership,
      });
    }
    const state = {
      isReady: () => this.#ready,
      problems: () => this.informers.problems,
      sinceLastContact: () => this.informers.sinceLastContact(),
      isStaleLeader: () => this.#leadership.isStale,
    };
    this.#probes = new Probes(options, state, this.connection.ungatedClient);
    const [stop, abort] = [this.#stop.signal, this.#abort.signal];
    this.#runnables = new RunnableGroup({ stop, abort, onFailure: (error) => this.#fail(error) });
    this.addHealthCheck('controllers', () => this.#runnables.healthCheck());
    this.#failure.promise.catch(() => {});
  }

  /** Its writes are refused while this process does not lead. The requests of each Runnable wait apart from others'. */
  get client(): Client {
    return this.connection.client;
  }

  /**
   * For a Runnable or Controller with `needsLeaderElection: false`: its writes are sent on standbys as well, where
   * another replica may do the same at the same time.
   */
  get ungatedClient(): Client {
    return this.connection.ungatedClient;
  }

  /** Whether this process leads, or did; always without leader election. What acts on standbys only asks it. */
  get hasLed(): boolean {
    return this.#elector === undefined || this.#hasLed;
  }

  /** @param controllerName as `reportingController` in the Events, `domain/name` or a plain name. */
  recorder(controllerName: string): EventRecorder {
    return this.#events.recorder(controllerName);
  }

  /** While this Manager runs, too: the runnable is then warmed up, and started at once if its like are. */
  add(runnable: Runnable): void {
    this.#runnables.add(runnable);
  }

  /** Stops a Runnable, such as a Controller, while the others go on. Resolves when what it had begun has ended. */
  remove(runnable: Runnable): Promise<void> {
    return this.#runnables.remove(runnable);
  }

  /** A further check of `/readyz`. It throws, or rejects, as long as this process cannot do its work. */
  addReadyCheck(name: string, check: HealthCheck, options?: HealthCheckOptions): void {
    this.#probes.readyz.add(name, check, options);
  }

  /** A further check of `/healthz`. It throws, or rejects, when this process should be restarted. */
  addHealthCheck(name: string, check: HealthCheck): void {
    this.#probes.healthz.add(name, check);
  }

  /**
   * Runs until the signal is aborted. Resolves after a clean stop, within `gracefulShutdownTimeout` and 5 s.
   *
   * @throws {Error} with one sentence for people, when the process must end with a failure: it could not
   *   start, lost the lease, something failed for good, or the drain took too long.
   */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#started) throw new Error('a Manager is started only once');
    this.#started = true;
    const onStop = () => {
      this.#ready = false;
      this.#stop.abort(new Error('the manager is stopping'));
    };
    if (signal.aborted) onStop();
    else signal.addEventListener('abort', onStop, { once: true });
    try {
      await Promise.race([this.#run(), this.#failure.promise]);
      await Promise.race([this.#drain(), this.#failure.promise]);
    } catch (error) {
      this.#breakOff();
      throw error;
    } finally {
      signal.removeEventListener('abort', onStop);
      await this.#probes.stop();
      this.connection.close();
    }
  }

  /** The state of the process is unknown: everything is broken off, and {@link start} rejects. */
  fatal(error: unknown): void {
    const scope = currentScope();
    this.log.error({ err: error, controller: scope?.controller, ...scope?.request }, 'unexpected error');
    this.#fail(unexpectedError(error, scope));
  }

  /** The way up; resolves when a stop was asked for, at whatever step. */
  async #run(): Promise<void> {
    const { signal } = this.#stop;
    try {
      signal.throwIfAborted();
      await this.#probes.start();
      await assertUsable(this.connection.leaseClient, this.#options, this.#elector, signal);
      this.informers.start(this.#informersStop.signal);
      const warm = warmUp(this.informers, this.#runnables, this.#options, signal);
      const declared = assertDeclared(this.connection.leaseClient, this.informers.resources, signal);
      await Promise.all([warm, declared]);
      this.#ready = true;
      this.log.info({ leaderElection: this.#elector !== undefined }, 'ready');
      this.#runnables.start(false);
      await this.#lead(signal);
      this.#runnables.start(true);
      await aborted(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #lead(signal: AbortSignal): Promise<void> {
    if (this.#elector === undefined) return;
    const { lost } = this.#elector;
    lost.addEventListener('abort', () => this.#fail(lost.reason), { once: true });
    await this.#elector.acquire(signal);
    this.#hasLed = true;
  }

  /** The way down, while this process still leads; then the lease is free for the next. */
  async #drain(): Promise<void> {
    if (!(await endsWithin(this.clock, this.#drainLimit, this.#runnables.ended()))) {
      const late = this.#runnables.running.join(', ');
      this.#abort.abort(new Error('the drain limit is over'));
      await endsWithin(this.clock, breakOffLimit, this.#runnables.ended());
      throw new ManagerError(`stopped, but not within ${this.#drainLimit / 1000} s: ${late}`);
    }
    this.#informersStop.abort(new Error('the manager is stopping'));
    // Before the lease is given back: Events are writes, and after it nothing may be written.
    await this.#events.stop(flushLimit);
    await this.#elector?.release(releaseLimit);
  }

  #fail(error: unknown): void {
    this.#breakOff();
    this.#failure.reject(error);
  }

  /**
   * Ends everything in this very turn. The lease is not given back but expires: what this process has sent
   * may still be under way, and must not arrive after another process leads.
   */
  #breakOff(): void {
    this.#ready = false;
    this.#elector?.abandon();
    this.#leadership.end();
    const reason = new Error('the manager has ended');
    for (const controller of [this.#abort, this.#stop, this.#informersStop]) controller.abort(reason);
    void this.#events.stop(0);
  }
}
