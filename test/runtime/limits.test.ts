/** The time limits that guarantees rest on, and their sums. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Leadership } from '../../src/runtime/leader/leadership.ts';
import {
  assertWriteFits,
  breakOffLimit,
  checkedDurations,
  type Durations,
  deadControllerLimit,
  defaultDurations,
  defaultRequestTimeouts,
  eventLoopLagLimit,
  flushLimit,
  hangLimit,
  informerSilenceLimit,
  leaseCallLimit,
  leaseCallsPerDeadline,
  reachLimit,
  releaseLimit,
  retryJitter,
} from '../../src/runtime/limits.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { type CreateManagerOptions, createManager } from '../../src/runtime/manager/create-manager.ts';
import { FakeApiServer } from '../fake/api-server.ts';
import { FakeClock } from '../fake/clock.ts';

const second = 1000;
/** Of a Pod, when nothing else is said. */
const terminationGracePeriod = 30 * second;
/** The kubelet's defaults: three failures, ten seconds apart. */
const livenessPatience = 3 * 10 * second;

describe('Limits: their sums', () => {
  const { leaseDuration, renewDeadline, retryPeriod, gracefulShutdownTimeout } = defaultDurations;

  it('I8: what a leader sends at the last moment is over before a rival may lead', () => {
    assert.ok(renewDeadline + defaultRequestTimeouts.write <= leaseDuration);
    const leadership = new Leadership(new FakeClock(), renewDeadline, leaseDuration);
    assert.equal(leadership.writeLimit, leaseDuration - renewDeadline);
  });

  it('two lease calls that hang fit into the renew deadline', () => {
    assert.ok(leaseCallLimit * leaseCallsPerDeadline <= renewDeadline);
    assert.ok(retryPeriod * (1 + retryJitter) + leaseCallLimit < renewDeadline);
  });

  it('I17: a stop takes less than 25 s, and fits into the grace period of a Pod', () => {
    assert.ok(gracefulShutdownTimeout + flushLimit + releaseLimit < 25 * second);
    assert.ok(gracefulShutdownTimeout + breakOffLimit < 25 * second);
    assert.ok(25 * second < terminationGracePeriod);
  });

  it('a blocked event loop costs the leadership before it costs the process', () => {
    assert.ok(renewDeadline <= eventLoopLagLimit);
    assert.ok(eventLoopLagLimit < livenessPatience);
  });

  it('a hanging reconcile is reported long before it is a reason for a restart', () => {
    assert.ok(hangLimit < deadControllerLimit);
    assert.ok(deadControllerLimit <= informerSilenceLimit);
  });

  it('a page of a list that takes its whole time is no lack of progress', () => {
    assert.ok(defaultRequestTimeouts.list <= defaultDurations.cacheSyncTimeout);
    assert.ok(defaultRequestTimeouts.read <= reachLimit);
  });
});

const misfits: readonly { readonly durations: Durations; readonly sentence: RegExp }[] = [
  {
    durations: { leaseDuration: 10_000 },
    sentence: /^renewDeadline \(10000 ms\) must be shorter than leaseDuration/,
  },
  { durations: { renewDeadline: 15_000 }, sentence: /^renewDeadline \(15000 ms\) must be shorter/ },
  { durations: { retryPeriod: 9500 }, sentence: /^retryPeriod \(9500 ms, and a tenth\) must be shorter/ },
  { durations: { leaseDuration: 15_500 }, sentence: /^leaseDuration must be whole seconds, got 15500 ms$/ },
  { durations: { cacheSyncTimeout: 0 }, sentence: /^cacheSyncTimeout must be more than 0 and at most/ },
  { durations: { gracefulShutdownTimeout: -1 }, sentence: /^gracefulShutdownTimeout must be more than 0/ },
  { durations: { retryPeriod: Number.NaN }, sentence: /^retryPeriod must be more than 0/ },
  {
    durations: { gracefulShutdownTimeout: Infinity },
    sentence: /^gracefulShutdownTimeout must be more than 0/,
  },
];

describe('Limits: durations that are chosen', () => {
  it('have defaults, one by one', () => {
    assert.deepEqual(checkedDurations({}), defaultDurations);
    assert.deepEqual(checkedDurations({ retryPeriod: 1000 }), { ...defaultDurations, retryPeriod: 1000 });
  });

  for (const { durations, sentence } of misfits) {
    it(`${JSON.stringify(durations)} is refused with one sentence`, () => {
      assert.throws(() => checkedDurations(durations), { name: 'RangeError', message: sentence });
    });
  }

  it('a write that could act under the next leader is refused', () => {
    assert.throws(() => assertWriteFits(5000, checkedDurations({ renewDeadline: 11_000 })), {
      name: 'RangeError',
      message:
        'requestTimeouts.write (5000 ms) must not be longer than leaseDuration - renewDeadline (4000 ms): ' +
        'what a leader sends must be over before another replica may lead',
    });
    assertWriteFits(30_000, checkedDurations({ leaseDuration: 60_000, renewDeadline: 30_000 }));
  });

  it('createManager checks them, the write only with leader election', async (t) => {
    const server = await FakeApiServer.start();
    t.after(() => server.stop());
    const create = (leaderElection: boolean, durations: Partial<CreateManagerOptions>) =>
      createManager({
        ...{ name: 'x', kubeConfig: server.kubeConfig(), log: silentLogger, leaderElection },
        ...durations,
      });
    assert.throws(() => create(false, { retryPeriod: 20_000 }), /^RangeError: retryPeriod/);
    assert.throws(() => create(true, { renewDeadline: 11_000 }), /^RangeError: requestTimeouts.write/);
    create(true, { renewDeadline: 11_000, requestTimeouts: { write: 4000 } }).connection.close();
    create(false, { renewDeadline: 11_000 }).connection.close();
  });
});
