import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { LeaderElector, LeadershipLostError } from '../../../src/runtime/leader/leader-elector.ts';
import { Leadership } from '../../../src/runtime/leader/leadership.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { FakeClock, settle } from '../../fake/clock.ts';
import { LeaseServer } from './lease-server.ts';

const leaseDuration = 15_000;
const renewDeadline = 10_000;
const retryPeriod = 2000;
const noJitter = () => 0;

/** One process that takes part in the election. */
function candidate(server: LeaseServer, clock: FakeClock, identity: string, random = noJitter) {
  const leadership = new Leadership(clock, renewDeadline);
  const registry = new Registry();
  const client = server.client(identity);
  const log = silentLogger;
  const elector = new LeaderElector({
    ...{ client, leadership, clock, log, identity, registry, random, namespace: 'system', name: 'test' },
  });
  const stop = new AbortController();
  const state = { acquired: false, error: undefined as unknown };
  const run = () => {
    const acquired = elector.acquire(stop.signal).then(
      () => {
        state.acquired = true;
      },
      (error: unknown) => {
        state.error = error;
      },
    );
    return acquired;
  };
  return { elector, leadership, registry, stop, state, run };
}

function world() {
  const clock = new FakeClock();
  return { clock, server: new LeaseServer(clock) };
}

/** A leader `a` that acquired just now. */
async function led() {
  const { clock, server } = world();
  const a = candidate(server, clock, 'a');
  await a.run();
  return { clock, server, a };
}

