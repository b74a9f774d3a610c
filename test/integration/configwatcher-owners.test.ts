/** What stands behind the Pods, and what the operator may do: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deployments, statefulSets } from '../../src/configwatcher/facts/workload.ts';
import { type KubernetesObject, type Pod, pods, type Resource } from '../../src/kubernetes/objects.ts';
import { noteEvictions } from './configwatcher-evictions.ts';
import { setUpdateStrategy } from './configwatcher-owner.ts';
import { probedContainer, Shop } from './configwatcher-shop.ts';
import { grant, grantIn, isAllowed, kubeConfigOf, type Rule, regrant } from './rights.ts';
import { eventually } from './support.ts';

const timeout = 120_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };
const jobs: Resource<KubernetesObject & { spec?: object }> = {
  ...{ group: 'batch', version: 'v1', plural: 'jobs', kind: 'Job', namespaced: true },
};
const nodes: Resource = { group: '', version: 'v1', plural: 'nodes', kind: 'Node', namespaced: false };

const labels = { app: 'webapp' };

/** All but the Pods, which are not listed without {@link listing}. */
const watching: Rule[] = [
  { apiGroups: [''], resources: ['pods'], verbs: ['watch'] },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] },
  { apiGroups: ['k8spatterns.io'], resources: ['configwatchers'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['k8spatterns.io'], resources: ['configwatchers/status'], verbs: ['update'] },
];
const listing: Rule = { apiGroups: [''], resources: ['pods'], verbs: ['list'] };
const reading = [...watching, listing];
const evicting: Rule[] = [
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
  { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
];
const owning: Rule = { apiGroups: ['apps'], resources: ['replicasets', 'deployments'], verbs: ['get'] };
const restarting = [...evicting, owning];

describe('a ConfigWatcher', { concurrency: 4 }, () => {
  it('restarts under any controller, and spares bare Pods and Jobs unless it is told to', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const { metadata: owner } = await shop.createConfigMap({ message: 'first' });
    // A controller of a kind that the operator knows nothing of; a ConfigMap stands in for it.
    const game = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: owner.name,
      uid: owner.uid ?? '',
      controller: true,
    };
    const spec = { containers: [probedContainer] };
    const owned = { metadata: { namespace, name: 'of-game', labels, ownerReferences: [game] }, spec };
    await client.create(pods, owned);
    await client.create(pods, { metadata: { namespace, name: 'bare', labels }, spec });
    const template = { metadata: { labels }, spec: { ...spec, restartPolicy: 'Never' } };
    await client.create(jobs, { metadata: { namespace, name: 'job' }, spec: { template } });
    const uids = async () => new Set((await shop.pods()).map(({ metadata }) => metadata.uid));
    await shop.allReady(3);
    await shop.startOperator();
    await shop.watch(atOnce);
    await shop.baselined();
    const before = await uids();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { lastRestart } = await shop.restarted(1);
    assert.deepEqual([lastRestart?.restarted, lastRestart?.skippedUnmanaged], [1, 2]);
    const after = await uids();
    assert.deepEqual([after.size, [...after].every((uid) => before.has(uid))], [2, true]);
    const left = (await shop.pods()).map(({ metadata }) => metadata.name.split('-')[0]).sort();
    assert.deepEqual(left, ['bare', 'job']);
    const { note = '' } = await shop.untilEvent('UnmanagedPodSkipped');
    assert.match(note, /no controller would replace them: bare; .* strategy\.jobPods is Skip: job-/);

    await shop.edit({ strategy: { type: 'Evict', unmanagedPods: 'Delete', jobPods: 'Delete' } });
    await shop.patchConfigMap({ data: { message: 'third' } });
    const next = (await shop.restarted(2)).lastRestart;
    assert.deepEqual([next?.restarted, next?.skippedUnmanaged], [2, 0]);
    const [another, ...others] = await shop.allReady(1);
    assert.deepEqual([another?.metadata.name.startsWith('job-'), others], [true, []]);
    assert.equal(after.has(another?.metadata.uid), false, 'the Job has made another Pod');
  });

  it('leaves a mirror Pod alone although its node controls it and bare Pods are deleted, and says so', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(1, 'Deployment', 'webapp', { nodes: 1 });
    const [{ spec } = assert.fail('it has a Pod')] = await shop.pods();
    const { metadata: node } = await client.get(nodes, { name: spec.nodeName ?? '' });
    const controller = { apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid ?? '' };
    const mirror = await client.create(pods, {
      metadata: {
        ...{ namespace, name: `static-${node.name}`, labels },
        annotations: { 'kubernetes.io/config.mirror': 'a', 'kubernetes.io/config.hash': 'a' },
        ownerReferences: [{ ...controller, controller: true }],
      },
      spec: { nodeName: node.name, containers: [probedContainer] },
    });
    await shop.allReady(2);
    await shop.startOperator();
    const strategy = { maxUnavailable: '100%', type: 'Delete', unmanagedPods: 'Delete' } as const;
    await shop.watch({ ...atOnce, strategy });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { lastRestart, skippedPods } = await shop.restarted(1);
    const left = await shop.allReady(2);
    assert.deepEqual(
      [lastRestart?.restarted, lastRestart?.skippedUnmanaged, skippedPods, shop.seen.length],
      [1, 1, 1, 3],
    );
    assert.ok(left.some(({ metadata }) => metadata.uid === mirror.metadata.uid));
    const { note } = await shop.untilEvent('UnmanagedPodSkipped');
    const name = mirror.metadata.name;
    assert.equal(note, `left alone, because no controller would replace them: ${name}`);
  });

  it('is not held up by Pods of a scale-up that no node takes', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    for (const name of ['web-0', 'web-1']) await shop.deploy(1, 'Deployment', name);
    await shop.startOperator();
    // Long enough to scale the first owner up before the second one begins.
    await shop.watch({ ...atOnce, strategy: { minReadySeconds: 20 } });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 3, { timeout: 40_000, message: 'the first owner begins' });
    await shop.allReady(2);
    shop.isFull = true;
    const body = { spec: { replicas: 3 } };
    await client.patch(deployments, { namespace, name: 'web-0' }, { type: 'merge', body });
    await eventually(() => shop.seen.length === 5, { timeout: 40_000, message: 'it is scaled up' });
    shop.isFull = false;
    const { lastRestart, conditions } = await shop.restarted(1);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [2, 6]);
    assert.equal(
      conditions?.some(({ type }) => type === 'Stalled'),
      false,
    );
  });

  it('touches nothing of the same names in another namespace', { timeout }, async (t) => {
    const [shop, other] = [await Shop.open(t), await Shop.open(t)];
    for (const one of [shop, other]) {
      await one.createConfigMap({ message: 'first' });
      await one.deploy(1);
      await one.watch(atOnce);
    }
    await shop.startOperator({ namespaces: [shop.namespace, other.namespace] });
    await shop.baselined();
    const before = await other.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.restarted(1);
    await shop.allReady(1);
    await shop.quiet();
    const { appliedHash, history } = await other.status();
    assert.deepEqual([appliedHash, history], [before.appliedHash, []]);
    assert.deepEqual([shop.seen.length, other.seen.length], [2, 1]);
  });

  it('says at once that OnDelete rolls nothing out, and restarts by eviction', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2, 'StatefulSet');
    await setUpdateStrategy(shop, statefulSets, { type: 'OnDelete', rollingUpdate: null });
    await shop.startOperator();
    await shop.watch({ ...atOnce, strategy: { type: 'RolloutRestart' } });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const held = await shop.until('it is Stalled', ({ pending }) => pending?.reason === 'Stalled');
    assert.equal(held.conditions?.find(({ type }) => type === 'Stalled')?.reason, 'OnDelete');
    assert.equal(shop.seen.length, 2);
    await shop.edit({ strategy: { type: 'Evict' } });
    await shop.restarted(1);
    await shop.allReady(2);
    assert.equal(shop.seen.length, 4);
  });

  for (const type of ['RolloutRestart', 'Auto'] as const) {
    it(`by ${type} rolls out a StatefulSet from its partition on, and evicts the Pods below it`, {
      timeout,
    }, async (t) => {
      const shop = await Shop.open(t);
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(3, 'StatefulSet');
      await setUpdateStrategy(shop, statefulSets, { rollingUpdate: { partition: 2 } });
      const revisionOf = ({ metadata }: Pod) => metadata.labels?.['controller-revision-hash'];
      const [before] = (await shop.pods()).map(revisionOf);
      const evicted: string[] = [];
      await shop.startOperator({ onConnect: noteEvictions(evicted) });
      await shop.watch({ ...atOnce, strategy: { type } });
      await shop.baselined();
      await shop.patchConfigMap({ data: { message: 'second' } });
      const { lastRestart } = await shop.restarted(1);
      const left = await shop.allReady(3);
      assert.deepEqual([lastRestart?.restarted, shop.seen.length], [3, 6], 'each Pod was restarted once');
      const atOldRevision = left
        .filter((pod) => revisionOf(pod) === before)
        .map(({ metadata }) => metadata.name);
      assert.deepEqual(atOldRevision.sort(), ['webapp-0', 'webapp-1'], 'the partition is respected');
      assert.deepEqual(evicted.sort(), ['webapp-0', 'webapp-1']);
    });
  }

  it('fights neither a template taken back nor a rollback', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const key = { namespace, name: 'webapp' };
    const annotation = 'k8spatterns.io/restarted-for.webapp-config-watcher';
    const template = async () => (await client.get(deployments, key)).spec?.template?.metadata?.annotations;
    const takeBack = () => {
      const body = { spec: { template: { metadata: { annotations: { [annotation]: null } } } } };
      return client.patch(deployments, key, { type: 'merge', body });
    };
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(3);
    await shop.startOperator();
    await shop.watch({ ...atOnce, strategy: { type: 'RolloutRestart' } });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(async () => (await template())?.[annotation] !== undefined, {
      timeout: 40_000,
      interval: 10,
    });
    await takeBack();
    const held = await shop.until('it is Stalled', ({ pending }) => pending?.reason === 'Stalled');
    assert.equal(held.conditions?.find(({ type }) => type === 'Stalled')?.reason, 'Reverted');
    await shop.stopOperator();
    await shop.startOperator();
    await shop.quiet();
    assert.equal((await template())?.[annotation], undefined, 'nor by the next process');

    await shop.patchConfigMap({ data: { message: 'third' } });
    await shop.until('the next edit is a new change', ({ pending }) => pending === undefined);
    await shop.allReady(3);
    const { restartCount } = await shop.status();
    await takeBack();
    await shop.quiet();
    await shop.allReady(3);
    assert.equal((await template())?.[annotation], undefined, 'the rollback stays');
    assert.equal((await shop.status()).restartCount, restartCount);
  });

  it('that may do nothing in one namespace leaves the others alone', { timeout }, async (t) => {
    const [shop, closed] = [await Shop.open(t), await Shop.open(t)];
    const user = `operator-of-${shop.namespace}`;
    await grantIn(shop, user, [...reading, ...restarting]);
    await grantIn(closed, user, reading);
    for (const one of [shop, closed]) {
      await one.createConfigMap({ message: 'first' });
      await one.deploy(1);
      await one.watch(atOnce);
    }
    const namespaces = [closed.namespace, shop.namespace];
    await shop.startOperator({ kubeConfig: kubeConfigOf(user), namespaces });
    const { conditions } = await closed.until('the missing right is told', (status) =>
      Boolean(status.conditions?.some(({ reason }) => reason === 'Forbidden')),
    );
    const ready = conditions?.find(({ type }) => type === 'Ready');
    assert.deepEqual([ready?.status, ready?.message], ['False', 'the operator may not get configmaps here']);
    await shop.baselined();
    for (const one of [shop, closed]) await one.patchConfigMap({ data: { message: 'second' } });
    await shop.restarted(1);
    await shop.allReady(1);
    assert.deepEqual([shop.seen.length, closed.seen.length], [2, 1]);
  });

  for (const { right, missing, others } of [
    { right: 'list pods', missing: listing, others: [...watching, ...restarting] },
    { right: 'get replicasets', missing: owning, others: [...reading, ...evicting] },
  ]) {
    it(`whose right to ${right} is taken away says so, and restarts when it is back`, {
      timeout,
    }, async (t) => {
      const shop = await Shop.open(t);
      const { client, namespace } = shop;
      const user = `operator-of-${namespace}`;
      await grant(t, client, user, [...reading, ...restarting]);
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(1);
      await shop.watch(atOnce);
      await shop.startOperator({ kubeConfig: kubeConfigOf(user) });
      const { appliedHash } = await shop.baselined();

      const mayAgain = () => isAllowed(client, user, missing);
      await regrant(client, user, others);
      await eventually(async () => !(await mayAgain()), { timeout: 40_000 });
      await shop.patchConfigMap({ data: { message: 'second' } });
      const refused = await shop.until('the missing right is told', ({ conditions }) => {
        return conditions?.some(({ message }) => message === `the operator may not ${right} here`) === true;
      });
      const state = refused.conditions?.find(({ type }) => type === 'Progressing');
      assert.equal(state?.reason, 'Forbidden', 'what the change is stuck at');
      assert.deepEqual([refused.appliedHash, refused.restartCount], [appliedHash, 0], 'not "none there"');
      assert.equal(shop.seen.length, 1);
      await regrant(client, user, [...reading, ...restarting]);
      await eventually(mayAgain, { timeout: 40_000 });
      // It would look again by itself after half a minute.
      await shop.patchConfigMap({ metadata: { labels: { look: 'again' } } });
      await shop.restarted(1);
      await shop.allReady(1);
      assert.equal(shop.seen.length, 2);
    });
  }
});

