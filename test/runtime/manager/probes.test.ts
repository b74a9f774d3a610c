import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from '@prometheus-io/client';
import type { Client } from '../../../src/runtime/client/client.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { Probes } from '../../../src/runtime/manager/probes.ts';
import { FakeClock } from '../../fake/clock.ts';

function probed(healthProbeBindAddress = '0') {
  const clock = new FakeClock();
  const state: { silence: number; problems: { message: string }[] } = { silence: 0, problems: [] };
  const probes = new Probes(
    {
      ...{ metricsBindAddress: '0', healthProbeBindAddress, registry: new Registry() },
      ...{ clock, log: silentLogger },
    },
    {
      ...{ isReady: () => true, problems: () => state.problems },
      ...{ sinceLastContact: () => state.silence, isStaleLeader: () => false },
    },
    {} as Client,
  );
  const health = () => probes.healthz.report(new URLSearchParams());
  return { clock, state, probes, health };
}

describe('Probes: I19', () => {
  it('an informer may be silent for 15 minutes, not longer', async () => {
    const { state, health } = probed();
    state.silence = 15 * 60_000;
    assert.equal((await health()).status, 200);
    state.silence++;
    const { status, body } = await health();
    assert.equal(status, 500);
    assert.match(body, /^\[-\]informers failed: reason withheld$/m);
  });

  it('is not ready while an informer cannot follow its resource', async () => {
    const { state, probes, health } = probed();
    const ready = async () => (await probes.readyz.report(new URLSearchParams())).status;
    assert.equal(await ready(), 200);
    state.problems = [{ message: 'ats.example.com (v1) is not served' }];
    assert.equal(await ready(), 500);
    assert.equal((await health()).status, 200, 'a restart would not help');
    state.problems = [];
    assert.equal(await ready(), 200);
  });

  it('an event loop that stood still is seen by the probe after it, also when it turns again', async () => {
    const { clock, probes, health } = probed('127.0.0.1:0');
    await probes.start();
    clock.suspend(12_000, { monotonic: 'moves' });
    clock.advance(5000);
    const { status, body } = await health();
    assert.equal(status, 500);
    assert.match(body, /^\[-\]event-loop failed: reason withheld$/m);
    clock.advance(15_000);
    assert.equal((await health()).status, 200);
    await probes.stop();
    assert.equal(clock.pendingTimers, 0);
  });

  it('a process that serves no health checks is not woken for them', async () => {
    const { clock, probes } = probed();
    await probes.start();
    assert.equal(clock.pendingTimers, 0);
    await probes.stop();
  });
});
