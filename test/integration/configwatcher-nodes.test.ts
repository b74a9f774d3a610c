/**
 * What nodes, quotas and the content itself do to the new Pods of a restart, on a real API server with the real
 * controllers: who is held up by it, for how long, and what the watcher says.
 */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { ConfigWatcherStatus } from '../../src/api/configwatcher.generated.ts';
import { deployments } from '../../src/configwatcher/facts/workload.ts';
import { findCondition } from '../../src/kubernetes/conditions.ts';
import { type Pod, pods } from '../../src/kubernetes/objects.ts';
import { resourceQuotas } from '../fixtures/cluster-resources.ts';
import { noteEvictions } from './configwatcher-evictions.ts';
import { isReady, Shop } from './configwatcher-shop.ts';
import { imposeQuota } from './quota.ts';
import { eventually } from './support.ts';

const timeout = 240_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };

async function opened(t: TestContext): Promise<Shop> {
  const shop = await Shop.open(t);
  await shop.createConfigMap({ message: 'first' });
  return shop;
}

async function watched(shop: Shop, strategy: Parameters<Shop['watch']>[0] = {}): Promise<void> {
  await shop.startOperator();
  await shop.watch({ ...atOnce, ...strategy });
  await shop.baselined();
}

/** Resolves when the restart is stuck for that reason, which STATE shows as well. */
function stalledFor(shop: Shop, reason: string): Promise<ConfigWatcherStatus> {
  return shop.until(
    `it is Stalled for ${reason}`,
    (status) =>
      findCondition(status.conditions, 'Stalled')?.reason === reason &&
      findCondition(status.conditions, 'Progressing')?.reason === reason,
    { timeout: 150_000 },
  );
}

/** `[restarted, reason]` by owner. */
function owners({ lastRestart }: ConfigWatcherStatus) {
  const entries = (lastRestart?.owners ?? []).map(
    ({ name, restarted, reason }) => [name, [restarted, reason]] as const,
  );
  return Object.fromEntries(entries);
}

async function nodeOf(shop: Shop, owner: string): Promise<string> {
  const pod = (await shop.pods()).find(({ metadata }) => metadata.labels?.deployment === owner);
  return pod?.spec.nodeName ?? '';
}

function podOn(shop: Shop, node: string): Promise<Pod> {
  return shop
    .pods()
    .then((found) => found.find(({ spec }) => spec.nodeName === node) ?? assert.fail('it has a Pod'));
}

/** Resolves with the name of one that has died, when that is known to the node controller. */
async function deadNodeOf(shop: Shop, owner: string): Promise<string> {
  const dead = await nodeOf(shop, owner);
  shop.deadNodes.add(dead);
  await eventually(async () => !isReady(await podOn(shop, dead)), {
    timeout: 120_000,
    message: 'the node controller takes its Pod for not Ready',
  });
  return dead;
}

/** With its Pod, as the garbage collector does a little later. */
async function removeNode(shop: Shop, node: string): Promise<void> {
  await shop.deleteNode(node);
  const { name } = (await podOn(shop, node)).metadata;
  await shop.client.delete(pods, { namespace: shop.namespace, name }, { gracePeriodSeconds: 0 });
}

