/** The life of a Manager as a process, on a real API server. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { parse, stringify } from 'yaml';
import type { Client } from '../../src/runtime/client/client.ts';
import { leases } from '../../src/runtime/leader/lease.ts';
import { parseExposition, sampleOf } from '../runtime/metrics/exposition.ts';
import { readByPrometheus } from './prometheus.ts';
import { connectToTestCluster, withNamespace } from './support.ts';
import { TickerProcess, Ticks } from './ticker-process.ts';

let client: Client;
before(() => {
  client = connectToTestCluster().client;
});

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

interface KubeConfigFile {
  readonly clusters: { cluster: { server: string } }[];
  readonly users: { user: { as?: string } }[];
}

/** A copy of the test cluster's kubeconfig, changed. */
async function changedKubeConfig(t: TestContext, change: (file: KubeConfigFile) => void): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'kubeconfig-'));
  t.after(() => rm(folder, { recursive: true }));
  const content: KubeConfigFile = parse(await readFile(process.env.KUBECONFIG ?? '', 'utf8'));
  change(content);
  const path = join(folder, 'config');
  await writeFile(path, stringify(content));
  return path;
}

describe('a manager that cannot start says why in one sentence', { concurrency: true }, () => {
  const options = { identity: 'a', namespace: 'default', name: 'unstarted', leaderElection: false };

  it('when a CRD is not installed', async (t) => {
    const { code, sentence } = await new TickerProcess(t, { ...options, missingKind: true }).ended;
    assert.equal(code, 1);
    assert.equal(
      sentence,
      'tickers.nowhere.example.com (v1) is not served: its CustomResourceDefinition is not installed; ' +
        'install it with: make install',
    );
  });

  it('when a right is missing', async (t) => {
    const kubeconfig = await changedKubeConfig(t, ({ users }) => {
      for (const { user } of users) user.as = 'nobody-in-particular';
    });
    const { code, sentence } = await new TickerProcess(t, options, kubeconfig).ended;
    assert.equal(code, 1);
    assert.match(sentence, /^configmaps cannot be watched: .*cannot (list|watch) resource "configmaps"/);
    assert.equal(sentence.split('\n').length, 1);
  });

  it('when the API server cannot be reached for 30 s', async (t) => {
    const kubeconfig = await changedKubeConfig(t, ({ clusters }) => {
      for (const { cluster } of clusters) cluster.server = 'https://127.0.0.1:1';
    });
    const begun = performance.now();
    const { code, sentence, at } = await new TickerProcess(t, options, kubeconfig).ended;
    assert.equal(code, 1);
    assert.equal(
      sentence,
      'cannot reach the API server at https://127.0.0.1:1: connection refused; ' +
        'check KUBECONFIG and that the cluster is running',
    );
    // The upper limit is for the start of a process on a busy machine, too.
    assert.ok(at - begun >= 30_000 && at - begun < 90_000, `after ${at - begun} ms`);
  });
});

describe('a manager that runs', { concurrency: true }, () => {
  it('lets a reconcile end on SIGTERM, gives the lease back, and exits with 0', async (t) => {
    const namespace = await withNamespace(t);
    const name = 'slow';
    const ticks = await Ticks.follow(t, client, namespace, name);
    const ticker = new TickerProcess(t, { identity: 'a', namespace, name, reconcileTime: 3000 });
    await ticker.logged('reconcile begins');
    ticker.send('SIGTERM');
    const { code, sentence } = await ticker.ended;
    assert.deepEqual({ code, sentence }, { code: 0, sentence: '' });
    assert.ok(
      ticker.log.some(({ msg }) => msg === 'reconcile ends'),
      'the reconcile ended',
    );
    await wait(500);
    assert.equal(ticks.all.length, 1, 'it wrote, and nothing new was taken up');
    const { spec } = await client.get(leases, { namespace, name });
    assert.deepEqual([spec?.holderIdentity, spec?.leaseDurationSeconds], ['', 1]);
  });

  it('shows health and metrics, as a leader and as a standby', async (t) => {
    const namespace = await withNamespace(t);
    const name = 'seen';
    await Ticks.follow(t, client, namespace, name);
    const leader = new TickerProcess(t, { identity: 'a', namespace, name });
    await leader.logged('reconcile ends');
    const standby = new TickerProcess(t, { identity: 'b', namespace, name });
    await standby.logged('another process leads');
    for (const ticker of [leader, standby]) {
      assert.equal(await ticker.get('/readyz?verbose'), '[+]informers ok\nreadyz check passed\n');
      assert.equal(
        await ticker.get('/healthz?verbose'),
        '[+]ping ok\n[+]event-loop ok\n[+]informers ok\n[+]leader-election ok\n[+]controllers ok\nhealthz check passed\n',
      );
    }
    const scrape = await leader.get('/metrics');
    const problems = (await readByPrometheus(scrape)) ?? [];
    // How the client library names the metrics of Node.js is known to dashboards.
    assert.deepEqual(
      problems.filter((problem) => !problem.startsWith('nodejs_')),
      [],
    );
    const ofLeader = parseExposition(scrape);
    const ofStandby = parseExposition(await standby.get('/metrics'));
    assert.equal(sampleOf(ofLeader, 'leader_election_master_status', { name }), 1);
    assert.equal(sampleOf(ofStandby, 'leader_election_master_status', { name }), 0);
    const reconciled = { controller: 'ticker', result: 'requeue_after' };
    assert.ok((sampleOf(ofLeader, 'controller_runtime_reconcile_total', reconciled) ?? 0) > 0);
    for (const result of ['success', 'error', 'requeue', 'requeue_after']) {
      const labels = { controller: 'ticker', result };
      assert.equal(sampleOf(ofStandby, 'controller_runtime_reconcile_total', labels), 0, result);
    }
    for (const family of [
      'workqueue_depth',
      'workqueue_adds_total',
      'rest_client_requests_total',
      'informer_objects',
      'event_recorder_events_total',
      'process_resident_memory_bytes',
    ]) {
      assert.ok(ofStandby.has(family), family);
    }
  });
});