it('a ConfigWatcher awaits no more Pods of an owner than it wants once it is scaled down in mid-restart', {
  timeout,
}, async (t) => {
  const shop = await Shop.open(t);
  const { client, namespace } = shop;
  await shop.createConfigMap({ message: 'first' });
  for (const name of ['web-0', 'web-1']) await shop.deploy(3, 'Deployment', name);
  const old = await shop.pods();
  const evicted: string[] = [];
  await shop.startOperator({ onConnect: noteEvictions(evicted) });
  await shop.watch(atOnce);
  await shop.baselined();
  shop.isKubeletSlow = true;
  await shop.patchConfigMap({ data: { message: 'second' } });
  await eventually(() => shop.seen.length === 7, { timeout: 40_000, message: 'the first batch goes' });
  const { pending } = await shop.status();
  assert.deepEqual(
    pending?.owners?.map(({ name, wanted, available }) => [name, wanted, available]),
    [['web-0', 3, 3]],
  );
  const body = { spec: { replicas: 1 } };
  await client.patch(deployments, { namespace, name: 'web-0' }, { type: 'merge', body });
  await eventually(async () => (await shop.pods()).length <= 4, { message: 'it is scaled down' });
  shop.isKubeletSlow = false;
  const { lastRestart, conditions } = await shop.restarted(1);
  const left = await shop.allReady(4);
  const isOld = ({ metadata }: Pod) => old.some((one) => one.metadata.uid === metadata.uid);
  assert.equal(left.some(isOld), false);
  assert.equal(lastRestart?.failed, 0);
  assert.equal(
    conditions?.some(({ type }) => type === 'Stalled'),
    false,
  );
  const order = evicted.map((name) => name.slice(0, 'web-0'.length));
  const next = order.indexOf('web-1');
  assert.deepEqual(order.slice(next), ['web-1', 'web-1', 'web-1'], 'the next owner begins when it is done');
  assert.equal(new Set(evicted).size, evicted.length, 'no Pod goes twice');
});