describe('LeaderElector: taking the lease', () => {
  it('creates it when there is none, with times of six fraction digits', async () => {
    const { server, a } = await led();
    assert.equal(a.leadership.isHeld, true);
    const { spec } = server.lease ?? {};
    assert.equal(spec?.holderIdentity, 'a');
    assert.equal(spec?.leaseDurationSeconds, 15);
    assert.equal(spec?.leaseTransitions, 0);
    assert.equal(spec?.renewTime, '2024-01-01T00:00:00.000000Z');
    assert.equal(spec?.acquireTime, '2024-01-01T00:00:00.000000Z');
  });

  it('waits for a foreign lease until it has not changed for its duration, then takes it at that instant', async () => {
    const { clock, server } = await led();
    // 'a' goes on renewing on its own machine until it is killed; its last renewal is at 8 s.
    server.fault = ({ by }) => (by === 'a' && clock.monotonic() > 9500 ? 'hung' : undefined);
    await clock.advanceAsync(7100);
    const b = candidate(server, clock, 'b');
    const begun = clock.monotonic();
    void b.run();
    await clock.advanceAsync(60_000);
    assert.equal(b.state.acquired, true);
    const renewed = server.requests.filter(({ by, verb }) => by === 'a' && verb === 'update').at(-2)?.at ?? 0;
    const seen = server.requests.find(({ by, at }) => by === 'b' && at >= renewed)?.at ?? 0;
    assert.ok(seen > begun, 'the last renewal was seen by a later look, not by the first');
    assert.equal(server.writesBy('b')[0]?.at, seen + leaseDuration);
  });

  it('never compares foreign clocks: a renewTime long past does not make a lease free', async () => {
    const { clock, server, a } = await led();
    a.elector.abandon();
    server.edit((lease) => ({
      ...lease,
      spec: { ...lease.spec, holderIdentity: 'x', renewTime: '1999-01-01T00:00:00.000000Z' },
    }));
    const b = candidate(server, clock, 'b');
    void b.run();
    await clock.advanceAsync(leaseDuration - 1);
    assert.equal(b.state.acquired, false);
    await clock.advanceAsync(1);
    assert.equal(b.state.acquired, true);
    assert.equal(server.lease?.spec?.leaseTransitions, 1);
    assert.equal(server.lease?.spec?.acquireTime, '2024-01-01T00:00:15.000000Z');
  });

  it('waits for the duration that the record names', async () => {
    const { clock, server, a } = await led();
    a.elector.abandon();
    server.edit((lease) => ({ ...lease, spec: { ...lease.spec, leaseDurationSeconds: 40 } }));
    const b = candidate(server, clock, 'b');
    void b.run();
    await clock.advanceAsync(39_999);
    assert.equal(b.state.acquired, false);
    await clock.advanceAsync(1);
    assert.equal(b.state.acquired, true);
  });

  it('lets one of two win who find it expired at the same instant', async () => {
    const { clock, server, a } = await led();
    a.elector.abandon();
    server.latency = 5;
    const rivals = [candidate(server, clock, 'b'), candidate(server, clock, 'c')];
    for (const rival of rivals) void rival.run();
    await clock.advanceAsync(leaseDuration + 100);
    assert.deepEqual(rivals.map(({ state }) => state.acquired).sort(), [false, true]);
  });

  it('looks every retry period, at most a tenth later', async () => {
    const { clock, server } = await led();
    const b = candidate(server, clock, 'b', () => 0.999);
    void b.run();
    await clock.advanceAsync(10_000);
    const looks = server.requests.filter(({ by }) => by === 'b').map(({ at }) => at);
    const gaps = looks.slice(1).map((at, index) => at - (looks[index] ?? 0));
    assert.ok(gaps.length >= 4);
    assert.ok(
      gaps.every((gap) => gap > retryPeriod && gap <= retryPeriod * 1.1),
      String(gaps),
    );
  });

  it('takes over its own lease at once when the answer to its acquisition was lost', async () => {
    const { clock, server } = world();
    server.fault = ({ verb }) => (verb === 'create' ? 'lost' : undefined);
    const a = candidate(server, clock, 'a');
    void a.run();
    await clock.advanceAsync(5000);
    assert.equal(server.lease?.spec?.holderIdentity, 'a');
    assert.equal(a.state.acquired, false);
    await clock.advanceAsync(retryPeriod);
    assert.equal(a.state.acquired, true);
  });

  it('does not lead when the answer took longer than the renew deadline', async () => {
    const { clock, server } = world();
    server.latency = 100;
    const a = candidate(server, clock, 'a');
    void a.run();
    await clock.advanceAsync(150);
    // The event loop is blocked while the answer to the create is on its way.
    clock.suspend(12_000, { monotonic: 'moves' });
    await clock.advanceAsync(0);
    assert.equal(a.state.acquired, false);
    assert.throws(() => a.leadership.assertMayWrite());
  });

  it('goes on looking through every failure', async () => {
    const { clock, server } = world();
    const faults = ['refused', 'forbidden', 'hung', 'refused'] as const;
    let count = 0;
    server.fault = () => faults[count++];
    const a = candidate(server, clock, 'a');
    void a.run();
    await clock.advanceAsync(3 * retryPeriod + 5000 + retryPeriod);
    assert.equal(a.state.acquired, true);
  });

  it('keeps what others wrote into the lease', async () => {
    const { clock, server, a } = await led();
    await a.elector.release();
    server.edit((lease) => ({ ...lease, metadata: { ...lease.metadata, labels: { team: 'blue' } } }));
    const b = candidate(server, clock, 'b');
    await b.run();
    assert.deepEqual(server.lease?.metadata.labels, { team: 'blue' });
  });
});