describe('a ConfigWatcher', { concurrency: 6 }, () => {
  for (const trouble of ['breaksPods', 'crashesPods'] as const) {
    it(`whose content ${trouble} takes one Pod of a DaemonSet by Evict, and is mended by the next edit`, {
      timeout,
    }, async (t) => {
      const shop = await opened(t);
      await shop.deploy(3, 'DaemonSet');
      const before = [...shop.seen];
      const progressDeadlineSeconds = trouble === 'breaksPods' ? 15 : 600;
      await watched(shop, { cooldown: { base: '10m' }, strategy: { progressDeadlineSeconds } });
      shop[trouble] = true;
      await shop.patchConfigMap({ data: { message: 'bad' } });
      const stuck = await stalledFor(shop, 'NewPodsNotAvailable');
      assert.match(
        findCondition(stuck.conditions, 'Stalled')?.message ?? '',
        trouble === 'breaksPods'
          ? /^DaemonSet webapp: .*; the next edit is applied at once; Pod webapp-\w+ is not Ready, or does not stay so$/
          : /^DaemonSet webapp: .*; the next edit is applied at once; Pod .* exit code 3 after 2 restarts: no such port$/,
      );
      await shop.quiet();
      const serving = (await shop.pods()).filter(isReady).map(({ metadata }) => metadata.uid ?? '');
      assert.deepEqual([serving.length, shop.seen.length], [2, 4]);
      assert.ok(serving.every((uid) => before.includes(uid)));

      shop[trouble] = false;
      await shop.patchConfigMap({ data: { message: 'good' } });
      const isApplied = ({ pending }: ConfigWatcherStatus) => pending === undefined;
      const done = await shop.until('the good content is applied', isApplied);
      await shop.allReady(3);
      assert.deepEqual([findCondition(done.conditions, 'Stalled'), shop.seen.length], [undefined, 7]);
    });
  }

  for (const type of ['RolloutRestart', 'Auto'] as const) {
    it(`by ${type} takes one Pod of a StatefulSet with a content that breaks Pods, and is mended by the next edit`, {
      timeout,
    }, async (t) => {
      const shop = await opened(t);
      await shop.deploy(3, 'StatefulSet');
      await watched(shop, { strategy: { type } });
      shop.crashesPods = true;
      await shop.patchConfigMap({ data: { message: 'bad' } });
      await stalledFor(shop, 'NewPodsNotAvailable');
      await shop.quiet();
      assert.deepEqual([shop.seen.length, (await shop.pods()).filter(isReady).length], [4, 2]);
      // Its controller waits for the broken Pod (kubernetes#67250), which no rollout replaces.
      shop.crashesPods = false;
      await shop.patchConfigMap({ data: { message: 'good' } });
      const isApplied = ({ pending }: ConfigWatcherStatus) => pending === undefined;
      const done = await shop.until('the good content is applied', isApplied);
      await shop.allReady(3);
      assert.deepEqual([findCondition(done.conditions, 'Stalled'), shop.seen.length], [undefined, 7]);
    });
  }

  it('goes on to the next owner when no node takes a new Pod, and says so', { timeout }, async (t) => {
    const shop = await opened(t);
    await shop.deploy(1, 'Deployment', 'web-0');
    await shop.deploy(1, 'Deployment', 'web-1');
    await watched(shop, { strategy: { progressDeadlineSeconds: 10 } });
    shop.isFull = true;
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 3, { timeout: 40_000 });
    shop.isFull = false;
    const stuck = await stalledFor(shop, 'Unschedulable');
    assert.equal(findCondition(stuck.conditions, 'Ready')?.status, 'True');
    assert.match(
      findCondition(stuck.conditions, 'Stalled')?.message ?? '',
      /^Deployment web-0: no node takes its new Pods/,
    );
    const next = await shop.until('the next owner is done', (status) => {
      return owners(status)['Deployment/web-1']?.[1] === 'Available';
    });
    assert.deepEqual(owners(next), {
      'Deployment/web-0': [1, 'Unschedulable'],
      'Deployment/web-1': [1, 'Available'],
    });
    assert.equal(next.lastRestart?.restarted, 2);
    const waiting = (await shop.pods()).find((pod) => !isReady(pod));
    await shop.getsReady(waiting?.metadata.name ?? '');
    const { conditions } = await shop.restarted(1);
    assert.equal(findCondition(conditions, 'Stalled'), undefined);
    assert.equal(shop.seen.length, 4);
  });

  it('takes one Pod where a quota refuses the new ones, and says so', { timeout }, async (t) => {
    const shop = await opened(t);
    await shop.deploy(2);
    await watched(shop, { strategy: { progressDeadlineSeconds: 5 } });
    const quota = await imposeQuota(shop, { pods: '1' });
    await shop.patchConfigMap({ data: { message: 'second' } });
    const stuck = await stalledFor(shop, 'PodsMissing');
    assert.match(
      findCondition(stuck.conditions, 'Stalled')?.message ?? '',
      /does not make its new Pods; perhaps a quota/,
    );
    assert.deepEqual(owners(stuck), { 'Deployment/webapp': [1, 'PodsMissing'] });
    assert.deepEqual([stuck.lastRestart?.restarted, stuck.stalePods], [1, 1]);
    await shop.quiet();
    assert.equal((await shop.allReady(1)).length, 1, 'the other Pod serves');
    await shop.client.delete(resourceQuotas, quota);
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(2);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [2, 4]);
  });

  it('goes on to the next owner where a quota refuses a new Pod', { timeout }, async (t) => {
    const shop = await opened(t);
    await shop.deploy(1, 'Deployment', 'web-0');
    await shop.deploy(1, 'Deployment', 'web-1');
    await watched(shop, { strategy: { progressDeadlineSeconds: 5 } });
    const quota = await imposeQuota(shop, { pods: '0' });
    await shop.patchConfigMap({ data: { message: 'second' } });
    const stuck = await shop.until('both are begun', ({ lastRestart }) => lastRestart?.restarted === 2);
    assert.deepEqual(owners(stuck)['Deployment/web-0'], [1, 'PodsMissing']);
    await shop.client.delete(resourceQuotas, quota);
    await shop.restarted(1);
    await shop.allReady(2);
    assert.equal(shop.seen.length, 4);
  });

  it('restarts the Pods of a DaemonSet of which one node is dead, and those of others', {
    timeout: 300_000,
  }, async (t) => {
    const shop = await opened(t);
    await shop.deploy(3, 'DaemonSet', 'agent', { graceSeconds: 1 });
    await shop.deploy(1, 'Deployment', 'web');
    await watched(shop, { strategy: { maxUnavailable: 2, progressDeadlineSeconds: 20 } });
    const dead = await deadNodeOf(shop, 'agent');
    await shop.patchConfigMap({ data: { message: 'second' } });
    // No kubelet ends the Pod there, so that it stays; what can be restarted is.
    const stuck = await stalledFor(shop, 'NodeLost');
    assert.equal(stuck.stalePods, 0);
    assert.deepEqual([shop.seen.length, (await shop.pods()).filter(isReady).length], [7, 3]);
    assert.deepEqual(owners(stuck), {
      'DaemonSet/agent': [3, 'NodeLost'],
      'Deployment/web': [1, 'Available'],
    });
    await removeNode(shop, dead);
    const { lastRestart } = await shop.restarted(1);
    assert.deepEqual([lastRestart?.restarted, lastRestart?.failed], [4, 0]);
  });

  it('leaves the other Pods of a DaemonSet to which its dead node leaves no room, says so, and goes on without that node', {
    timeout: 300_000,
  }, async (t) => {
    const shop = await opened(t);
    await shop.deploy(3, 'DaemonSet', 'agent', { graceSeconds: 1, toleratesAll: true });
    await shop.deploy(1, 'Deployment', 'web');
    await watched(shop, { strategy: { maxUnavailable: 1, progressDeadlineSeconds: 20 } });
    const dead = await deadNodeOf(shop, 'agent');
    await shop.patchConfigMap({ data: { message: 'second' } });
    const stuck = await stalledFor(shop, 'NodeLost');
    assert.match(
      findCondition(stuck.conditions, 'Stalled')?.message ?? '',
      /^DaemonSet agent: the node of a Pod does not answer$/,
    );
    assert.deepEqual(owners(stuck), {
      'DaemonSet/agent': [1, 'NodeLost'],
      'Deployment/web': [1, 'Available'],
    });
    await shop.quiet();
    assert.deepEqual([(await shop.status()).stalePods, shop.seen.length], [2, 5]);
    await removeNode(shop, dead);
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(3);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [4, 7]);
  });

  it('takes a new Pod whose node dies for no sign against the content', { timeout }, async (t) => {
    const shop = await opened(t);
    // The first by name is the canary.
    await shop.deploy(1, 'Deployment', 'api', { nodes: 1 });
    await shop.deploy(1, 'Deployment', 'web');
    const minReadySeconds = 600;
    await watched(shop, { strategy: { minReadySeconds, progressDeadlineSeconds: 80 } });
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 3, { timeout: 40_000 });
    await shop.allReady(2);
    shop.deadNodes.add(await nodeOf(shop, 'api'));
    const stuck = await stalledFor(shop, 'NodeLost');
    assert.match(
      findCondition(stuck.conditions, 'Stalled')?.message ?? '',
      /^Deployment api: the node of a Pod does not answer/,
    );
    await eventually(() => shop.seen.length === 4, { timeout: 40_000, message: 'the next owner begins' });
    shop.deadNodes.clear();
    await shop.edit({ strategy: { type: 'Evict', minReadySeconds: 0 } });
    await shop.restarted(1);
    assert.equal(shop.seen.length, 4);
  });

  it('restarts the Pod of the operator itself last, and once', { timeout }, async (t) => {
    const shop = await opened(t);
    await shop.deploy(2, 'Deployment', 'operator');
    const [own = ''] = (await shop.pods()).map(({ metadata }) => metadata.name);
    await shop.deploy(3, 'Deployment', 'web');
    const others = (await shop.pods()).map(({ metadata }) => metadata.name).filter((name) => name !== own);
    const evicted: string[] = [];
    await shop.startOperator({
      ownPod: own,
      onConnect: noteEvictions(evicted),
    });
    await shop.watch({ ...atOnce, strategy: { maxUnavailable: '100%', canary: false } });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(5);
    assert.deepEqual([evicted.slice(0, -1).sort(), evicted.at(-1)], [others.sort(), own]);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [5, 10]);
  });

  it('by Auto rolls the owner of the operator itself out last, and once', { timeout }, async (t) => {
    const shop = await opened(t);
    // The smallest owner would be the canary.
    await shop.deploy(1, 'Deployment', 'operator');
    const [own = ''] = (await shop.pods()).map(({ metadata }) => metadata.name);
    await shop.deploy(2, 'Deployment', 'api');
    await shop.deploy(3, 'Deployment', 'web');
    const templates: (readonly [name: string, left: number])[] = [];
    const old = [...shop.seen];
    await shop.startOperator({
      ownPod: own,
      onConnect(client) {
        const patch: typeof client.patch = client.patch.bind(client);
        client.patch = async (resource, key, ...rest) => {
          if (resource.kind === 'Deployment') {
            const left = (await shop.pods()).filter(({ metadata }) => old.includes(metadata.uid ?? ''));
            templates.push([key.name, left.length]);
          }
          return patch(resource, key, ...rest);
        };
      },
    });
    await shop.watch({ ...atOnce, strategy: { type: 'Auto' } });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(async () => !(await shop.pods()).some(({ metadata }) => metadata.name === own), {
      timeout: 90_000,
      message: 'the Pod of the operator is replaced',
    });
    // With its Pod the process ends, and another one begins in the new Pod.
    await shop.stopOperator();
    const next = (await shop.pods()).find(({ metadata }) => metadata.labels?.deployment === 'operator');
    await shop.startOperator({ ownPod: next?.metadata.name });
    const { lastRestart } = await shop.restarted(1);
    await shop.quiet();
    await shop.allReady(6);
    assert.deepEqual(templates, [
      ['api', 6],
      ['web', 4],
      ['operator', 1],
    ]);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [6, 12]);
  });

  it('repairs three broken contents in a row at once, by a cooldown that stays, which the next one waits for', {
    timeout,
  }, async (t) => {
    const shop = await opened(t);
    await shop.deploy(2);
    await watched(shop, { cooldown: { base: '10m', max: '2h' } });
    shop.crashesPods = true;
    const broken: (string | undefined)[] = [];
    for (const message of ['bad', 'bad-1', 'bad-2', 'bad-3']) {
      await shop.patchConfigMap({ data: { message } });
      const { lastRestart, conditions, ...told } = await shop.until(`${message} is told`, (status) => {
        const isNext = status.lastRestart?.id !== undefined && !broken.includes(status.lastRestart.id);
        return isNext && findCondition(status.conditions, 'Stalled')?.reason === 'NewPodsNotAvailable';
      });
      broken.push(lastRestart?.id);
      const gap = Date.parse(told.cooldownUntil ?? '') - Date.parse(lastRestart?.startTime ?? '');
      assert.deepEqual([gap, told.cooldownWaits], [600_000, undefined], `the cooldown after ${message}`);
      assert.match(
        findCondition(conditions, 'Stalled')?.message ?? '',
        message === 'bad-3' ? /the next one waits for the cooldown/ : /the next edit is applied at once/,
      );
    }
    assert.equal(shop.seen.length, 6, 'one Pod for each');
    shop.crashesPods = false;
    await shop.patchConfigMap({ data: { message: 'good' } });
    await shop.until('it waits', ({ pending }) => pending?.reason === 'Cooldown');
    await shop.quiet();
    assert.equal(shop.seen.length, 6);
    assert.equal((await shop.pods()).filter(isReady).length, 1);
    await shop.edit({ cooldown: { base: '0s' } });
    await shop.until('it is applied', ({ pending }) => pending === undefined);
    await shop.allReady(2);
    assert.equal(shop.seen.length, 8);
  });
});

