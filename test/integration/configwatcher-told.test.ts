/** What a change tells in Events and leaves in status, also where it restarts nothing: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configMaps, type Pod, pods } from '../../src/kubernetes/objects.ts';
import { leases } from '../../src/runtime/leader/lease.ts';
import { plainContainer } from './configwatcher-owner.ts';
import { OperatorProcess } from './configwatcher-process.ts';
import { events, isReady, Shop } from './configwatcher-shop.ts';
import { eventually } from './support.ts';

const timeout = 120_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };

/** Creates Pods with the labels of the shop's own; does not wait for them. */
async function createPods(
  { client, namespace }: Shop,
  names: readonly string[],
  ownerReferences: Pod['metadata']['ownerReferences'] = [],
  spec: Omit<Pod['spec'], 'containers'> = {},
): Promise<void> {
  for (const name of names) {
    await client.create(pods, {
      metadata: { namespace, name, labels: { app: 'webapp' }, ownerReferences },
      spec: { ...spec, containers: [plainContainer] },
    });
  }
}

describe('a ConfigWatcher', { concurrency: 3 }, () => {
  it('tells of a change by the names of its ConfigMap and key, and of no value', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const values = ['canary-old-5b1e', 'canary-new-5b1e', 'canary-other-5b1e'];
    const [old = '', changed = '', other = ''] = values;
    await shop.createConfigMap({ message: old, other });
    await shop.deploy(2);
    await shop.startOperator();
    await shop.watch(atOnce);
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: changed } });
    await shop.restarted(1);
    // Its Event comes after all the others.
    await shop.untilEvent('RestartCompleted');
    const { items } = await client.list(events, { namespace });
    const told = (reason: string) =>
      items
        .filter((event) => event.reason === reason)
        .map(({ type, note, regarding }) => [type, `${regarding?.kind}/${regarding?.name}`, note]);
    const watcher = 'ConfigWatcher/webapp-config-watcher';
    const change = 'the content changed: ConfigMap webapp-config (message)';
    assert.deepEqual(told('ChangeDetected'), [['Normal', watcher, change]]);
    assert.deepEqual(told('RestartStarted'), [['Normal', watcher, '2 Pods with an older content']]);
    const [[type, owner, note] = [], ...further] = told('ConfigRestart');
    assert.deepEqual([type, owner, further], ['Normal', 'Deployment/webapp', []]);
    assert.match(
      note ?? '',
      /webapp-config-watcher restarts its Pods: ConfigMap webapp-config \(message\) changed$/,
    );
    const everything = JSON.stringify([items, await shop.watcher()]);
    for (const value of values) assert.equal(everything.includes(value), false);
    const { data } = await client.get(configMaps, { namespace, name: 'webapp-config' });
    assert.deepEqual(data, { message: changed, other });
  });

  it('logs one line for each decision, and one for each Pod', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(3);
    const names = (await shop.pods()).map(({ metadata }) => metadata.name).sort();
    await shop.watch(atOnce);
    const operator = new OperatorProcess(t, shop.namespace);
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.restarted(1);
    await shop.allReady(3);
    // It comes after all the others.
    await operator.logged('RestartCompleted');
    await operator.kill('SIGTERM');
    const lines: readonly { msg: string; pod?: string; events?: readonly string[] }[] = operator.output
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line));
    const evicted = lines.filter(({ msg }) => msg === 'evicted a Pod');
    assert.deepEqual(evicted.map(({ pod }) => pod).sort(), names);
    assert.deepEqual(
      lines.filter(({ msg, pod }) => pod !== undefined && msg !== 'evicted a Pod'),
      [],
    );
    const decided = lines.filter(({ msg }) => msg === 'decided').flatMap((line) => line.events ?? []);
    for (const reason of ['ChangeDetected', 'RestartStarted', 'RestartCompleted']) {
      assert.equal(decided.filter((one) => one === reason).length, 1, reason);
    }
  });

  it('names the first source of its spec that has changed, its keys, and who changed it', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    /** As a tool that applies does, under a name of its own. */
    const apply = (name: string, fieldManager: string, data: Readonly<Record<string, string>>) =>
      client.patch(
        configMaps,
        { namespace, name },
        {
          type: 'apply',
          body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data },
          fieldManager,
          force: true,
        },
      );
    await shop.createConfigMap({ message: 'first' });
    await apply('zebra', 'zebra-keeper', { one: '1', two: '2', three: '3', four: '4' });
    await apply('ant', 'ant-keeper', { one: '1' });
    await shop.deploy(1);
    await shop.startOperator();
    const sources = ['zebra', 'ant'].map((name) => ({ kind: 'ConfigMap' as const, name }));
    await shop.watch({ ...atOnce, sources, suspend: true });
    await shop.baselined();

    // The one that changes last is the first one that the spec names; somebody else writes to it besides, and no data.
    await apply('ant', 'ant-keeper', { one: 'changed' });
    await shop.until('that is seen', ({ pending }) => pending?.reason === 'Suspended');
    await apply('zebra', 'zebra-keeper', { one: '1', two: 'changed', three: 'changed', five: 'new' });
    await shop.patchConfigMap({ metadata: { labels: { touched: 'yes' } } }, 'zebra');
    await shop.until('both are seen', (status) => {
      return status.sources?.filter(({ pendingHash }) => pendingHash !== undefined).length === 2;
    });
    await shop.edit({ suspend: false });
    const { lastRestart, history } = await shop.restarted(1);
    const trigger = { kind: 'ConfigMap', name: 'zebra', manager: 'zebra-keeper' };
    assert.deepEqual(lastRestart?.trigger, { ...trigger, changedKeys: ['five', 'four', 'three', 'two'] });
    assert.deepEqual(history?.[0]?.trigger, trigger);

    await shop.allReady(1);
    await shop.stopOperator();
    await apply('ant', 'another', { one: 'changed again' });
    await shop.startOperator();
    const { lastRestart: second } = await shop.restarted(2);
    assert.deepEqual(
      second?.trigger,
      { kind: 'ConfigMap', name: 'ant', manager: 'another' },
      'which keys differ is not known of an edit that nobody saw',
    );
    await shop.allReady(1);
    assert.equal(shop.seen.length, 3);
  });

  it('writes down every change that restarts none of the Pods, because no controller would replace them', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await createPods(shop, ['bare-0', 'bare-1']);
    const before = await shop.allReady(2);
    await shop.startOperator();
    await shop.watch(atOnce);
    const applied = [(await shop.baselined()).appliedHash];
    for (const [changes, message] of [
      [1, 'second'],
      [2, 'third'],
    ] as const) {
      await shop.patchConfigMap({ data: { message } });
      const { lastRestart, ...status } = await shop.until('it is applied', ({ history, pending }) => {
        return history?.length === changes && !pending;
      });
      assert.deepEqual(
        [lastRestart?.restarted, lastRestart?.skippedUnmanaged, lastRestart?.failed],
        [0, 2, 0],
      );
      assert.deepEqual(lastRestart?.trigger?.changedKeys, ['message']);
      assert.ok(lastRestart?.startTime && lastRestart.completionTime);
      const [newest] = status.history ?? [];
      assert.deepEqual([newest?.id, newest?.restarted], [lastRestart.id, 0]);
      assert.deepEqual([status.restartCount, status.stalePods, status.skippedPods], [0, 0, 2]);
      assert.equal(applied.includes(status.appliedHash), false);
      applied.push(status.appliedHash);
    }
    const { history = [] } = await shop.status();
    assert.equal(new Set(history.map(({ id }) => id)).size, 2);
    const uids = (some: readonly Pod[]) => some.map(({ metadata }) => metadata.uid).sort();
    assert.deepEqual(uids(await shop.pods()), uids(before));
  });

  it('is done with the Pods of a custom owner when all that there are serve', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const { metadata } = await shop.createConfigMap({ message: 'first' });
    // A controller of a kind that the operator knows nothing of, and that says of no number of Pods that it wants them;
    // a ConfigMap stands in for it.
    const { name, uid = '' } = metadata;
    const owner = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid, controller: true }];
    const old = ['game-0', 'game-1'];
    await createPods(shop, old, owner);
    await shop.allReady(2);
    await shop.startOperator();
    await shop.watch(atOnce);
    await shop.baselined();
    await shop.olderThanEdits();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const isThere = (names: readonly string[]) => async () => {
      const there = (await shop.pods()).map((pod) => pod.metadata.name);
      return names.every((one) => there.includes(one)) && there.length === names.length;
    };
    await eventually(isThere(['game-1']), { message: 'the first Pod goes' });
    await shop.quiet();
    assert.ok(await isThere(['game-1'])(), 'two Pods are wanted, and one of them is missing');
    shop.breaksPods = true;
    await createPods(shop, ['slow'], owner);
    await eventually(() => shop.seen.length === 3, { message: 'the kubelet knows the slow Pod' });
    shop.breaksPods = false;
    await createPods(shop, ['game-2'], owner);
    await eventually(isThere(['slow', 'game-2']), { timeout: 60_000, message: 'the last old Pod goes' });
    await eventually(async () => (await shop.pods()).filter(isReady).length === 1);
    const waits = await shop.until('nothing is left to restart', ({ stalePods }) => stalePods === 0);
    assert.equal(waits.lastRestart?.completionTime, undefined);
    await shop.quiet();
    const still = await shop.status();
    assert.deepEqual([still.pending?.reason, still.history], ['InProgress', []], 'one Pod is not Ready');
    await shop.getsReady('slow');
    const { lastRestart } = await shop.restarted(1);
    assert.deepEqual([lastRestart?.restarted, lastRestart?.failed, shop.seen.length], [2, 0, 4]);
  });

  it('that may delete Pods without a controller is done when the last of them is gone', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    // Of a Pod without a node that terminates, the garbage collector says sooner or later that it has failed.
    const spec = { nodeName: 'nowhere', terminationGracePeriodSeconds: 0 };
    await createPods(shop, ['bare-0', 'bare-1'], [], spec);
    await shop.allReady(2);
    const holdBack = (finalizers: string[]) =>
      client.patch(
        pods,
        { namespace, name: 'bare-0' },
        { type: 'merge', body: { metadata: { finalizers } } },
      );
    await holdBack(['example.com/hold']);
    await shop.startOperator();
    await shop.watch({ ...atOnce, strategy: { type: 'Evict', unmanagedPods: 'Delete' } });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(
      async () => {
        const [pod, ...others] = await shop.pods();
        return others.length === 0 && pod?.metadata.deletionTimestamp !== undefined;
      },
      { message: 'one Pod is gone, and the other one on its way out' },
    );
    await shop.quiet();
    const waits = await shop.status();
    assert.deepEqual([waits.pending?.reason, waits.history, waits.stalePods], ['InProgress', [], 0]);
    await holdBack([]);
    const { lastRestart } = await shop.restarted(1);
    assert.deepEqual([lastRestart?.restarted, lastRestart?.skippedUnmanaged], [2, 0]);
    assert.deepEqual(await shop.pods(), []);
  });
});

