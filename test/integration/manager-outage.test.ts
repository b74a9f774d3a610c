/** What an API server that is away does to a leader and to a standby. Brings a control plane of its own. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startControlPlane } from '../../local-cluster/control-plane.ts';
import { type ConfigMap, configMaps } from '../../src/kubernetes/objects.ts';
import { connect } from '../../src/runtime/client/connect.ts';
import { loadKubeConfig } from '../../src/runtime/client/load-kubeconfig.ts';
import { openGate } from '../../src/runtime/client/write-gate.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { outputOf } from '../fixtures/ticker-operator.ts';
import { assertOnlyLeadersWrote, turnsOf, writesOf } from './audit-log.ts';
import { eventually } from './support.ts';
import { TickerProcess } from './ticker-process.ts';

const namespace = 'default';
const name = 'outage';

it('30 s without an API server: the leader ends, the standby lives and takes over', async (t) => {
  const cluster = await startControlPlane({ controllerManager: false, scheduler: false, auditLog: true });
  t.after(() => cluster.stop());
  const connection = connect({
    kubeConfig: loadKubeConfig({ env: { KUBECONFIG: cluster.kubeconfig } }),
    ...{ gate: openGate, clock: systemClock, log: silentLogger, userAgent: 'test', fieldManager: 'test' },
  });
  t.after(() => connection.close());
  const { client } = connection;
  for (const object of [name, outputOf(name)]) {
    await client.create(configMaps, { metadata: { namespace, name: object } });
  }
  const a = new TickerProcess(t, { identity: 'ticker-a', namespace, name }, cluster.kubeconfig);
  await a.logged('reconcile ends');
  const b = new TickerProcess(t, { identity: 'ticker-b', namespace, name }, cluster.kubeconfig);
  await b.logged('another process leads');

  await cluster.stopApiServer();
  const away = performance.now();
  const exit = await a.ended;
  assert.equal(exit.code, 1);
  assert.match(exit.sentence, /^lost the leader lease default\/outage: it was not renewed for 10 s$/);
  const lasted = exit.at - away;
  // That it writes nothing after the 10 s says the audit log; a busy machine may take seconds for its end.
  assert.ok(lasted >= 7000 && lasted <= 25_000, `the leader lasted ${Math.round(lasted)} ms`);

  await new Promise((resolve) => setTimeout(resolve, Math.max(0, away + 30_000 - performance.now())));
  await cluster.startApiServer();
  await eventually(
    async () =>
      (await client.get<ConfigMap>(configMaps, { namespace, name: outputOf(name) })).data?.writer ===
      b.identity,
    { timeout: 60_000, message: 'the standby leads and writes' },
  );
  assert.equal(b.log.filter(({ msg }) => msg === 'ready').length, 1, 'it was not started again');
  b.send('SIGTERM');
  assert.equal((await b.ended).code, 0);

  const writes = await writesOf(cluster.auditLog, [a.identity, b.identity]);
  await assertOnlyLeadersWrote(cluster.auditLog, [a.identity, b.identity]);
  for (const resource of ['configmaps', 'leases']) {
    assert.deepEqual(turnsOf(writes, resource), [a.identity, b.identity], `who wrote ${resource}, in turns`);
  }
});
