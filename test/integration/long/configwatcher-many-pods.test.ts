/**
 * Thousands of Pods under one watcher, and megabytes of configuration beside it: Pods are listed in pages, and what the
 * operator keeps of either is little.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { startOperator } from '../../../hack/operator-process.ts';
import type { ConfigWatcherStatus } from '../../../src/api/configwatcher.generated.ts';
import { configWatchers } from '../../../src/api/resources.ts';
import { configMaps, pods } from '../../../src/kubernetes/objects.ts';
import { secrets } from '../../../src/kubernetes/types/core.generated.ts';
import { inParallel } from '../../fixtures/in-parallel.ts';
import { Shop } from '../configwatcher-shop.ts';
import { type Asked, HostileProxy } from '../hostile-proxy.ts';
import { applyCrds, connectToTestCluster, eventually, withNamespace } from '../support.ts';

/** Megabytes of heap that the operator gets: enough for itself, a page of Pods and its notes, and for no more. */
const heap = 64;
const patience = { timeout: 240_000, interval: 250 };

/** A list of the Pods of the watcher, or a page of it. */
function isOfPods({ method, path, query }: Asked): boolean {
  return method === 'GET' && path.endsWith('/pods') && query.has('labelSelector') && !query.has('watch');
}

/** One operator of this namespace, behind the proxy. Rejects `died` when it ends by itself. */
async function startBehind(
  t: TestContext,
  { kubeConfig }: HostileProxy,
  namespace: string,
  flags: readonly string[] = [],
) {
  const directory = await mkdtemp(join(tmpdir(), 'atwatch-many-pods-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, 'kubeconfig');
  await writeFile(file, kubeConfig.exportConfig());
  const operator = await startOperator(file, join(directory, 'operator.log'), {
    flags: [`--namespaces=${namespace}`, ...flags],
    env: { NODE_OPTIONS: `--max-old-space-size=${heap}`, POD_NAMESPACE: namespace },
  });
  t.after(() => operator.stop());
  const died = operator.ended.then(async () => {
    throw new Error(`the operator has ended: ${await operator.lastLines(5)}`);
  });
  return { died };
}

describe('a ConfigWatcher', () => {
  for (const { size, count, ballast } of [
    // 24 MB in all, and twice that with what it is parsed from.
    { size: 'big', count: 1200, ballast: 'x'.repeat(20_000) },
    { size: 'small', count: 10_000, ballast: '' },
  ]) {
    it(`restarts ${count} ${size} Pods, which it lists in pages, in little memory`, {
      timeout: 900_000,
    }, async (t) => {
      await applyCrds();
      const { client } = connectToTestCluster();
      const namespace = await withNamespace(t);
      const key = { namespace, name: 'webapp-config' };
      const { metadata } = await client.create(configMaps, { metadata: key, data: { message: 'first' } });
      // A controller that brings nothing back; a ConfigMap stands in for it.
      const { name, uid = '' } = metadata;
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid, controller: true }];
      await client.create(configWatchers, {
        metadata: key,
        spec: {
          configMap: name,
          podSelector: { app: 'webapp' },
          debounce: { quiet: '0s' },
          // Nothing comes back that the canary could wait for.
          strategy: { maxUnavailable: '100%', canary: false },
        },
      });
      const proxy = await HostileProxy.start(t);
      const { died } = await startBehind(t, proxy, namespace);
      const until = async (holds: (status: ConfigWatcherStatus) => boolean) => {
        const seen = async () => {
          const { status = {} } = await client.get(configWatchers, key);
          return holds(status) && status;
        };
        return Promise.race([eventually(seen, patience), died]);
      };
      await until(({ appliedHash }) => appliedHash !== undefined);
      // No scheduler may place them, which would take longer than the restart.
      const spec = { schedulerName: 'nobody', containers: [{ name: 'app', image: 'webapp' }] };
      await inParallel(count, 32, async (index) => {
        const labels = { app: 'webapp' };
        const annotations = { ballast };
        await client.create(pods, {
          metadata: { namespace, name: `pod-${index}`, labels, annotations, ownerReferences },
          spec,
        });
        // A Pod that has not started reads the new content anyway, and is left alone.
        const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } as const;
        const podKey = { namespace, name: `pod-${index}` };
        await client.patchStatus(pods, podKey, { type: 'merge', body: { status } });
      });
      await until(({ matchedPods }) => matchedPods === count);
      await client.patch(configMaps, key, { type: 'merge', body: { data: { message: 'second' } } });
      const { lastRestart, pending } = await until(({ restartCount }) => restartCount === 1);
      assert.deepEqual([lastRestart?.restarted, pending], [count, undefined]);
      const left = await client.list(pods, { namespace, metadataOnly: true });
      assert.equal(left.items.length, 0);

      const pages = proxy.asked.filter(isOfPods).map(({ query }) => query);
      const limits = pages.map((query) => Number(query.get('limit')));
      t.diagnostic(`pages of up to ${limits.join(', ')} Pods`);
      assert.ok(
        limits.every((limit) => limit > 0),
        'no list is without a limit',
      );
      const firstPages = limits.filter((_, index) => !pages[index]?.has('continue'));
      assert.ok(Math.max(...firstPages) <= 500, 'how large Pods are is found out with a small page');
      assert.ok(firstPages.length < pages.length, 'one page does not hold them all');
    });
  }

  it('keeps nothing of the ConfigMaps and Secrets that it does not name, and reads none of them', {
    timeout: 600_000,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const named = ['webapp-config', 'webapp-secret'];
    await shop.createConfigMap({ message: 'first' });
    const metadata = { namespace, name: 'webapp-secret' };
    await client.create(secrets, { metadata, stringData: { message: 'first' } });
    await shop.deploy(2);
    // More than the heap of the operator can hold, and as much again in the copies that kubectl apply leaves.
    const ballast = 'x'.repeat(100_000);
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': ballast };
    await inParallel(300, 8, async (index) => {
      const unrelated = { namespace, name: `unrelated-${index}`, annotations };
      await client.create(configMaps, { metadata: unrelated, data: { ballast } });
      await client.create(secrets, { metadata: unrelated, stringData: { ballast } });
    });
    const proxy = await HostileProxy.start(t);
    const { died } = await startBehind(t, proxy, namespace, ['--secret-access']);
    await shop.watch({
      ...{ debounce: { quiet: '0s' }, cooldown: { base: '0s' } },
      sources: [{ kind: 'Secret', name: metadata.name }],
    });
    await Promise.race([shop.baselined(), died]);

    const content = { ConfigMap: 'data', Secret: 'stringData' };
    for (const [index, resource] of [configMaps, secrets].entries()) {
      const edit = (name: string, data: Readonly<Record<string, string>>) => {
        const body = { [content[resource.kind as 'ConfigMap']]: data };
        return client.patch(resource, { namespace, name }, { type: 'merge', body });
      };
      await inParallel(40, 8, (other) => edit(`unrelated-${other}`, { ballast: 'y'.repeat(100_000) }));
      // It is found after all the others.
      await edit(named[index] ?? '', { message: 'second' });
      const { lastRestart } = await Promise.race([shop.restarted(index + 1), died]);
      assert.deepEqual([lastRestart?.restarted, lastRestart?.trigger?.kind], [2, resource.kind]);
      await shop.allReady(2);
      await shop.olderThanEdits();
    }
    assert.equal(shop.seen.length, 6, 'each Pod was restarted once for each of both');
    for (const resource of ['configmaps', 'secrets']) {
      const collection = `/api/v1/namespaces/${namespace}/${resource}`;
      const ofAll = proxy.asked.filter(({ method, path }) => method === 'GET' && path === collection);
      assert.ok(ofAll.length > 0, `${resource} are watched`);
      for (const { accept } of ofAll) {
        assert.match(accept, /;as=PartialObjectMetadata(?:List)?;/, `of all ${resource} metadata alone`);
      }
    }
    const read = proxy.asked
      .filter(({ method }) => method === 'GET')
      .map(({ path }) => /\/(?:configmaps|secrets)\/[^/]+$/.exec(path)?.[0])
      .filter((path) => path !== undefined);
    assert.deepEqual([...new Set(read)].sort(), [
      '/configmaps/webapp-config',
      '/secrets/atwatch-hash-key',
      '/secrets/webapp-secret',
    ]);
  });
});
