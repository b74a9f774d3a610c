/** What can be chosen about the times of a Manager, and the client that needs no leadership, on a real API server. */
import assert from 'node:assert/strict';
import { Transform } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { configMaps } from '../../src/kubernetes/objects.ts';
import { isNotFound, TransportError } from '../../src/runtime/client/api-error.ts';
import type { OpenConnection } from '../../src/runtime/client/http-connection.ts';
import { UndiciConnection } from '../../src/runtime/client/undici-connection.ts';
import { controllerManagedBy } from '../../src/runtime/controller/builder.ts';
import type { Runnable } from '../../src/runtime/controller/runnable.ts';
import { leases } from '../../src/runtime/leader/lease.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { type CreateManagerOptions, createManager } from '../../src/runtime/manager/create-manager.ts';
import type { Manager } from '../../src/runtime/manager/manager.ts';
import { HostileProxy } from './hostile-proxy.ts';
import {
  connectToTestCluster,
  eventually,
  skipWithoutStreams,
  testKubeConfig,
  withNamespace,
} from './support.ts';

const { client } = connectToTestCluster();
const lease = 'options-test';

function managerOf(namespace: string, options: Partial<CreateManagerOptions> = {}): Manager {
  return createManager({
    ...{ name: lease, kubeConfig: testKubeConfig(), log: silentLogger },
    ...{ namespaces: [namespace], leaderElectionNamespace: namespace, processMetrics: false },
    ...options,
  });
}

interface Run {
  readonly stop: () => void;
  /** The message with which it ended; empty after a clean stop. */
  readonly ended: Promise<string>;
}

function start(t: TestContext, manager: Manager): Run {
  const stop = new AbortController();
  const ended = manager.start(stop.signal).then(
    () => '',
    (error: unknown) => String(error instanceof Error ? error.message : error),
  );
  t.after(async () => {
    stop.abort();
    await ended;
  });
  return { stop: () => stop.abort(), ended };
}

/** One that waits for the end. */
class Waiter implements Runnable {
  readonly name = 'waiter';
  readonly needsLeaderElection: boolean;
  readonly #started = Promise.withResolvers<void>();

  constructor(needsLeaderElection: boolean) {
    this.needsLeaderElection = needsLeaderElection;
  }

  get started(): Promise<void> {
    return this.#started.promise;
  }

  start(stop: AbortSignal): Promise<void> {
    this.#started.resolve();
    return new Promise((resolve) => stop.addEventListener('abort', () => resolve(), { once: true }));
  }
}

/** Connections to the API server on which the named collection is never answered. */
function hanging(plural: string): OpenConnection {
  return (endpoint) => {
    const connection = new UndiciConnection(endpoint);
    return {
      endpoint,
      dispatch(options, handler) {
        if (!options.path.includes(`/${plural}`)) connection.dispatch(options, handler);
      },
      break: () => connection.break(),
      close: () => connection.close(),
    };
  };
}

/** Opens connections until it is told that the network is gone. */
class Network {
  isGone = false;

  readonly open: OpenConnection = (endpoint) => {
    const connection = new UndiciConnection(endpoint);
    return {
      endpoint,
      dispatch: (options, handler) => {
        if (!this.isGone) connection.dispatch(options, handler);
      },
      break: () => connection.break(),
      close: () => connection.close(),
    };
  };
}

/** Passes on lines, one each time. */
function lineByLine(interval: number): Transform {
  let rest = '';
  return new Transform({
    async transform(chunk: Buffer, _, next) {
      const lines = (rest + chunk.toString('utf8')).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        await delay(interval);
        this.push(`${line}\n`);
      }
      next();
    },
  });
}

const skip = await skipWithoutStreams();