it('a ConfigWatcher tells each owner of a kind that it knows nothing of by an Event that its Pods are restarted', {
  timeout,
}, async (t) => {
  const shop = await Shop.open(t);
  const { client, namespace } = shop;
  // Controllers of such kinds; a ConfigMap and a Lease stand in for them.
  const objects = [
    { apiVersion: 'v1', kind: 'ConfigMap', object: await shop.createConfigMap({ message: 'first' }) },
    {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      object: await client.create(leases, { metadata: { namespace, name: 'fleet' }, spec: {} }),
    },
  ];
  const owners = objects.map(({ apiVersion, kind, object: { metadata } }) => {
    return { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '' };
  });
  for (const owner of owners) await createPods(shop, [`of-${owner.name}`], [{ ...owner, controller: true }]);
  await shop.allReady(2);
  await shop.startOperator();
  // The Pod of the one does not come back: for so long the other one waits.
  await shop.watch({ ...atOnce, strategy: { progressDeadlineSeconds: 20 } });
  await shop.baselined();
  await shop.patchConfigMap({ data: { message: 'second' } });
  const { lastRestart } = await shop.restarted(1);
  assert.deepEqual([lastRestart?.restarted, await shop.pods()], [2, []]);
  const told = await eventually(
    async () => {
      const { items } = await client.list(events, { namespace });
      const restarts = items.filter(({ reason }) => reason === 'ConfigRestart');
      return restarts.length >= owners.length && restarts;
    },
    { timeout: 40_000, message: 'each owner has its Event' },
  );
  const byKind = told.sort((left, right) =>
    (left.regarding?.kind ?? '').localeCompare(right.regarding?.kind ?? ''),
  );
  assert.deepEqual(
    byKind.map(({ regarding }) => regarding),
    owners.map((owner) => ({ ...owner, namespace })),
  );
  for (const { type, note = '', series } of told) {
    assert.deepEqual([type, series], ['Normal', undefined]);
    assert.match(note, /^ConfigWatcher webapp-config-watcher restarts its Pods: .*webapp-config/);
  }
});
