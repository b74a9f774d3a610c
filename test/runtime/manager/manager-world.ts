/** ManagerWorld: a Manager on a fake clock, with an API server that has one Lease and nothing else. */
import { Registry } from '@prometheus-io/client';
import { configMaps } from '../../../src/kubernetes/objects.ts';
import type { CallOptions } from '../../../src/runtime/client/call-options.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import type { Connection } from '../../../src/runtime/client/connect.ts';
import type { WriteGate } from '../../../src/runtime/client/write-gate.ts';
import type { WriteListener } from '../../../src/runtime/client/written.ts';
import type { Runnable } from '../../../src/runtime/controller/runnable.ts';
import type { Durations } from '../../../src/runtime/limits.ts';
import { type Logger, silentLogger } from '../../../src/runtime/logger.ts';
import { Manager } from '../../../src/runtime/manager/manager.ts';
import { FakeClock } from '../../fake/clock.ts';
import { LeaseServer } from '../leader/lease-server.ts';

export interface WorldOptions {
  readonly leaderElection?: boolean;
  /** A fake clock and Lease that other managers share. */
  readonly clock?: FakeClock;
  readonly leases?: LeaseServer;
  readonly identity?: string;
  readonly healthProbeBindAddress?: string;
  readonly durations?: Durations;
}

/** What a runnable of {@link ManagerWorld.add} is told to do, and what it was told. */
export interface FakeRunnable extends Runnable {
  /** Ends its warm-up. */
  readonly warm: PromiseWithResolvers<void>;
  /** Ends its work. */
  readonly work: PromiseWithResolvers<void>;
  started: boolean;
  stop: AbortSignal | undefined;
  abort: AbortSignal | undefined;
}

export interface RunnableOptions {
  readonly needsLeaderElection?: boolean;
  /** Needs no {@link FakeRunnable.warm} to become warm. Default true. */
  readonly isWarm?: boolean;
  /** Ends its work as soon as it is told to stop. Default true. */
  readonly endsOnStop?: boolean;
}

export class ManagerWorld {
  readonly clock: FakeClock;
  readonly leases: LeaseServer;
  readonly identity: string;
  readonly manager: Manager;
  readonly registry = new Registry();
  /** Where the health server listens. */
  healthAddress = '';
  readonly stop = new AbortController();
  readonly state = { ended: false, error: undefined as Error | undefined };
  /** Answers `GET /version`. */
  reach: () => Promise<unknown> = async () => ({});
  /** Answers every list and watch of an informer. */
  list: () => Promise<unknown> = async () => ({ items: [], resourceVersion: '1' });
  /** What is answered to GETs of paths such as `/apis`. */
  readonly documents = new Map<string, unknown>();
  closed = false;
  /** Whether requests are under way. */
  busy = false;
  gate: WriteGate | undefined;
  readonly writeListeners: WriteListener[] = [];
  /** Events that were created. */
  readonly events: unknown[] = [];

  constructor(options: WorldOptions = {}) {
    this.clock = options.clock ?? new FakeClock();
    this.leases = options.leases ?? new LeaseServer(this.clock);
    this.identity = options.identity ?? 'a';
    const { leaderElection = false, healthProbeBindAddress = '0' } = options;
    const log: Logger = {
      ...silentLogger,
      info: (fields: unknown) => {
        this.healthAddress = (fields as { address?: string }).address ?? this.healthAddress;
      },
      child: () => log,
    };
    this.manager = new Manager({
      connect: (gate) => this.#connect(gate),
      ...{ clock: this.clock, log, registry: this.registry },
      ...{ server: 'https://10.0.0.1:6443', instance: 'host-1', installCommand: 'make install' },
      ...{ metricsBindAddress: '0', healthProbeBindAddress, ...options.durations },
      ...(leaderElection && {
        leaderElection: { namespace: 'system', name: 'test', identity: this.identity },
      }),
    });
  }

  /** Adds a runnable with the given behaviour. */
  add(name: string, options: RunnableOptions = {}): FakeRunnable {
    const { needsLeaderElection = true, isWarm = true, endsOnStop = true } = options;
    const runnable: FakeRunnable = {
      ...{ name, needsLeaderElection, started: false, stop: undefined, abort: undefined },
      ...{ warm: Promise.withResolvers<void>(), work: Promise.withResolvers<void>() },
      warmUp: (stop) => {
        runnable.stop = stop;
        if (isWarm) runnable.warm.resolve();
        return runnable.warm.promise;
      },
      start: (stop, abort) => {
        runnable.started = true;
        runnable.stop = stop;
        runnable.abort = abort;
        if (endsOnStop) stop.addEventListener('abort', () => runnable.work.resolve());
        return runnable.work.promise;
      },
    };
    this.manager.add(runnable);
    return runnable;
  }

  /** Asks for an informer, whose lists {@link list} answers. */
  watchConfigMaps(): void {
    this.manager.informers.informerFor(configMaps);
  }

  start(): void {
    this.manager.start(this.stop.signal).then(
      () => {
        this.state.ended = true;
      },
      (error: Error) => {
        this.state.error = error;
      },
    );
  }

  /** Status code and text of a path of the health server. */
  async probe(path: string): Promise<[number, string]> {
    const response = await fetch(`http://${this.healthAddress}${path}`);
    return [response.status, await response.text()];
  }

  get isRunning(): boolean {
    return !this.state.ended && this.state.error === undefined;
  }

  #connect(gate: WriteGate): Connection {
    this.gate = gate;
    const client = {
      create: async (_: unknown, object: unknown) => {
        gate.assertMayWrite();
        this.events.push(object);
        return object;
      },
      getRaw: async (path: string) => this.documents.get(path),
      list: (_: unknown, options?: CallOptions) => untilAborted(this.list(), options?.signal),
      watch: (_: unknown, { signal }: { signal: AbortSignal }) => this.#watch(signal),
    } as unknown as Client;
    const leaseClient = {
      ...this.leases.client(this.identity),
      getRaw: (_: string, { signal }: CallOptions) => untilAborted(this.reach(), signal),
    } as unknown as Client;
    return {
      ...{ client, leaseClient },
      clientFor: () => client,
      ungatedClient: client,
      server: new URL('https://cluster.invalid'),
      maxWatches: Number.POSITIVE_INFINITY,
      isBusy: () => this.busy,
      onWrite: (listener) => {
        this.writeListeners.push(listener);
        return () => {};
      },
      onAnswer: () => () => {},
      close: () => {
        this.closed = true;
      },
    };
  }

  async #watch(signal: AbortSignal): Promise<AsyncIterable<never>> {
    await untilAborted(this.list(), signal);
    await untilAborted(new Promise(() => {}), signal);
    throw new Error('not reached');
  }
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}

/** A world with one controller that works. */
export async function running(options: WorldOptions = {}) {
  const world = new ManagerWorld(options);
  const worker = world.add('worker');
  world.start();
  await world.clock.advanceAsync(100);
  return { world, worker };
}

/** Two managers, of which `a` leads and `b` is a standby. */
export async function pair() {
  const clock = new FakeClock();
  const leases = new LeaseServer(clock);
  const shared = { clock, leases, leaderElection: true };
  const { world: a, worker: workerOfA } = await running(shared);
  const b = new ManagerWorld({ ...shared, identity: 'b' });
  const workerOfB = b.add('worker');
  b.start();
  await clock.advanceAsync(100);
  return { clock, leases, a, workerOfA, b, workerOfB };
}
