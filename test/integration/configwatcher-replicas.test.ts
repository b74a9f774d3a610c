/** Several operators that all act, with no election between them, on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { statefulSets } from '../../src/configwatcher/facts/workload.ts';
import { secrets } from '../../src/kubernetes/types/core.generated.ts';
import { setPaused, setUpdateStrategy } from './configwatcher-owner.ts';
import { OperatorProcess } from './configwatcher-process.ts';
import { events, Shop } from './configwatcher-shop.ts';
import { type Asked, failure, HostileProxy } from './hostile-proxy.ts';
import { eventually } from './support.ts';

const timeout = 180_000;

/** Edits the ConfigMap twice: so many Pods are restarted for each content, once, and counted once. */
async function restartTwice(shop: Shop, pods: number): Promise<void> {
  for (const [count, message] of [
    [1, 'second'],
    [2, 'third'],
  ] as const) {
    await shop.patchConfigMap({ data: { message } });
    const { lastRestart } = await shop.restarted(count);
    await shop.allReady(pods);
    assert.deepEqual([lastRestart?.restarted, lastRestart?.failed], [pods, 0]);
  }
  await shop.quiet();
  const { history, restartCount } = await shop.status();
  assert.deepEqual([shop.seen.length, restartCount, history?.length], [3 * pods, 2, 2]);
}

describe('two operators without an election', () => {
  for (const [type, generations] of [
    ['Evict', 1],
    ['RolloutRestart', 3],
  ] as const) {
    it(`by ${type} restart each Pod once for each of two contents, and count it once`, {
      timeout,
    }, async (t) => {
      const shop = await Shop.open(t);
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(3);
      const other = new OperatorProcess(t, shop.namespace);
      await other.logged('"msg":"ready"');
      await shop.startOperator();
      await shop.watch({ debounce: { quiet: '0s' }, cooldown: { base: '0s' }, strategy: { type } });
      await shop.baselined();
      await restartTwice(shop, 3);
      assert.equal(await shop.generation('Deployment'), generations);
    });
  }
});

describe('two operators that make the key of hashes at once', () => {
  it('have one key, and restart each Pod once for an edit of a Secret', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const key = { namespace, name: 'webapp-secret' };
    const data = (password: string) => ({ data: { password: Buffer.from(password).toString('base64') } });
    await client.create(secrets, { metadata: key, ...data('first') });
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2);
    const sources = [{ kind: 'Secret' as const, name: key.name }];
    await shop.watch({ debounce: { quiet: '0s' }, cooldown: { base: '0s' }, sources });
    await shop.startOperator({ secretAccess: true });
    const { appliedHash } = await shop.baselined();
    // The other one looks for the key before the first has made it.
    const proxy = await HostileProxy.start(t);
    let looked = 0;
    const isLook = ({ method, path }: Asked) =>
      method === 'GET' && path.endsWith('/secrets/atwatch-hash-key');
    proxy.treat = (asked) => (isLook(asked) && looked++ === 0 ? failure(404, 'NotFound') : undefined);
    await shop.startOperator({ secretAccess: true, kubeConfig: proxy.kubeConfig });
    const hasMade = ({ method, path }: Asked) => method === 'POST' && path.endsWith('/secrets');
    await eventually(() => looked >= 2 && proxy.asked.some(hasMade), {
      message: 'it has made one of its own',
    });
    await shop.quiet();
    const before = await shop.status();
    assert.deepEqual([before.appliedHash, before.restartCount], [appliedHash, 0], 'neither has another key');
    await client.patch(secrets, key, { type: 'merge', body: data('second') });
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(2);
    await shop.quiet();
    const { restartCount } = await shop.status();
    assert.deepEqual([lastRestart?.restarted, restartCount, shop.seen.length], [2, 1, 4]);
  });
});

describe('three operators without an election', () => {
  it('by Auto restart each Pod of all kinds of owners once for each of two contents', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2);
    await shop.deploy(1, 'Deployment', 'held');
    await shop.deploy(2, 'StatefulSet', 'db');
    await shop.deploy(1, 'StatefulSet', 'by-hand');
    await shop.deploy(2, 'DaemonSet', 'agent');
    await setPaused(shop, true, 'held');
    await setUpdateStrategy(shop, statefulSets, { type: 'OnDelete', rollingUpdate: null }, 'by-hand');
    for (let replica = 0; replica < 3; replica++) await shop.startOperator();
    const strategy = { type: 'Auto' } as const;
    await shop.watch({ debounce: { quiet: '0s' }, cooldown: { base: '0s' }, strategy });
    await shop.baselined();
    await restartTwice(shop, 8);
    const generations = async (kind: 'Deployment' | 'StatefulSet' | 'DaemonSet', ...names: string[]) =>
      Promise.all(names.map((name) => shop.generation(kind, name)));
    assert.deepEqual(
      await generations('Deployment', 'webapp', 'held'),
      [3, 2],
      'a template for each content',
    );
    assert.deepEqual(await generations('StatefulSet', 'db', 'by-hand'), [3, 2]);
    assert.deepEqual(await generations('DaemonSet', 'agent'), [3]);
    const told = async () => {
      const { items } = await client.list(events, { namespace });
      const restarts = items.filter(({ reason }) => reason === 'ConfigRestart');
      const owners = new Set(restarts.map(({ regarding }) => `${regarding?.kind}/${regarding?.name}`));
      return [...owners].sort().join();
    };
    const all = [
      'DaemonSet/agent',
      'Deployment/held',
      'Deployment/webapp',
      'StatefulSet/by-hand',
      'StatefulSet/db',
    ];
    await eventually(async () => (await told()) === all.join(), { message: 'each owner has its Event' });
  });
});