describe('a ConfigWatcher whose owners are rolled out', { concurrency: 2 }, () => {
  for (const [reason, sentence] of [
    ['PodsMissing', /^Deployment web-0: .*does not make its new Pods; perhaps a quota/],
    ['Unschedulable', /^Deployment web-0: no node takes its new Pods/],
  ] as const) {
    it(`takes no Pod and goes on to the next owner at ${reason}, and says so`, {
      timeout,
    }, async (t) => {
      const shop = await opened(t);
      await shop.deploy(1, 'Deployment', 'web-0');
      await shop.deploy(1, 'Deployment', 'web-1');
      await watched(shop, { strategy: { type: 'Auto', progressDeadlineSeconds: 5 } });
      const quota = reason === 'PodsMissing' ? await imposeQuota(shop, { pods: '2' }) : undefined;
      shop.isFull = quota === undefined;
      const before = [...shop.seen];
      await shop.patchConfigMap({ data: { message: 'second' } });
      const stuck = await stalledFor(shop, reason);
      assert.match(findCondition(stuck.conditions, 'Stalled')?.message ?? '', sentence);
      const both = await shop.until('both are begun', ({ lastRestart }) => lastRestart?.owners?.length === 2);
      assert.deepEqual(owners(both)['Deployment/web-0'], [0, reason]);
      const serving = (await shop.pods()).filter(isReady).map(({ metadata }) => metadata.uid ?? '');
      assert.deepEqual(serving.sort(), before.sort(), 'the old Pods serve');
      shop.isFull = false;
      // The kubelets here run no Pod that they have once turned down.
      const waiting = (await shop.pods()).filter((pod) => !isReady(pod));
      for (const { metadata } of waiting)
        await shop.client.delete(pods, { namespace: shop.namespace, name: metadata.name });
      if (quota !== undefined) await shop.client.delete(resourceQuotas, quota);
      // A ReplicaSet whose creates were refused waits twice as long each time.
      const isDone = ({ restartCount, pending }: ConfigWatcherStatus) => restartCount === 1 && !pending;
      await shop.until('the restart is done', isDone, { timeout: 150_000 });
      await shop.allReady(2);
    });
  }
});