describe('LeaderElector: keeping the lease', () => {
  it('renews every retry period and keeps acquireTime and transitions', async () => {
    const { clock, server, a } = await led();
    const before = clock.monotonic();
    await clock.advanceAsync(60_000);
    assert.equal(a.leadership.isHeld, true);
    const updates = server.requests.filter(({ verb }) => verb === 'update').map(({ at }) => at - before);
    assert.deepEqual(updates.slice(0, 3), [2000, 4000, 6000]);
    assert.equal(updates.length, 30);
    assert.equal(server.requests.filter(({ verb }) => verb === 'get').length, 1);
    assert.equal(server.lease?.spec?.acquireTime, '2024-01-01T00:00:00.000000Z');
    assert.equal(server.lease?.spec?.renewTime, '2024-01-01T00:01:00.000000Z');
    assert.equal(server.lease?.spec?.leaseTransitions, 0);
  });

  it('keeps that period also when each renewal takes its time', async () => {
    const { clock, server } = await led();
    const before = clock.monotonic();
    server.latency = 700;
    await clock.advanceAsync(20_000);
    const updates = server.requests.filter(({ verb }) => verb === 'update').map(({ at }) => at - before);
    assert.deepEqual(updates.slice(0, 3), [2000, 4000, 6000]);
  });

  it('survives failures shorter than the renew deadline', async () => {
    const { clock, server, a } = await led();
    server.fault = ({ at }) => (at < 8500 ? 'refused' : undefined);
    await clock.advanceAsync(12_000);
    assert.equal(a.leadership.isHeld, true);
    assert.equal(a.elector.lost.aborted, false);
  });

  it('is lost exactly one renew deadline after the last renewal was sent, also while calls hang', async () => {
    for (const fault of ['refused', 'hung'] as const) {
      const { clock, server, a } = await led();
      server.fault = () => fault;
      await clock.advanceAsync(renewDeadline - 1);
      assert.equal(a.elector.lost.aborted, false, fault);
      await clock.advanceAsync(1);
      assert.equal(a.elector.lost.aborted, true, fault);
      assert.ok(a.elector.lost.reason instanceof LeadershipLostError);
      assert.match(a.elector.lost.reason.message, /system\/test: it was not renewed for 10 s/);
      const calls = server.requests.length;
      await clock.advanceAsync(60_000);
      assert.equal(server.requests.length, calls, 'it asks for nothing any more');
    }
  });

  it('goes on when a renewal was done but its answer lost', async () => {
    const { clock, server, a } = await led();
    let lose = true;
    server.fault = ({ verb }) => {
      const fault = lose && verb === 'update' ? 'lost' : undefined;
      lose = false;
      return fault;
    };
    await clock.advanceAsync(30_000);
    assert.equal(a.leadership.isHeld, true);
  });

  it('is lost at once when another holds the lease', async () => {
    const { clock, server, a } = await led();
    server.edit((lease) => ({ ...lease, spec: { ...lease.spec, holderIdentity: 'usurper' } }));
    await clock.advanceAsync(retryPeriod);
    assert.match(String(a.elector.lost.reason), /usurper holds it now/);
    assert.throws(() => a.leadership.assertMayWrite());
    assert.equal(server.lease?.spec?.holderIdentity, 'usurper');
  });

  it('writes the lease anew when it was deleted, with the same acquireTime', async () => {
    const { clock, server, a } = await led();
    await clock.advanceAsync(1000);
    server.remove();
    await clock.advanceAsync(1000);
    assert.equal(holder(server), 'a');
    assert.equal(acquireTime(server), '2024-01-01T00:00:00.000000Z');
    assert.equal(a.leadership.isHeld, true);
  });

  it('keeps the lease when only its holder was wiped out', async () => {
    const { clock, server, a } = await led();
    server.edit((lease) => ({ ...lease, spec: { ...lease.spec, holderIdentity: '' } }));
    await clock.advanceAsync(retryPeriod);
    assert.equal(holder(server), 'a');
    assert.equal(a.leadership.isHeld, true);
  });

  it('sends nothing after a stop of the process that outlasted the deadline', async () => {
    const { clock, server, a } = await led();
    await clock.advanceAsync(5000);
    clock.suspend(20_000, { monotonic: 'moves' });
    const calls = server.requests.length;
    assert.throws(() => a.leadership.assertMayWrite());
    await clock.advanceAsync(60_000);
    assert.equal(server.requests.length, calls);
    assert.equal(a.elector.lost.aborted, true);
  });

  it('keeps the lease over a sleep of the machine in which no other client took it', async () => {
    const { clock, a } = await led();
    clock.suspend(60_000);
    assert.throws(() => a.leadership.assertMayWrite());
    await clock.advanceAsync(retryPeriod);
    a.leadership.assertMayWrite();
  });

  it('loses it in a sleep of the machine in which another client took it', async () => {
    const { clock, server, a } = await led();
    clock.suspend(60_000);
    server.edit((lease) => ({ ...lease, spec: { ...lease.spec, holderIdentity: 'b' } }));
    await clock.advanceAsync(retryPeriod);
    assert.equal(a.elector.lost.aborted, true);
  });

  it('shows in leader_election_master_status', async () => {
    const { clock, server } = world();
    const a = candidate(server, clock, 'a');
    const value = async () =>
      (await a.registry.metrics()).match(/^leader_election_master_status\{name="test"\} (\d)$/m)?.[1];
    assert.equal(await value(), '0');
    await a.run();
    assert.equal(await value(), '1');
    await a.elector.release();
    assert.equal(await value(), '0');
  });
});

