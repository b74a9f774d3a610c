import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pods } from '../../../src/kubernetes/objects.ts';
import { ApiError, TransportError } from '../../../src/runtime/client/api-error.ts';
import { LeadershipLostError } from '../../../src/runtime/leader/leader-elector.ts';
import { settle } from '../../fake/clock.ts';
import { ManagerWorld, pair, running } from './manager-world.ts';

const regarding = { metadata: { name: 'a', namespace: 'team', uid: 'u' } };
const launched = { type: 'Normal', reason: 'Launched', action: 'CreatePod', note: 'created it' } as const;

function holder({ leases }: ManagerWorld): string | undefined {
  return leases.lease?.spec?.holderIdentity;
}

describe('Manager: the way up', () => {
  it('starts no worker before every warm-up is over', async () => {
    const world = new ManagerWorld();
    const fast = world.add('fast');
    const slow = world.add('slow', { isWarm: false });
    world.start();
    await world.clock.advanceAsync(60_000);
    assert.deepEqual([fast.started, slow.started], [false, false]);
    slow.warm.resolve();
    await settle();
    assert.deepEqual([fast.started, slow.started], [true, true]);
  });

  it('warms nothing up before the API server was reached', async () => {
    const world = new ManagerWorld();
    const answer = Promise.withResolvers<unknown>();
    world.reach = () => answer.promise;
    const worker = world.add('worker');
    world.start();
    await world.clock.advanceAsync(10_000);
    assert.equal(worker.stop, undefined);
    answer.resolve({});
    await settle();
    assert.equal(worker.started, true);
  });

  it('starts no worker before the caches of its informers are filled', async () => {
    const world = new ManagerWorld();
    world.watchConfigMaps();
    world.list = () => Promise.reject(new TransportError('cut', false));
    const worker = world.add('worker');
    world.start();
    await world.clock.advanceAsync(30_000);
    assert.equal(worker.started, false);
    world.list = async () => ({ items: [], resourceVersion: '1' });
    world.stop.abort();
    await world.clock.advanceAsync(1000);
    assert.equal(world.state.ended, true);
  });

  it('warms a standby up, and starts there only what needs no leadership', async () => {
    const { clock, leases } = await pair();
    const c = new ManagerWorld({ clock, leases, leaderElection: true, identity: 'c' });
    const leading = c.add('leading');
    const everywhere = c.add('everywhere', { needsLeaderElection: false });
    c.start();
    await clock.advanceAsync(60_000);
    assert.notEqual(leading.stop, undefined);
    assert.deepEqual([leading.started, everywhere.started], [false, true]);
    assert.throws(() => c.gate?.assertMayWrite(), TransportError);
  });

  it('is started only once', async () => {
    const { world } = await running();
    await assert.rejects(world.manager.start(world.stop.signal), /only once/);
  });

  it('refuses two runnables of one name', () => {
    const world = new ManagerWorld();
    world.add('worker');
    assert.throws(() => world.add('worker'), /already/);
  });

  it('tells the informers what was written', () => {
    const world = new ManagerWorld();
    const seen: unknown[] = [];
    world.manager.informers.observeWrite = (_, written) => seen.push(written);
    for (const listener of world.writeListeners) listener(pods, regarding, true);
    assert.deepEqual(seen, [regarding]);
  });
});

describe('Manager: while it runs', () => {
  it('takes a runnable up, warm and under leadership, and stops it alone', async () => {
    const { world } = await running();
    const late = world.add('late', { isWarm: false });
    await settle();
    assert.deepEqual([late.stop?.aborted, late.started], [false, false]);
    late.warm.resolve();
    await settle();
    assert.equal(late.started, true);
    await world.manager.remove(late);
    assert.deepEqual([late.stop?.aborted, late.abort?.aborted, world.isRunning], [true, false, true]);
    world.add('late');
    assert.throws(() => world.add('late'), /already/);
    await assert.rejects(world.manager.remove(late), /there is no such runnable late/);
  });

  it('holds one back on a standby until that leads', async () => {
    const { clock, leases } = await pair();
    const c = new ManagerWorld({ clock, leases, leaderElection: true, identity: 'c' });
    c.start();
    await clock.advanceAsync(5000);
    const leading = c.add('leading');
    const everywhere = c.add('everywhere', { needsLeaderElection: false });
    await settle();
    assert.notEqual(leading.stop, undefined);
    assert.deepEqual([leading.started, everywhere.started], [false, true]);
  });

  it('refuses one after the stop', async () => {
    const { world } = await running();
    world.stop.abort();
    assert.throws(() => world.add('late'), /after the stop/);
  });
});

