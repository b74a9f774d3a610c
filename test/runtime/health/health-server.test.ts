import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { systemClock } from '../../../src/runtime/clock.ts';
import { HealthChecks } from '../../../src/runtime/health/health-checks.ts';
import { healthServer } from '../../../src/runtime/health/health-server.ts';
import { type Logger, silentLogger } from '../../../src/runtime/logger.ts';
import { FakeClock } from '../../fake/clock.ts';

describe('healthServer', () => {
  const lines: string[] = [];
  const log: Logger = {
    ...silentLogger,
    info: (_: unknown, message?: string) => lines.push(`info ${message}`),
    warn: (_: unknown, message?: string) => lines.push(`warn ${message}`),
  };
  const healthz = new HealthChecks('healthz', log, systemClock);
  const readyz = new HealthChecks('readyz', log, systemClock);
  const failures = new Map<string, string>();
  for (const name of ['ping', 'event-loop', 'leader-election']) {
    healthz.add(name, () => {
      const reason = failures.get(name);
      if (reason) throw new Error(reason);
    });
  }
  readyz.add('informers', async () => {
    if (failures.has('informers')) throw new Error('not synced');
  });
  const server = healthServer({ bindAddress: '127.0.0.1:0', healthz, readyz, log: silentLogger });
  before(() => server.start());
  after(() => server.stop());
  beforeEach(async () => {
    failures.clear();
    // The end of what an earlier test let fail is logged now, not in the middle of this one.
    for (const checks of [healthz, readyz]) await checks.report(new URLSearchParams());
    lines.length = 0;
  });
  const get = async (path: string) => {
    const response = await fetch(`http://${server.address}${path}`);
    return [response.status, await response.text()];
  };

  it('answers ok when all is well', async () => {
    for (const path of ['/healthz', '/healthz/', '/readyz', '/healthz/ping', '/readyz/informers']) {
      assert.deepEqual(await get(path), [200, 'ok'], path);
    }
  });

  it('lists the checks with ?verbose', async () => {
    assert.deepEqual(await get('/healthz?verbose'), [
      200,
      '[+]ping ok\n[+]event-loop ok\n[+]leader-election ok\nhealthz check passed\n',
    ]);
    assert.deepEqual(await get('/readyz?verbose=true'), [200, '[+]informers ok\nreadyz check passed\n']);
  });

  it('says which check fails and withholds why', async () => {
    failures.set('event-loop', 'the password is 1234');
    assert.deepEqual(await get('/healthz'), [
      500,
      '[+]ping ok\n[-]event-loop failed: reason withheld\n[+]leader-election ok\nhealthz check failed\n',
    ]);
    assert.deepEqual(await get('/healthz/event-loop'), [
      500,
      '[-]event-loop failed: reason withheld\nhealthz check failed\n',
    ]);
    assert.deepEqual(await get('/healthz/ping'), [200, 'ok']);
    assert.deepEqual(await get('/readyz'), [200, 'ok']);
  });

  it('lists a failure that does not count, and answers ok all the same', async () => {
    const checks = new HealthChecks('readyz', silentLogger, systemClock);
    checks.add('informers', () => {});
    checks.add('policy', () => Promise.reject(new Error('the policy is gone')), { required: false });
    assert.equal((await checks.report(new URLSearchParams())).status, 200);
    const { status, body } = await checks.report(new URLSearchParams('verbose'));
    const list =
      '[+]informers ok\n[!]policy failed, which does not count: reason withheld\nreadyz check passed\n';
    assert.deepEqual([status, body], [200, list]);
  });

  it('leaves out what ?exclude names', async () => {
    failures.set('event-loop', 'x');
    assert.deepEqual(await get('/healthz?exclude=event-loop'), [200, 'ok']);
    failures.set('ping', 'x');
    assert.deepEqual(await get('/healthz?exclude=event-loop&exclude=ping&verbose'), [
      200,
      '[+]ping excluded: ok\n[+]event-loop excluded: ok\n[+]leader-election ok\nhealthz check passed\n',
    ]);
    assert.deepEqual(await get('/readyz?exclude=nonsense&verbose'), [
      200,
      '[+]informers ok\nwarn: some checks could not be excluded: there are none of that name\nreadyz check passed\n',
    ]);
  });

  it('awaits checks that are promises', async () => {
    failures.set('informers', 'x');
    assert.equal((await get('/readyz'))[0], 500);
  });

  it('logs when a check begins to fail and when it passes again, once each', async () => {
    failures.set('ping', 'x');
    for (let probe = 0; probe < 5; probe++) await get('/healthz');
    failures.clear();
    for (let probe = 0; probe < 5; probe++) await get('/healthz');
    assert.deepEqual(lines, ['warn health check fails', 'info health check passes again']);
  });

  it('knows no other path', async () => {
    for (const path of ['/', '/livez', '/metrics', '/healthz/nonsense', '/healthz/ping/more', '/healthzz']) {
      assert.equal((await get(path))[0], 404, path);
    }
  });
});

describe('HealthChecks', () => {
  it('refuses a name twice, and one that could not be part of a path', () => {
    const checks = new HealthChecks('healthz', silentLogger, systemClock);
    checks.add('ping', () => {});
    assert.throws(() => checks.add('ping', () => {}), /already/);
    assert.throws(() => checks.add('a/b', () => {}), /no name/);
  });

  it('takes a check that does not answer within 5 s for failed', async () => {
    const clock = new FakeClock();
    const checks = new HealthChecks('healthz', silentLogger, clock);
    checks.add('hangs', () => new Promise(() => {}));
    const reply = checks.report(new URLSearchParams());
    await clock.advanceAsync(5000);
    assert.equal((await reply).status, 500);
    assert.equal(clock.pendingTimers, 0);
  });
});