describe('LeaderElector: rivals under a leader that does not know yet', () => {
  for (const row of [
    { what: 'deleted', meddle: (server: LeaseServer) => server.remove() },
    {
      what: 'robbed of its holder',
      meddle: (server: LeaseServer) =>
        server.edit((lease) => ({ ...lease, spec: { ...lease.spec, holderIdentity: '' } })),
    },
  ]) {
    it(`leaves a lease that was ${row.what} to its holder until the record seen has expired`, async () => {
      const { clock, server, a } = await led();
      const b = candidate(server, clock, 'b');
      void b.run();
      await settle();
      row.meddle(server);
      server.fault = ({ by }) => (by === 'a' ? 'hung' : undefined);
      await clock.advanceAsync(renewDeadline - 1);
      assert.equal(a.leadership.isHeld, true);
      assert.equal(b.state.acquired, false);
      await clock.advanceAsync(leaseDuration);
      assert.equal(a.leadership.isHeld, false);
      assert.equal(b.state.acquired, true);
    });
  }

  it('leaves a lease that was deleted to the holder seen at the start, before it was a candidate', async () => {
    const { clock, server, a } = await led();
    const b = candidate(server, clock, 'b');
    await b.elector.look(new AbortController().signal);
    server.remove();
    server.fault = ({ by }) => (by === 'a' ? 'hung' : undefined);
    void b.run();
    await clock.advanceAsync(renewDeadline - 1);
    assert.equal(a.leadership.isHeld, true);
    assert.equal(b.state.acquired, false);
    await clock.advanceAsync(leaseDuration);
    assert.equal(b.state.acquired, true);
  });

  it('leaves a lease that was deleted to a holder that it has never seen, for a whole duration', async () => {
    const { clock, server, a } = await led();
    const [b, c] = [candidate(server, clock, 'b'), candidate(server, clock, 'c')];
    for (const { run } of [b, c]) void run();
    await settle();
    // 'b' does not see how 'c' follows 'a'.
    a.elector.abandon();
    server.fault = ({ by }) => (by === 'b' ? 'hung' : undefined);
    await clock.advanceAsync(leaseDuration + retryPeriod);
    assert.equal(c.leadership.isHeld, true);
    server.remove();
    server.fault = ({ by }) => (by === 'c' ? 'hung' : undefined);
    for (let passed = 0; passed < leaseDuration + 2 * renewDeadline; passed += 250) {
      await clock.advanceAsync(250);
      assert.ok(!(b.leadership.isHeld && c.leadership.isHeld), `both lead at ${passed}`);
    }
    assert.equal(b.leadership.isHeld, true);
  });

  it('leaves a lease that forestalled its own create, and was then deleted, to its holder', async () => {
    const { clock, server } = world();
    const [a, b] = [candidate(server, clock, 'a'), candidate(server, clock, 'b')];
    server.latency = 100;
    for (const { run } of [a, b]) void run();
    await clock.advanceAsync(200);
    server.remove();
    server.fault = ({ by }) => (by === 'a' ? 'hung' : undefined);
    await clock.advanceAsync(renewDeadline - 200);
    assert.deepEqual([a.leadership.isHeld, b.leadership.isHeld], [true, false]);
    await clock.advanceAsync(leaseDuration);
    assert.deepEqual([a.leadership.isHeld, b.leadership.isHeld], [false, true]);
  });

  it('never has two that may write, whatever the leader suffers', async () => {
    for (let failsAt = 0; failsAt < 6000; failsAt += 700) {
      const { clock, server, a } = await led();
      const b = candidate(server, clock, 'b');
      void b.run();
      await clock.advanceAsync(failsAt);
      server.fault = ({ by }) => (by === 'a' ? 'lost' : undefined);
      for (let passed = 0; passed < 40_000; passed += 250) {
        await clock.advanceAsync(250);
        assert.ok(!(a.leadership.isHeld && b.leadership.isHeld), `both lead at ${passed}`);
      }
      assert.equal(b.leadership.isHeld, true);
    }
  });
});

