/** The durations of a Manager, and the sentences with which it ends. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TransportError } from '../../../src/runtime/client/api-error.ts';
import { inScope } from '../../../src/runtime/controller/reconcile-scope.ts';
import { FakeClock, settle } from '../../fake/clock.ts';
import { LeaseServer } from '../leader/lease-server.ts';
import { ManagerWorld, pair, running } from './manager-world.ts';

describe('Manager: durations', () => {
  const durations = { leaseDuration: 60_000, renewDeadline: 40_000, retryPeriod: 5000 };

  it('those of the lease are kept, written and looked at', async () => {
    const clock = new FakeClock();
    const leases = new LeaseServer(clock);
    const shared = { clock, leases, leaderElection: true, durations };
    const { world: a } = await running(shared);
    assert.equal(leases.lease?.spec?.leaseDurationSeconds, 60);
    const b = new ManagerWorld({ ...shared, identity: 'b' });
    const workerOfB = b.add('worker');
    b.start();
    await clock.advanceAsync(20_000);
    leases.fault = ({ by }) => (by === 'a' ? 'hung' : undefined);
    await clock.advanceAsync(34_000);
    assert.equal(a.isRunning, true);
    await clock.advanceAsync(7000);
    assert.match(a.state.error?.message ?? '', /it was not renewed for 40 s$/);
    await clock.advanceAsync(12_000);
    assert.equal(workerOfB.started, false);
    await clock.advanceAsync(9000);
    assert.equal(workerOfB.started, true);
  });

  it('that do not fit each other are refused', () => {
    assert.throws(
      () => new ManagerWorld({ durations: { leaseDuration: 9000 } }),
      /^RangeError: renewDeadline/,
    );
  });
});

describe('Manager: ends with a sentence', () => {
  it('when an error in a reconcile is not caught, with its controller, object and request', async () => {
    const { world } = await running();
    const request = new TransportError(
      'PATCH https://10.0.0.1:6443/api/v1/namespaces/default/pods/p: cut',
      true,
    );
    const scope = { controller: 'at', request: { namespace: 'default', name: 'a' }, wrote() {} };
    inScope(scope, () => world.manager.fatal(new Error('not awaited', { cause: request })));
    await settle();
    assert.equal(
      world.state.error?.message,
      `ended by an unexpected error in controller at for default/a: not awaited: ${request.message}`,
    );
  });

  it('when a runnable fails, with the causes of its error', async () => {
    const { world, worker } = await running();
    const cause = new TransportError('GET https://10.0.0.1:6443/apis: connection refused', false);
    worker.work.reject(new Error('cannot find its kind', { cause }));
    await settle();
    assert.equal(world.state.error?.message, `worker failed: cannot find its kind: ${cause.message}`);
  });

  const standstill =
    /; the event loop was blocked, or the process stopped, for (\d+) s or longer before that$/;

  it('when the lease is lost after the event loop was blocked: the sentence says so', async () => {
    const { clock, a } = await pair();
    clock.suspend(12_000, { monotonic: 'moves' });
    await clock.advanceAsync(0);
    const { message = '' } = a.state.error ?? {};
    assert.match(message, /^lost the leader lease system\/test: it was not renewed for 10 s;/);
    assert.ok(['10', '11', '12'].includes(standstill.exec(message)?.[1] ?? ''), message);
  });

  it('and when that was while a renewal was under way', async () => {
    const { clock, leases, a } = await pair();
    leases.latency = 100;
    const sent = leases.requests.length;
    while (leases.requests.length === sent) await clock.advanceAsync(10);
    clock.suspend(12_000, { monotonic: 'moves' });
    await clock.advanceAsync(0);
    assert.match(a.state.error?.message ?? '', standstill);
  });

  it('when the lease is lost for another reason, the sentence says nothing of the event loop', async () => {
    const { clock, leases, a } = await pair();
    leases.fault = ({ by }) => (by === 'a' ? 'hung' : undefined);
    clock.suspend(2500, { monotonic: 'moves' });
    await clock.advanceAsync(12_000);
    assert.equal(a.state.error?.message, 'lost the leader lease system/test: it was not renewed for 10 s');
  });
});
