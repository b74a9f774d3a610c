/**
 * What one ConfigMap costs that many ConfigWatchers watch: how often it is read at each edit, by the API server's own
 * account. Brings a control plane of its own, for its audit log.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { startOperator } from '../../hack/operator-process.ts';
import { startControlPlane } from '../../local-cluster/control-plane.ts';
import { configWatchers } from '../../src/api/resources.ts';
import { configMaps } from '../../src/kubernetes/objects.ts';
import { connect } from '../../src/runtime/client/connect.ts';
import { loadKubeConfig } from '../../src/runtime/client/load-kubeconfig.ts';
import { openGate } from '../../src/runtime/client/write-gate.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { inParallel } from '../fixtures/in-parallel.ts';
import { readAuditLog } from '../simulation/audit-history.ts';
import { eventually } from './support.ts';

const watchers = 200;
const edits = 5;
const namespace = 'default';
const large = 'x'.repeat(500_000);
/** So long a read serves all, milliseconds: of a slow machine an edit takes more of them. */
const sharedForMs = 2000;

interface Line {
  readonly verb: string;
  readonly userAgent?: string;
  readonly objectRef?: { readonly resource?: string; readonly name?: string };
}

/** An edit is read as it is seen and again before it is applied, each time once and as often as a read gets too old. */
function mostReads(tookMs: number): number {
  return 2 * (1 + Math.ceil(tookMs / sharedForMs));
}

it(`${watchers} ConfigWatchers of one ConfigMap of 500 KB share the reads of each edit`, {
  timeout: 560_000,
}, async (t) => {
  const cluster = await startControlPlane({ controllerManager: false, scheduler: false, auditLog: true });
  const directory = await mkdtemp(join(tmpdir(), 'atwatch-reads-'));
  t.after(async () => {
    await cluster.stop();
    await rm(directory, { recursive: true, force: true });
  });
  await cluster.kubectl(['apply', '--server-side', '--kustomize=crds']);
  const { client, close } = connect({
    kubeConfig: loadKubeConfig({ env: { KUBECONFIG: cluster.kubeconfig } }),
    ...{ gate: openGate, clock: systemClock, log: silentLogger, userAgent: 'test', fieldManager: 'test' },
  });
  t.after(close);
  const reads = async (...names: string[]) => {
    const lines = (await readAuditLog(cluster.auditLog))
      .filter(Boolean)
      .map((line): Line => JSON.parse(line));
    return lines.filter(({ verb, userAgent, objectRef }) => {
      const isOfOperator = userAgent?.startsWith('atwatch/') === true;
      return (
        isOfOperator &&
        verb === 'get' &&
        objectRef?.resource === 'configmaps' &&
        names.includes(objectRef.name ?? '')
      );
    }).length;
  };
  const key = { namespace, name: 'shared' };
  await client.create(configMaps, { metadata: key, data: { edit: '0', large } });
  await inParallel(watchers, 16, (index) =>
    client.create(configWatchers, {
      metadata: { namespace, name: `watcher-${index}` },
      spec: {
        ...{ configMap: key.name, podSelector: { app: `none-${index}` } },
        cooldown: { base: '0s' },
      },
    }),
  );
  const operator = await startOperator(cluster.kubeconfig, join(directory, 'operator.log'));
  t.after(() => operator.stop());
  const applied = (message: string, holds: (hash: string | undefined) => boolean) =>
    eventually(
      async () => {
        const { items } = await client.list(configWatchers, { namespace });
        const done = items.every(({ status }) => holds(status?.appliedHash) && status?.pending === undefined);
        return done && items[0]?.status?.appliedHash;
      },
      { timeout: 120_000, interval: 250, message },
    );
  let hash = await applied('all have their baseline', (one) => one !== undefined);
  let before = await reads('shared');
  const counts: { readonly reads: number; readonly most: number }[] = [];
  for (let edit = 1; edit <= edits; edit++) {
    const begun = performance.now();
    await client.patch(configMaps, key, { type: 'merge', body: { data: { edit: String(edit) } } });
    const last = hash;
    hash = await applied(`all have applied edit ${edit}`, (one) => one !== undefined && one !== last);
    const most = mostReads(performance.now() - begun);
    const after = await reads('shared');
    counts.push({ reads: after - before, most });
    before = after;
  }
  // What has not moved is not read: another ConfigMap, and this one for an edit of the watchers alone.
  const other = { namespace, name: 'other' };
  await client.create(configMaps, { metadata: other, data: { edit: '0' } });
  await client.patch(configMaps, other, { type: 'merge', body: { data: { edit: '1' } } });
  await inParallel(watchers, 16, (index) => {
    const watcher = { namespace, name: `watcher-${index}` };
    return client.patch(configWatchers, watcher, { type: 'merge', body: { spec: { suspend: true } } });
  });
  const seen = async () => {
    const { items } = await client.list(configWatchers, { namespace });
    return items.every(({ metadata, status }) => status?.observedGeneration === metadata.generation);
  };
  await eventually(seen, { timeout: 120_000, interval: 250, message: 'all have seen their edit' });
  assert.equal((await reads('shared', 'other')) - before, 0);
  const told = `reads per edit: ${counts.map(({ reads, most }) => `${reads} of ${most}`).join(', ')}`;
  t.diagnostic(told);
  assert.ok(
    counts.every(({ reads, most }) => reads >= 1 && reads <= most),
    told,
  );
});