describe('an owner whose Pods were missing before the change', () => {
  it('is said to be stuck, and is restarted once they are there', {
    timeout,
  }, async (t) => {
    const shop = await opened(t);
    const { client, namespace } = shop;
    await shop.deploy(1, 'Deployment', 'web-0');
    // Else those that cannot start may have the same second as the one that runs, and are restarted with it.
    await shop.olderThanEdits();
    shop.isFull = true;
    const body = { spec: { replicas: 3 } };
    await client.patch(deployments, { namespace, name: 'web-0' }, { type: 'merge', body });
    await eventually(() => shop.seen.length === 3, { timeout: 40_000, message: 'it is scaled up' });
    shop.isFull = false;
    await watched(shop, { strategy: { progressDeadlineSeconds: 10 } });
    await shop.patchConfigMap({ data: { message: 'second' } });
    const stuck = await stalledFor(shop, 'Unschedulable');
    assert.deepEqual(
      [stuck.lastRestart?.restarted, shop.seen.length],
      [0, 3],
      'no Pod that serves was taken',
    );
    for (const pod of (await shop.pods()).filter((one) => !isReady(one))) {
      await shop.getsReady(pod.metadata.name);
    }
    const { conditions } = await shop.restarted(1);
    await shop.allReady(3);
    assert.deepEqual([findCondition(conditions, 'Stalled'), shop.seen.length], [undefined, 4]);
  });
});