describe('LeaderElector: giving the lease back', () => {
  it('writes no holder and a duration of one second, and the next one need not wait', async () => {
    const { clock, server, a } = await led();
    const b = candidate(server, clock, 'b');
    void b.run();
    await clock.advanceAsync(1000);
    await a.elector.release();
    assert.equal(server.lease?.spec?.holderIdentity, '');
    assert.equal(server.lease?.spec?.leaseDurationSeconds, 1);
    assert.throws(() => a.leadership.assertMayWrite());
    await clock.advanceAsync(1000);
    assert.equal(b.state.acquired, true);
    assert.equal(server.lease?.spec?.leaseTransitions, 1);
    assert.equal(server.lease?.spec?.leaseDurationSeconds, 15);
  });

  it('renews until then, and never again', async () => {
    const { clock, server, a } = await led();
    a.stop.abort();
    await clock.advanceAsync(20_000);
    assert.equal(a.leadership.isHeld, true, 'a stop alone does not end it: the drain needs it');
    await a.elector.release();
    const calls = server.requests.length;
    await clock.advanceAsync(60_000);
    assert.equal(server.requests.length, calls);
    await assert.rejects(a.elector.acquire(new AbortController().signal), /only once/);
  });

  it('gives it back also in the middle of a renewal with an unknown outcome', async () => {
    const { clock, server, a } = await led();
    server.fault = ({ verb }) => (verb === 'update' && holder(server) === 'a' ? 'lost' : undefined);
    await clock.advanceAsync(2500);
    server.fault = () => undefined;
    const released = a.elector.release();
    await clock.advanceAsync(10);
    await released;
    assert.equal(holder(server), '');
  });

  it('does not take longer than its limit', async () => {
    const { clock, server, a } = await led();
    server.fault = () => 'hung';
    let done = false;
    void a.elector.release(2000).then(() => {
      done = true;
    });
    await clock.advanceAsync(1999);
    assert.equal(done, false);
    await clock.advanceAsync(1);
    await settle();
    assert.equal(done, true);
  });

  it('leaves a lease alone that another holds by now', async () => {
    const { server, a } = await led();
    server.edit((lease) => ({ ...lease, spec: { ...lease.spec, holderIdentity: 'b' } }));
    await a.elector.release();
    assert.equal(holder(server), 'b');
  });

  it('gives back what an attempt won that was under way when the stop came', async () => {
    const { clock, server } = world();
    server.latency = 1000;
    const a = candidate(server, clock, 'a');
    void a.run();
    await clock.advanceAsync(1500);
    a.stop.abort(new Error('stop'));
    await clock.advanceAsync(5000);
    assert.equal(holder(server), '');
    assert.match(String(a.state.error), /stop/);
    assert.equal(a.state.acquired, false);
  });

  it('a candidate that is stopped while waiting writes nothing', async () => {
    const { clock, server } = await led();
    const b = candidate(server, clock, 'b');
    void b.run();
    await clock.advanceAsync(500);
    b.stop.abort(new Error('stop'));
    await settle();
    assert.match(String(b.state.error), /stop/);
    await b.elector.release();
    await clock.advanceAsync(60_000);
    assert.deepEqual(server.writesBy('b'), []);
  });

  it('abandon closes the gate and lets the lease expire', async () => {
    const { clock, server, a } = await led();
    const calls = server.requests.length;
    a.elector.abandon();
    await a.elector.release();
    assert.equal(clock.pendingTimers, 0);
    await clock.advanceAsync(60_000);
    assert.equal(server.requests.length, calls);
    assert.equal(a.elector.lost.aborted, false);
  });
});

function holder(server: LeaseServer): string | undefined {
  return server.lease?.spec?.holderIdentity;
}

function acquireTime(server: LeaseServer): string | undefined {
  return server.lease?.spec?.acquireTime;
}