describe('options of a manager on a real API server', { concurrency: true }, () => {
  it('leaseDuration, renewDeadline and retryPeriod hold for the leader and for its rival', async (t) => {
    const namespace = await withNamespace(t);
    const times = {
      leaseDuration: 5000,
      renewDeadline: 3000,
      retryPeriod: 500,
      requestTimeouts: { write: 1500 },
    };
    const network = new Network();
    const a = managerOf(namespace, { ...times, leaderElection: true, openConnection: network.open });
    const runOfA = start(t, a);
    await eventually(
      async () => (await client.get(leases, { namespace, name: lease })).spec?.holderIdentity !== '',
    );
    const { spec } = await client.get(leases, { namespace, name: lease });
    assert.equal(spec?.leaseDurationSeconds, 5);
    const b = managerOf(namespace, { ...times, leaderElection: true });
    const waiter = new Waiter(true);
    b.add(waiter);
    start(t, b);
    await eventually(() => b.informers.hasSynced);
    network.isGone = true;
    const goneAt = performance.now();
    assert.match(await runOfA.ended, /it was not renewed for 3 s/);
    await waiter.started;
    const takeover = performance.now() - goneAt;
    assert.ok(takeover >= 3000, `the lease ran for ${takeover} ms after its last renewal`);
    // With the default of 15 s it would be more than 13 s.
    assert.ok(takeover < 12_000, `takeover after ${takeover} ms`);
  });

  it('times that do not fit each other are refused before anything is sent', () => {
    const options = { leaderElection: true };
    assert.throws(
      () => managerOf('default', { ...options, renewDeadline: 15_000 }),
      /^RangeError: renewDeadline \(15000 ms\) must be shorter than leaseDuration \(15000 ms\)/,
    );
    assert.throws(
      () => managerOf('default', { ...options, requestTimeouts: { write: 6000 } }),
      /^RangeError: requestTimeouts.write \(6000 ms\) must not be longer than leaseDuration - renewDeadline/,
    );
  });

  it('cacheSyncTimeout ends the start, with the collection that was not loaded', async (t) => {
    const namespace = await withNamespace(t);
    const manager = managerOf(namespace, { cacheSyncTimeout: 2000, openConnection: hanging('configmaps') });
    manager.informers.informerFor(configMaps);
    const { ended } = start(t, manager);
    assert.match(await ended, /^the caches were not filled within 2 s: /);
  });

  it('cacheSyncTimeout counts from the last object: a load that gets further may take longer', {
    skip,
  }, async (t) => {
    const namespace = await withNamespace(t);
    const names = Array.from({ length: 16 }, (_, index) => `slow-${index}`);
    for (const name of names) {
      await client.create(configMaps, { metadata: { namespace, name, labels: { slow: '' } } });
    }
    const proxy = await HostileProxy.start(t);
    // A line, so an object, every 400 ms.
    proxy.treat = ({ query }) =>
      query.get('sendInitialEvents') === 'true' ? { through: lineByLine(400) } : undefined;
    const options = { cacheSyncTimeout: 5000, kubeConfig: proxy.kubeConfig };
    const manager = managerOf(namespace, options);
    const { lister } = manager.informers.informerFor(configMaps, { labelSelector: 'slow' });
    const begun = performance.now();
    const { stop, ended } = start(t, manager);
    await Promise.race([ended, eventually(() => manager.informers.hasSynced)]);
    stop();
    assert.equal(await ended, '');
    assert.equal(lister.size, 16);
    assert.ok(performance.now() - begun > 5000, 'it was slow');
  });

  it('gracefulShutdownTimeout breaks off what does not end by itself, and names it', async (t) => {
    const namespace = await withNamespace(t);
    await client.create(configMaps, { metadata: { namespace, name: 'slow' } });
    const manager = managerOf(namespace, { gracefulShutdownTimeout: 1000 });
    const begun = Promise.withResolvers<AbortSignal>();
    controllerManagedBy(manager)
      .for(configMaps)
      .complete({
        async reconcile({ name }, { signal }) {
          if (name !== 'slow') return {};
          begun.resolve(signal);
          return await new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
          );
        },
      });
    const { stop, ended } = start(t, manager);
    const signal = await begun.promise;
    stop();
    assert.equal(signal.aborted, false, 'it may end by itself first');
    assert.match(await ended, /^stopped, but not within 1 s: configmap/);
    assert.match(String(signal.reason), /the drain limit is over/);
  });

  it('maxWatches ends the start of a manager whose informers need more, and not of one that needs fewer', async (t) => {
    const namespace = await withNamespace(t);
    const namespaces = [namespace, `${namespace}-2`, `${namespace}-3`];
    const few = managerOf(namespace, { namespaces, maxWatches: 2 });
    few.informers.informerFor(configMaps);
    assert.match(
      await start(t, few).ended,
      /^the informers need 3 watches, and maxWatches allows 2; raise it, or watch fewer namespaces/,
    );
    const enough = managerOf(namespace, { namespaces, maxWatches: 3 });
    const informer = enough.informers.informerFor(configMaps);
    const { stop, ended } = start(t, enough);
    await eventually(() => informer.hasSynced && enough.informers.problems.length === 0);
    stop();
    assert.equal(await ended, '');
  });

  it('ungatedClient writes on a standby, client does not', async (t) => {
    const namespace = await withNamespace(t);
    const leader = managerOf(namespace, { leaderElection: true });
    const leads = new Waiter(true);
    leader.add(leads);
    start(t, leader);
    await leads.started;
    const standby = managerOf(namespace, { leaderElection: true });
    const written = Promise.withResolvers<readonly PromiseSettledResult<unknown>[]>();
    const never = new Waiter(true);
    standby.add(never);
    standby.add({
      ...{ name: 'writer', needsLeaderElection: false },
      async start(stop) {
        const create = (by: typeof client, name: string) =>
          by.create(configMaps, { metadata: { namespace, name } }, { signal: stop });
        written.resolve(
          await Promise.allSettled([
            create(standby.client, 'gated'),
            create(standby.ungatedClient, 'ungated'),
          ]),
        );
      },
    });
    start(t, standby);
    const [gated, ungated] = await written.promise;
    assert.equal(ungated?.status, 'fulfilled');
    assert.ok(gated?.status === 'rejected' && gated.reason instanceof TransportError && !gated.reason.sent);
    await client.get(configMaps, { namespace, name: 'ungated' });
    await assert.rejects(client.get(configMaps, { namespace, name: 'gated' }), isNotFound);
  });
});