describe('a ConfigWatcher with expressions', () => {
  it('restarts only what meets its labels and all of its expressions', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    /** Of the Pods of each Deployment, beside those of the shop. */
    const labelsOf: Readonly<Record<string, Readonly<Record<string, string>>>> = {
      meant: { tier: 'edge', release: '1' },
      'other-tier': { tier: 'back', release: '1' },
      'without-tier': { release: '1' },
      'without-release': { tier: 'front' },
      legacy: { tier: 'front', release: '1', legacy: '' },
    };
    for (const [name, more] of Object.entries(labelsOf)) {
      const selected = { ...labels, deployment: name };
      const template = {
        metadata: { labels: { ...selected, ...more } },
        spec: { containers: [probedContainer] },
      };
      const spec = { selector: { matchLabels: selected }, replicas: 1, template };
      await client.create(deployments, { metadata: { namespace, name }, spec });
    }
    const before = await shop.allReady(5);
    await shop.startOperator();
    const podSelectorExpressions = [
      { key: 'tier', operator: 'In', values: ['front', 'edge'] },
      { key: 'release', operator: 'Exists' },
      { key: 'legacy', operator: 'DoesNotExist' },
    ] as const;
    await shop.watch({ ...atOnce, podSelectorExpressions });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { lastRestart, matchedPods } = await shop.restarted(1);
    const left = (await shop.allReady(5)).map(({ metadata }) => metadata.uid);
    const replaced = before.filter(({ metadata }) => !left.includes(metadata.uid));
    assert.deepEqual(
      replaced.map(({ metadata }) => metadata.labels?.deployment),
      ['meant'],
    );
    assert.deepEqual([lastRestart?.restarted, matchedPods, shop.seen.length], [1, 1, 6]);
  });
});
