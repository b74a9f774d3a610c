/**
 * Real control planes; each test starts its own.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type ControlPlaneOptions, startControlPlane } from '../../../local-cluster/control-plane.ts';
import { isFree } from '../../../local-cluster/ports.ts';
import { findPrograms } from '../../../local-cluster/programs.ts';
import { waitFor } from '../../../local-cluster/wait.ts';

async function start(t: TestContext, options?: ControlPlaneOptions) {
  const cluster = await startControlPlane(options);
  t.after(() => cluster.stop());
  return cluster;
}

function configMap(name: string): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
}

test('two control planes at once share nothing, and a stopped one leaves nothing', async (t) => {
  const [one, two] = await Promise.all([start(t), start(t)]);
  assert.notEqual(one.server, two.server);
  assert.match(one.server, /^https:\/\/127\.0\.0\.1:\d+$/);
  await one.kubectl(['create', '-f', '-'], configMap('only-in-one'));
  await assert.rejects(two.kubectl(['get', 'configmap', 'only-in-one']), /NotFound/);
  assert.equal(
    await two.kubectl(['get', 'serviceaccount', 'default', '-o', 'name']),
    'serviceaccount/default\n',
  );

  await one.stop();
  assert.ok(!existsSync(one.directory));
  assert.ok(await isFree(Number(new URL(one.server).port)));
  assert.equal(await two.kubectl(['get', '--raw', '/readyz']), 'ok');
});

test('the garbage collector works, and the audit log has each request without its body', async (t) => {
  const cluster = await start(t, { auditLog: true });
  const owner = JSON.parse(await cluster.kubectl(['create', '-o', 'json', '-f', '-'], configMap('owner')));
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid }];
  const owned = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'owned', ownerReferences },
    data: { a: 'not for the log' },
  };
  await cluster.kubectl(['create', '-f', '-'], JSON.stringify(owned));
  await cluster.kubectl(['delete', 'configmap', 'owner']);
  await cluster.kubectl(['wait', '--for=delete', 'configmap/owned', '--timeout=30s']);

  const log = readFileSync(cluster.auditLog ?? '', 'utf8');
  const events = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const creations = events.filter(
    ({ verb, objectRef }) =>
      verb === 'create' && objectRef?.resource === 'configmaps' && objectRef?.name === 'owned',
  );
  assert.equal(creations.length, 1);
  assert.equal(creations[0].responseStatus.code, 201);
  assert.ok(!log.includes('not for the log'));
});

test('a killed API server comes back on its port with its data', async (t) => {
  const cluster = await start(t, { controllerManager: false, scheduler: false });
  await cluster.kubectl(['create', '-f', '-'], configMap('kept'));
  await cluster.stopApiServer();
  assert.ok(await isFree(Number(new URL(cluster.server).port)));
  await assert.rejects(cluster.kubectl(['get', 'configmap', 'kept']), /refused/);
  await cluster.startApiServer();
  assert.equal(await cluster.kubectl(['get', 'configmap', 'kept', '-o', 'name']), 'configmap/kept\n');
});

test('a component that dies at the start is reported with its log, and nothing is left', async () => {
  const apiServerArgs = ['--no-such-flag'];
  const started = performance.now();
  await assert.rejects(startControlPlane({ apiServerArgs }), {
    name: 'ClusterError',
    message: /^kube-apiserver died \(exit code 1\); its log ends with:\n.*unknown flag: --no-such-flag/s,
  });
  assert.ok(performance.now() - started < 55_000, 'before the limit of the wait');
});

test('arguments for the API server replace its own; a start can be given up', async (t) => {
  const cluster = await start(t, {
    controllerManager: false,
    scheduler: false,
    apiServerArgs: ['--service-cluster-ip-range=10.77.0.0/24'],
  });
  const address = await waitFor({ what: 'the Service', limit: 20_000 }, () =>
    cluster.kubectl(['get', 'service', 'kubernetes', '-o', 'jsonpath={.spec.clusterIP}']),
  );
  assert.equal(address, '10.77.0.1');

  const reason = new Error('enough');
  const abort = new AbortController();
  const given = startControlPlane({ signal: abort.signal });
  setTimeout(() => abort.abort(reason), 500);
  await assert.rejects(given, reason);
});

test('official programs without controllers make a control plane that takes Pods', async (t) => {
  const { path } = await findPrograms();
  const assets = mkdtempSync(join(tmpdir(), 'atwatch-test-'));
  for (const name of ['etcd', 'kube-apiserver', 'kubectl']) {
    symlinkSync(path(name), join(assets, name));
  }
  const before = process.env.KUBEBUILDER_ASSETS;
  process.env.KUBEBUILDER_ASSETS = assets;
  t.after(() => {
    rmSync(assets, { recursive: true });
    if (before === undefined) {
      delete process.env.KUBEBUILDER_ASSETS;
    } else {
      process.env.KUBEBUILDER_ASSETS = before;
    }
  });
  const cluster = await start(t);
  const printed = await cluster.kubectl(['run', 'x', '--image=busybox']);
  assert.equal(printed, 'pod/x created\n');
});
