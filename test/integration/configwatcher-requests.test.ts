/** What a ConfigWatcher asks the API server for, and in which order, and what it writes down: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configWatchers } from '../../src/api/resources.ts';
import { deployments } from '../../src/configwatcher/facts/workload.ts';
import { secrets } from '../../src/kubernetes/types/core.generated.ts';
import { noteEvictions } from './configwatcher-evictions.ts';
import { Shop } from './configwatcher-shop.ts';
import { failure, goesOn, HostileProxy, lists } from './hostile-proxy.ts';
import { historyOf } from './object-history.ts';
import { eventually } from './support.ts';

const timeout = 180_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };

describe('a ConfigWatcher', { concurrency: 6 }, () => {
  it('writes its baseline once, with hashes, counts and conditions', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.createConfigMap({ more: 'first' }, 'extra');
    await shop.deploy(2);
    const history = await historyOf(t, shop, configWatchers);
    await shop.startOperator();
    await shop.watch({ ...atOnce, sources: [{ kind: 'ConfigMap', name: 'extra' }] });
    await shop.baselined();
    // Each gives it a look that changes nothing; a write of its own would come before that of the change.
    await shop.patchConfigMap({ metadata: { labels: { look: 'again' } } });
    await shop.patchConfigMap({ metadata: { labels: { look: 'again' } } }, 'extra');
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.restarted(1);
    const written = await eventually(
      () => {
        // Before the first write it has the default of a new watcher.
        const statuses = history.flatMap(({ object: { status } }) => (status?.conditions ? [status] : []));
        return statuses.some(({ pending }) => pending !== undefined) && statuses;
      },
      { message: 'the history has the change' },
    );
    assert.deepEqual(
      written.slice(0, 2).map(({ pending }) => pending !== undefined),
      [false, true],
      'one write, and then that of the change',
    );
    const { conditions = [], sources = [], ...baseline } = written[0] ?? {};
    assert.match(baseline.appliedHash ?? '', /^v1:[0-9a-f]{64}$/);
    assert.deepEqual(
      sources.map(({ name }) => name),
      ['webapp-config', 'extra'],
    );
    for (const { hash } of sources) assert.match(hash ?? '', /^v1:[0-9a-f]{64}$/);
    const { observedGeneration, matchedPods, stalePods, restartCount } = baseline;
    assert.deepEqual([observedGeneration, matchedPods, stalePods, restartCount], [1, 2, 0, 0]);
    assert.deepEqual(Object.fromEntries(conditions.map(({ type, status }) => [type, status])), {
      Ready: 'True',
      SourceAvailable: 'True',
      PodsMatched: 'True',
      Progressing: 'False',
    });
  });

  it('takes its cutoff from a consistent list after it has read the change, and spares what is newer', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const proxy = await HostileProxy.start(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2);
    const old = await shop.allReady(2);
    await shop.startOperator({ kubeConfig: proxy.kubeConfig });
    await shop.watch({ ...atOnce, suspend: true });
    await shop.baselined();
    // A Pod that was made in the second of the edit may have the old content.
    await shop.olderThanEdits();
    const from = proxy.asked.length;
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { pending } = await shop.until('it is held', (status) => status.pending?.reason === 'Suspended');
    const asked = proxy.asked.slice(from);
    const readAt = asked.findIndex(({ method, path }) => {
      return method === 'GET' && path.endsWith('/configmaps/webapp-config');
    });
    const listedAt = asked.findIndex((one, index) => index > readAt && lists(one, 'pods'));
    const writtenAt = asked.findIndex(({ method, path }) => method === 'PUT' && path.endsWith('/status'));
    assert.ok(
      readAt >= 0 && readAt < listedAt && listedAt < writtenAt,
      `${readAt}, ${listedAt}, ${writtenAt}`,
    );
    assert.equal(asked[listedAt]?.query.has('resourceVersion'), false, 'the store answers, not a cache');
    const created = old.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''));
    assert.equal(Date.parse(pending?.cutoff ?? ''), Math.max(...created));

    // A Pod that was made in the second of the change may be older than it.
    const changedAt = Date.parse(pending?.since ?? '');
    await eventually(() => Date.now() >= changedAt + 1000, { interval: 20 });
    const scale = { type: 'merge', body: { spec: { replicas: 3 } } } as const;
    await client.patch(deployments, { namespace, name: 'webapp' }, scale);
    const isOld = (uid = '') => old.some(({ metadata }) => metadata.uid === uid);
    const [fresh] = (await shop.allReady(3)).filter(({ metadata }) => !isOld(metadata.uid));
    await shop.edit({ suspend: false });
    const { lastRestart } = await shop.restarted(1);
    const left = await shop.allReady(3);
    assert.deepEqual([lastRestart?.restarted, lastRestart?.skippedFresh, shop.seen.length], [2, 1, 5]);
    assert.ok(left.some(({ metadata }) => metadata.uid === fresh?.metadata.uid));
    assert.equal(
      left.some(({ metadata }) => isOld(metadata.uid)),
      false,
    );
  });

  it('restarts nothing before the clock of the API server is past the second of the newest Pod', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const proxy = await HostileProxy.start(t);
    // Behind the server that creates the Pods: the last one is made in what is yet to come, however slow the test is.
    proxy.aheadMs = -10_000;
    const evictedAt: number[] = [];
    proxy.treat = ({ path }) => {
      if (path.endsWith('/eviction')) evictedAt.push(Date.now() + proxy.aheadMs);
      return undefined;
    };
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2);
    await shop.startOperator({ kubeConfig: proxy.kubeConfig });
    await shop.watch({ ...atOnce, strategy: { maxUnavailable: '100%' } });
    await shop.until('the baseline is written', ({ appliedHash }) => appliedHash !== undefined);
    const scale = { type: 'merge', body: { spec: { replicas: 3 } } } as const;
    await client.patch(deployments, { namespace, name: 'webapp' }, scale);
    const created = (await shop.allReady(3)).map(({ metadata }) =>
      Date.parse(metadata.creationTimestamp ?? ''),
    );
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { pending } = await shop.until('it is seen', (status) => status.pending !== undefined);
    const cutoff = Date.parse(pending?.cutoff ?? '');
    assert.equal(cutoff, Math.max(...created));
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(3);
    assert.deepEqual([lastRestart?.restarted, evictedAt.length, shop.seen.length], [3, 3, 6]);
    const [first = 0] = evictedAt;
    assert.ok(first >= cutoff + 1000, `the first eviction came ${first - cutoff} ms after the cutoff`);
  });

  it('lists its Pods in pages, and takes none for restarted that is on a page which fails', {
    timeout,
  }, async (t) => {
    const evicted: string[] = [];
    const proxy = await HostileProxy.start(t);
    const shop = await Shop.watched(t, 5, {
      strategy: { maxUnavailable: 2 },
      operator: { kubeConfig: proxy.kubeConfig, onConnect: noteEvictions(evicted) },
    });
    const { appliedHash } = await shop.status();
    const limits: number[] = [];
    let [isMended, failed] = [false, 0];
    proxy.treat = (asked) => {
      if (!lists(asked, 'pods')) return undefined;
      limits.push(Number(asked.query.get('limit')));
      // Five Pods are more than one page has.
      asked.query.set('limit', '2');
      // From the first batch on.
      if (evicted.length === 0 || isMended || !asked.query.has('continue')) return undefined;
      failed++;
      return failure(500, 'InternalError');
    };
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => failed > 0, { timeout: 60_000, message: 'a page fails after the first batch' });
    const before = evicted.length;
    await shop.allReady(5);
    await eventually(() => failed >= 8, { timeout: 60_000, message: 'the list is tried again' });
    const { pending, history, ...held } = await shop.status();
    assert.ok(pending?.started, 'it is in the middle of the restart');
    assert.deepEqual([held.appliedHash, history, evicted.length], [appliedHash, [], before]);
    isMended = true;
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(5);
    assert.deepEqual([lastRestart?.restarted, lastRestart?.failed, shop.seen.length], [5, 0, 10]);
    assert.ok(
      limits.every((limit) => limit > 0 && limit <= 500),
      limits.join(),
    );
  });

  it('follows ConfigMaps and Secrets by their metadata, and reads only what it names', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const proxy = await HostileProxy.start(t);
    const others = ['unrelated', 'webapp-secret'];
    for (const name of ['unrelated', 'webapp-config']) await shop.createConfigMap({ message: 'first' }, name);
    for (const name of others) {
      await client.create(secrets, { metadata: { namespace, name }, stringData: { message: 'first' } });
    }
    await shop.deploy(1);
    await shop.startOperator({ secretAccess: true, kubeConfig: proxy.kubeConfig });
    await shop.watch({ ...atOnce, sources: [{ kind: 'Secret', name: 'webapp-secret' }] });
    await shop.baselined();
    const body = { stringData: { message: 'second' } };
    await client.patch(secrets, { namespace, name: 'unrelated' }, { type: 'merge', body });
    await shop.patchConfigMap({ data: { message: 'second' } }, 'unrelated');
    // The same watch tells of it, after that.
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.restarted(1);
    const reads = proxy.asked.filter(({ method, path }) => {
      return method === 'GET' && /\/(configmaps|secrets)(\/|$)/.test(path);
    });
    const whole = reads.filter(({ accept }) => !accept.includes(';as=PartialObjectMetadata'));
    const named = whole.map(({ path }) => path.split('/').slice(-2).join('/'));
    assert.deepEqual([...new Set(named)].sort(), [
      'configmaps/webapp-config',
      'secrets/atwatch-hash-key',
      'secrets/webapp-secret',
    ]);
    for (const plural of ['configmaps', 'secrets']) {
      assert.ok(reads.some((asked) => asked.path.endsWith(`/${plural}`) && asked.query.has('watch')));
    }
  });

  it('finds an edit that was made between two watches, of which the second one comes too late for it', {
    timeout,
  }, async (t) => {
    const proxy = await HostileProxy.start(t);
    const shop = await Shop.watched(t, 2, { operator: { kubeConfig: proxy.kubeConfig } });
    await proxy.leave();
    await shop.patchConfigMap({ data: { message: 'second' } });
    let expired = 0;
    proxy.treat = (asked) => {
      if (expired > 0 || !goesOn(asked, 'configmaps')) return undefined;
      expired++;
      return failure(410, 'Expired');
    };
    await proxy.comeBack();
    const { lastRestart, history } = await shop.restarted(1);
    await shop.allReady(2);
    assert.equal(expired, 1, 'the watch could not go on from where it was');
    assert.deepEqual([lastRestart?.restarted, history?.length, shop.seen.length], [2, 1, 4]);
  });
});