describe('Manager: failures at the start', () => {
  it('ends with the sentence when the API server cannot be reached', async () => {
    const world = new ManagerWorld();
    world.reach = () => Promise.reject(new TransportError('connection refused', false));
    world.start();
    await world.clock.advanceAsync(31_000);
    assert.match(world.state.error?.message ?? '', /^cannot reach the API server at https:/);
    assert.equal(world.closed, true);
    assert.equal(world.clock.pendingTimers, 0);
  });

  it('ends with the sentence when a resource is not served', async () => {
    const world = new ManagerWorld();
    world.watchConfigMaps();
    world.list = () => Promise.reject(new ApiError('not found', 404, { code: 404, reason: 'NotFound' }));
    world.documents.set('/readyz', 'ok').set('/api/v1', { kind: 'APIResourceList', resources: [] });
    const worker = world.add('worker', { isWarm: false });
    world.start();
    await world.clock.advanceAsync(6000);
    assert.match(
      world.state.error?.message ?? '',
      /configmaps .* not served.*; install it with: make install$/,
    );
    assert.equal(worker.started, false);
    assert.equal(worker.stop?.aborted, true);
  });

  it('does not take the 404 of something before the API server for that', async () => {
    const world = new ManagerWorld();
    world.watchConfigMaps();
    world.list = () => Promise.reject(new ApiError('HTTP 404: a page', 404, { code: 404 }));
    world.start();
    await world.clock.advanceAsync(60_000);
    assert.deepEqual([world.state.error], [undefined]);
    await world.clock.advanceAsync(60_000);
    assert.match(
      world.state.error?.message ?? '',
      /not filled within 120 s: configmaps cannot be watched: HTTP 404/,
    );
  });

  it('ends with the sentence when the Lease may not be read', async () => {
    const world = new ManagerWorld({ leaderElection: true });
    world.leases.fault = () => 'forbidden';
    world.start();
    await world.clock.advanceAsync(10_000);
    assert.match(world.state.error?.message ?? '', /leases: Forbidden; grant it by a Role/);
  });

  it('ends when an address cannot be served', async () => {
    const first = new ManagerWorld({ healthProbeBindAddress: '127.0.0.1:1' });
    first.manager.start(first.stop.signal).catch((error: Error) => {
      first.state.error = error;
    });
    const second = new ManagerWorld({ healthProbeBindAddress: 'nonsense' });
    await assert.rejects(second.manager.start(second.stop.signal), { name: 'ListenError' });
    first.stop.abort();
  });

  it('can be stopped at every step', async () => {
    const steps = [
      (world: ManagerWorld) => world.stop.abort(),
      (world: ManagerWorld) => {
        world.reach = () => new Promise(() => {});
      },
      (world: ManagerWorld) => world.add('cold', { isWarm: false }),
      (world: ManagerWorld) => {
        world.watchConfigMaps();
        world.list = () => new Promise(() => {});
      },
      (world: ManagerWorld) => {
        world.leases.fault = () => 'refused';
      },
    ];
    for (const [index, prepare] of steps.entries()) {
      const world = new ManagerWorld({ leaderElection: true });
      prepare(world);
      world.start();
      await world.clock.advanceAsync(1000);
      world.stop.abort();
      await world.clock.advanceAsync(5000);
      assert.deepEqual(world.state, { ended: true, error: undefined }, `step ${index}`);
      assert.equal(world.closed, true);
      assert.equal(world.clock.pendingTimers, 0, `step ${index} leaves a timer`);
    }
  });
});

