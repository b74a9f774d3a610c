/** Leader election between real processes on a real API server. Each test has a Lease of its own. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { parseTime } from '../../src/kubernetes/time.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { leases } from '../../src/runtime/leader/lease.ts';
import { connectToTestCluster, eventually, withNamespace } from './support.ts';
import { compete, type TickerProcess } from './ticker-process.ts';

let client: Client;
before(() => {
  client = connectToTestCluster().client;
});

/** {@link compete} in a namespace of the test's own. */
async function competeHere(t: TestContext, name: string, identities: readonly string[]) {
  const namespace = await withNamespace(t);
  const rivals = await compete(t, client, { namespace, name }, identities);
  return { ...rivals, namespace, lease: () => client.get(leases, { namespace, name }) };
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

describe('leader election between processes', { concurrency: true }, () => {
  it('SIGKILL: the standby takes over when the Lease has expired, and never before', async (t) => {
    const { ticks, processes, lease } = await competeHere(t, 'killed', ['a', 'b']);
    const [a, b] = processes as [TickerProcess, TickerProcess];
    await wait(3000);
    assert.deepEqual(ticks.turns, [a.identity], 'the standby writes nothing');
    a.send('SIGKILL');
    const renewedAt = parseTime((await lease()).spec?.renewTime ?? '');
    const { at } = await ticks.next((writer) => writer === b.identity, 60_000, 'the standby writes');
    const tookMs = Math.round(Date.now() - (performance.now() - at) - renewedAt);
    t.diagnostic(`takeover ${tookMs} ms after the last renewal`);
    // A lease lasts 15 s from when the standby has seen that; the two clocks may differ a little.
    assert.ok(tookMs >= 14_900 && tookMs <= 30_000, `takeover after ${tookMs} ms`);
    assert.deepEqual(ticks.turns, [a.identity, b.identity]);
    const { spec } = await lease();
    assert.equal(spec?.holderIdentity, b.identity);
    assert.equal(spec?.leaseTransitions, 1);
    assert.match(spec?.renewTime ?? '', /\.\d{6}Z$/);
  });

  it('SIGTERM: the standby takes over within 10 s; then a deleted Lease changes nothing, a stolen one ends it', async (t) => {
    const { namespace, ticks, processes, lease } = await competeHere(t, 'ended', ['a', 'b']);
    const [a, b] = processes as [TickerProcess, TickerProcess];
    a.send('SIGTERM');
    const ended = performance.now();
    const { at } = await ticks.next((writer) => writer === b.identity, 40_000, 'the standby writes');
    t.diagnostic(`takeover after ${Math.round(at - ended)} ms`);
    // Without its release the Lease would not be free before 12.5 s.
    assert.ok(at - ended <= 10_000, `takeover after ${Math.round(at - ended)} ms`);
    assert.deepEqual(ticks.turns, [a.identity, b.identity]);
    assert.deepEqual(await a.ended.then(({ code, sentence }) => ({ code, sentence })), {
      code: 0,
      sentence: '',
    });

    await client.delete(leases, { namespace, name: 'ended' });
    await eventually(async () => (await lease()).spec?.holderIdentity === b.identity, {
      timeout: 12_000,
      message: 'its holder writes the lease anew',
    });
    await ticks.next((writer) => writer === b.identity, 30_000, 'it goes on');

    const spec = { holderIdentity: 'intruder', leaseDurationSeconds: 15 };
    await client.patch(leases, { namespace, name: 'ended' }, { type: 'merge', body: { spec } });
    const exit = await b.ended;
    assert.deepEqual([exit.code, exit.signal], [1, null]);
    assert.match(exit.sentence, /^lost the leader lease .*\/ended: intruder holds it now$/);
    assert.equal((await lease()).spec?.holderIdentity, 'intruder', 'it does not touch what is not its own');
  });
});
