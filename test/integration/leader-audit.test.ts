/**
 * Three processes, one leader at a time, whatever happens to it: by the API server's own account. Brings a
 * control plane of its own, because that account is its audit log.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startControlPlane } from '../../local-cluster/control-plane.ts';
import { connect } from '../../src/runtime/client/connect.ts';
import { loadKubeConfig } from '../../src/runtime/client/load-kubeconfig.ts';
import { openGate } from '../../src/runtime/client/write-gate.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { assertOnlyLeadersWrote, turnsOf, writesOf } from './audit-log.ts';
import { compete, type TickerProcess } from './ticker-process.ts';

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

it('SIGSTOP for 20 s and SIGCONT, then SIGTERM: no write of a process that does not lead', async (t) => {
  const cluster = await startControlPlane({ controllerManager: false, scheduler: false, auditLog: true });
  t.after(() => cluster.stop());
  const { client, close } = connect({
    kubeConfig: loadKubeConfig({ env: { KUBECONFIG: cluster.kubeconfig } }),
    ...{ gate: openGate, clock: systemClock, log: silentLogger, userAgent: 'test', fieldManager: 'test' },
  });
  t.after(close);
  const lease = { namespace: 'default', name: 'three' };
  const { ticks, processes } = await compete(t, client, lease, ['a', 'b', 'c'], cluster.kubeconfig);
  const [a, b, c] = processes as [TickerProcess, TickerProcess, TickerProcess];

  a.send('SIGSTOP');
  const stopped = performance.now();
  const isStandby = (writer: string) => writer === b.identity || writer === c.identity;
  const { writer: second } = await ticks.next(isStandby, 60_000, 'a standby takes over');
  await wait(Math.max(0, stopped + 20_000 - performance.now()));
  a.send('SIGCONT');
  const exit = await a.ended;
  assert.equal(exit.code, 1);
  assert.match(
    exit.sentence,
    /^lost the leader lease default\/three: it was not renewed for 10 s; .* the process stopped, for (?:1\d|[2-9]\d) s or longer/,
  );

  const [next, last] = second === b.identity ? [b, c] : [c, b];
  next.send('SIGTERM');
  await ticks.next((writer) => writer === last.identity, 60_000, 'the last one takes over');
  assert.equal((await next.ended).code, 0);
  last.send('SIGTERM');
  assert.equal((await last.ended).code, 0);

  const writers = processes.map(({ identity }) => identity);
  const writes = await writesOf(cluster.auditLog, writers);
  await assertOnlyLeadersWrote(cluster.auditLog, writers);
  const turns = [a.identity, next.identity, last.identity];
  assert.deepEqual(turnsOf(writes, 'configmaps'), turns);
  assert.deepEqual(turnsOf(writes, 'leases'), turns);
  for (const { identity } of [next, last]) {
    const final = writes.findLast(({ writer }) => writer === identity);
    assert.equal(final?.resource, 'leases', `${identity} gives the lease back after everything else`);
  }
});