describe('Manager: the way down', () => {
  it('lets Events wait while other requests are under way', async () => {
    const world = new ManagerWorld();
    world.start();
    await world.clock.advanceAsync(100);
    world.busy = true;
    world.manager.recorder('test').record(pods, regarding, launched);
    await world.clock.advanceAsync(1000);
    assert.equal(world.events.length, 0);
    world.busy = false;
    await world.clock.advanceAsync(100);
    assert.equal(world.events.length, 1);
    world.stop.abort();
    await world.clock.advanceAsync(1000);
    assert.equal(world.state.ended, true);
  });

  it('lets a reconcile in progress end, then sends Events, then gives the lease back, then closes', async () => {
    const world = new ManagerWorld({ leaderElection: true });
    const busy = world.add('busy', { endsOnStop: false });
    world.start();
    await world.clock.advanceAsync(100);
    world.stop.abort();
    await world.clock.advanceAsync(15_000);
    assert.equal(busy.stop?.aborted, true);
    assert.equal(busy.abort?.aborted, false);
    assert.equal(holder(world), 'a');
    world.gate?.assertMayWrite();
    // More than may be sent at once.
    for (let index = 0; index < 200; index++) {
      const about = { metadata: { ...regarding.metadata, uid: `u${index}` } };
      world.manager.recorder('test').record(pods, about, launched);
    }
    busy.work.resolve();
    await world.clock.advanceAsync(100);
    assert.deepEqual(world.state, { ended: true, error: undefined });
    assert.equal(world.events.length, 200);
    assert.equal(holder(world), '');
    assert.equal(world.closed, true);
    assert.throws(() => world.gate?.assertMayWrite(), TransportError);
    assert.equal(world.clock.pendingTimers, 0);
  });

  it('breaks off after 20 s what does not end, keeps the lease to itself, and fails', async () => {
    const world = new ManagerWorld({ leaderElection: true });
    const stuck = world.add('stuck', { endsOnStop: false });
    world.start();
    await world.clock.advanceAsync(100);
    world.stop.abort();
    await world.clock.advanceAsync(20_000);
    assert.equal(stuck.abort?.aborted, true);
    await world.clock.advanceAsync(1000);
    assert.match(world.state.error?.message ?? '', /not within 20 s: stuck/);
    assert.equal(holder(world), 'a');
    assert.throws(() => world.gate?.assertMayWrite(), TransportError);
  });

  it('breaks off sooner when that was asked for, and names what was in progress', async () => {
    const world = new ManagerWorld({ durations: { gracefulShutdownTimeout: 3000 } });
    const stuck = world.add('stuck', { endsOnStop: false });
    Object.assign(stuck, {
      inProgress: ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => `default/${name}`),
    });
    world.start();
    await world.clock.advanceAsync(100);
    world.stop.abort();
    await world.clock.advanceAsync(2999);
    assert.equal(stuck.abort?.aborted, false);
    await world.clock.advanceAsync(1000);
    assert.equal(
      world.state.error?.message,
      'stopped, but not within 3 s: stuck (default/a, default/b, default/c, default/d, default/e, 2 more)',
    );
  });

  it('is over in less than 25 s, whatever hangs', async () => {
    for (const what of ['lease', 'runnable'] as const) {
      const world = new ManagerWorld({ leaderElection: true });
      const worker = world.add('worker', { endsOnStop: false });
      world.start();
      await world.clock.advanceAsync(100);
      world.stop.abort();
      if (what === 'lease') {
        await world.clock.advanceAsync(9000);
        world.leases.fault = () => 'hung';
        worker.work.resolve();
        await world.clock.advanceAsync(5000);
      } else {
        await world.clock.advanceAsync(24_900);
      }
      assert.equal(world.isRunning, false, what);
    }
  });

  it('lets a standby take over soon after a clean stop', async () => {
    const { clock, a, b, workerOfB } = await pair();
    a.stop.abort();
    await clock.advanceAsync(2500);
    assert.equal(a.state.ended, true);
    assert.equal(workerOfB.started, true);
    assert.equal(holder(b), 'b');
  });

  it('stops a standby at once, without a write', async () => {
    const { clock, leases, b, workerOfB } = await pair();
    b.stop.abort();
    await clock.advanceAsync(100);
    assert.equal(b.state.ended, true);
    assert.equal(workerOfB.started, false);
    assert.deepEqual(leases.writesBy('b'), []);
  });
});

describe('Manager: as probes see it', () => {
  const healthProbeBindAddress = '127.0.0.1:0';

  it('is ready with full caches, as a standby too, and not any more once a stop has begun', async (t) => {
    const world = new ManagerWorld({ healthProbeBindAddress });
    const worker = world.add('worker', { isWarm: false, endsOnStop: false });
    world.start();
    t.after(() => worker.work.resolve());
    while (!worker.stop) await settle();
    assert.equal((await world.probe('/readyz'))[0], 500);
    assert.equal((await world.probe('/healthz'))[0], 200);
    worker.warm.resolve();
    await settle();
    assert.deepEqual(await world.probe('/readyz'), [200, 'ok']);
    world.stop.abort();
    assert.equal((await world.probe('/readyz'))[0], 500);
    assert.equal((await world.probe('/healthz'))[0], 200);
  });

  it('is not healthy when it leads without having renewed', async () => {
    const world = new ManagerWorld({ healthProbeBindAddress, leaderElection: true });
    const worker = world.add('worker');
    world.start();
    while (!worker.started) await settle();
    assert.deepEqual(await world.probe('/healthz'), [200, 'ok']);
    // The machine slept, and no timer has run since.
    world.clock.suspend(20_000);
    assert.match((await world.probe('/healthz'))[1], /^\[-\]leader-election failed: reason withheld$/m);
    world.stop.abort();
    await world.clock.advanceAsync(5000);
  });

  it('is unhealthy when a runnable at work says so', async () => {
    const world = new ManagerWorld({ healthProbeBindAddress });
    const worker = world.add('worker');
    let isStuck = false;
    worker.healthCheck = () => {
      if (isStuck) throw new Error('every worker hangs');
    };
    world.start();
    while (!worker.started) await settle();
    assert.match((await world.probe('/healthz?verbose'))[1], /^\[\+\]controllers ok$/m);
    isStuck = true;
    const [code, text] = await world.probe('/healthz');
    assert.equal(code, 500);
    assert.match(text, /^\[-\]controllers failed: reason withheld$/m);
    world.stop.abort();
    await world.clock.advanceAsync(100);
  });

  it('asks the checks that were added', async () => {
    const world = new ManagerWorld({ healthProbeBindAddress });
    world.manager.addReadyCheck('mine', () => {
      throw new Error('no');
    });
    world.manager.addHealthCheck('mine', () => {});
    const worker = world.add('worker');
    world.start();
    while (!worker.started) await settle();
    assert.equal((await world.probe('/readyz/mine'))[0], 500);
    assert.equal((await world.probe('/healthz/mine'))[0], 200);
    world.stop.abort();
    await world.clock.advanceAsync(100);
  });
});

describe('Manager: ends without a drain', () => {
  it('when the lease is lost: everything is aborted in that turn, and nothing is written', async () => {
    const { clock, leases, a, workerOfA } = await pair();
    leases.fault = ({ by }) => (by === 'a' ? 'hung' : undefined);
    a.manager.recorder('test').record(pods, regarding, launched);
    await clock.advanceAsync(8000);
    assert.equal(a.isRunning, true);
    const sent = a.events.length;
    a.manager.recorder('test').record(pods, regarding, { ...launched, note: 'too late' });
    const calls = leases.writesBy('a').length;
    await clock.advanceAsync(2500);
    assert.ok(a.state.error instanceof LeadershipLostError);
    assert.match(a.state.error.message, /lost the leader lease system\/test/);
    assert.deepEqual([workerOfA.stop?.aborted, workerOfA.abort?.aborted], [true, true]);
    assert.throws(() => a.gate?.assertMayWrite(), TransportError);
    assert.ok(a.events.length <= sent + 1);
    await clock.advanceAsync(60_000);
    assert.ok(leases.writesBy('a').length <= calls + 1);
  });

  it('also while it drains', async () => {
    const world = new ManagerWorld({ leaderElection: true });
    world.add('busy', { endsOnStop: false });
    world.start();
    await world.clock.advanceAsync(100);
    world.leases.fault = () => 'refused';
    world.stop.abort();
    await world.clock.advanceAsync(10_500);
    assert.ok(world.state.error instanceof LeadershipLostError);
  });

  it('when a runnable fails', async () => {
    const { world, worker } = await running({ leaderElection: true });
    const other = new Error('out of luck');
    worker.work.reject(other);
    await settle();
    await settle();
    assert.equal(world.state.error?.message, 'worker failed: out of luck');
    assert.equal(world.state.error?.cause, other);
    assert.equal(holder(world), 'a');
  });

  it('when main says that something unexpected happened', async () => {
    const { world, worker } = await running({ leaderElection: true });
    world.manager.fatal(new TypeError('x is not a function'));
    assert.equal(worker.abort?.aborted, true);
    assert.throws(() => world.gate?.assertMayWrite(), TransportError);
    await world.clock.advanceAsync(10);
    assert.equal(world.state.error?.message, 'ended by an unexpected error: x is not a function');
    assert.equal(holder(world), 'a');
    world.manager.fatal(new Error('another one'));
  });

  it('but for nothing else: the API server may go away for as long as it likes', async () => {
    const { world } = await running();
    world.reach = () => Promise.reject(new TransportError('connection refused', false));
    world.list = world.reach;
    await world.clock.advanceAsync(24 * 3_600_000);
    assert.equal(world.isRunning, true);
    world.stop.abort();
    await settle();
    await settle();
    assert.equal(world.state.ended, true);
  });
});
