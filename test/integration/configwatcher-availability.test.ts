/** What a restart leaves working, on a real API server: done means available. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configWatchers } from '../../src/api/resources.ts';
import { deployments } from '../../src/configwatcher/facts/workload.ts';
import { type ContainerStatus, type Pod, pods } from '../../src/kubernetes/objects.ts';
import { forbidEvictions, noteEvictions } from './configwatcher-evictions.ts';
import { OperatorProcess } from './configwatcher-process.ts';
import { events, isReady, podDisruptionBudgets, probedContainer, Shop } from './configwatcher-shop.ts';
import { eventually } from './support.ts';

const timeout = 180_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };
/** Never now: it opens on the first of January. */
const closed = [{ schedule: '0 0 1 1 *', duration: '1m' }];

async function shopOf(t: Parameters<typeof Shop.open>[0], names: readonly string[]): Promise<Shop> {
  const shop = await Shop.open(t);
  await shop.createConfigMap({ message: 'first' });
  for (const name of names) await shop.createWorkload(1, 'Deployment', name);
  await shop.allReady(names.length);
  await shop.startOperator();
  return shop;
}

/** With three Deployments: the canary is the one whose Pod has a node, and an init container. */
async function shopWithInitContainer(t: Parameters<typeof Shop.open>[0]): Promise<Shop> {
  const shop = await Shop.open(t);
  const { client, namespace } = shop;
  await shop.createConfigMap({ message: 'first' });
  await shop.deploy(0, 'Deployment', 'api', { nodes: 1 });
  const initContainers = [{ name: 'migrate', image: 'mini-http-server' }];
  const body = { spec: { replicas: 1, template: { spec: { initContainers } } } };
  await client.patch(deployments, { namespace, name: 'api' }, { type: 'merge', body });
  await shop.allReady(1);
  for (const name of ['web-0', 'web-1']) await shop.deploy(1, 'Deployment', name);
  await shop.startOperator();
  await shop.watch({ ...atOnce, cooldown: { base: '10m' } });
  await shop.baselined();
  return shop;
}

/** Edits the content; the new Pod of the canary gets as far as its kubelet says. Resolves with the name of that Pod. */
async function editsAndShows(shop: Shop, message: string | null, status: NonNullable<Pod['status']>) {
  const { client, namespace } = shop;
  shop.isKubeletSlow = true;
  await shop.patchConfigMap({ data: { message } });
  const { metadata } = await eventually(
    async () => {
      const pod = (await shop.pods()).find((one) => !isReady(one) && one.spec.nodeName !== undefined);
      return pod?.metadata.deletionTimestamp === undefined && pod;
    },
    { timeout: 40_000, message: 'the first Pod goes' },
  );
  const { name } = metadata;
  await client.patchStatus(pods, { namespace, name }, { type: 'merge', body: { status } });
  return name;
}

const crashed = { exitCode: 7, reason: 'Error', message: 'no such table' };
const unconfigured = { reason: 'CreateContainerConfigError', message: 'no such key' };
const failingInitContainers: readonly (Pick<ContainerStatus, 'restartCount' | 'state' | 'lastState'> & {
  readonly what: string;
  readonly told: RegExp;
})[] = [
  {
    what: 'crashes',
    restartCount: 2,
    state: { waiting: { reason: 'CrashLoopBackOff' } },
    lastState: { terminated: crashed },
    told: /container migrate: .*exit code 7 after 2 restarts: no such table$/,
  },
  {
    what: 'cannot be configured',
    restartCount: 0,
    state: { waiting: unconfigured },
    told: /container migrate: CreateContainerConfigError/,
  },
];

describe('a ConfigWatcher', { concurrency: 3 }, () => {
  it('takes a Pod that nothing brings back only once a new one of a Deployment works', {
    timeout,
  }, async (t) => {
    const shop = await shopOf(t, ['web']);
    const { client, namespace } = shop;
    const bare = { namespace, name: 'bare' };
    const labels = { app: 'webapp' };
    const spec = { containers: [probedContainer] };
    await client.create(pods, { metadata: { ...bare, labels }, spec });
    await shop.allReady(2);
    await shop.watch({ ...atOnce, strategy: { unmanagedPods: 'Delete', progressDeadlineSeconds: 15 } });
    await shop.baselined();
    shop.breaksPods = true;
    await shop.patchConfigMap({ data: { message: 'bad' } });
    await shop.until('the broken Pod is told', ({ conditions }) =>
      Boolean(conditions?.some(({ reason }) => reason === 'NewPodsNotAvailable')),
    );
    assert.equal((await client.get(pods, bare)).metadata.deletionTimestamp, undefined);

    shop.breaksPods = false;
    await shop.patchConfigMap({ data: { message: 'good' } });
    await shop.until('the good content is applied', ({ pending }) => pending === undefined, {
      timeout: 90_000,
    });
    const [web, ...others] = await shop.allReady(1);
    assert.deepEqual([web?.metadata.name.startsWith('web-'), others], [true, []]);
  });

  for (const trouble of ['breaksPods', 'crashesPods'] as const) {
    it(`whose content ${trouble} takes down one of twelve Deployments, and is mended by the next edit`, {
      timeout,
    }, async (t) => {
      const shop = await shopOf(
        t,
        Array.from({ length: 12 }, (_, index) => `web-${index}`),
      );
      await shop.watch({
        ...atOnce,
        cooldown: { base: '10m' },
        strategy: { progressDeadlineSeconds: trouble === 'breaksPods' ? 15 : 600 },
      });
      await shop.baselined();
      shop[trouble] = true;
      await shop.patchConfigMap({ data: { message: 'bad' } });
      const { conditions, lastRestart } = await shop.until('the broken Pod is told', (status) =>
        Boolean(status.conditions?.some(({ reason }) => reason === 'NewPodsNotAvailable')),
      );
      const stalled = conditions?.find(({ type }) => type === 'Stalled');
      assert.match(
        stalled?.message ?? '',
        trouble === 'crashesPods' ? /exit code 3 after 2 restarts: no such port/ : /is not Ready/,
      );
      assert.equal(lastRestart?.unavailable, 1);
      assert.equal((await shop.untilEvent('RestartStalled')).note, stalled?.message);
      await shop.quiet();
      assert.equal(shop.seen.length, 13, 'one Deployment was touched');

      shop[trouble] = false;
      await shop.edit({ windows: closed });
      await shop.patchConfigMap({ data: { message: 'good' } });
      const isApplied = ({ pending }: { readonly pending?: object }) => pending === undefined;
      const done = await shop.until('the good content is applied', isApplied, { timeout: 90_000 });
      await shop.allReady(12);
      assert.equal(shop.seen.length, 25);
      assert.equal(
        done.conditions?.some(({ type }) => type === 'Stalled'),
        false,
      );
    });
  }

  for (const trouble of ['breaksPods', 'crashesPods'] as const) {
    it(`by Auto leaves all twelve Deployments serving when its content ${trouble}, and is mended by the next edit`, {
      timeout,
    }, async (t) => {
      const names = Array.from({ length: 12 }, (_, index) => `web-${index}`);
      const shop = await shopOf(t, names);
      await shop.watch({
        ...atOnce,
        cooldown: { base: '10m' },
        strategy: { type: 'Auto', progressDeadlineSeconds: trouble === 'breaksPods' ? 15 : 600 },
      });
      await shop.baselined();
      shop[trouble] = true;
      await shop.patchConfigMap({ data: { message: 'bad' } });
      await shop.until('the broken Pod is told', (status) =>
        Boolean(status.conditions?.some(({ reason }) => reason === 'NewPodsNotAvailable')),
      );
      await shop.quiet();
      assert.equal(shop.seen.length, 13, 'one Deployment was touched');
      const ready = (await shop.pods()).filter(isReady);
      assert.equal(ready.length, 12, 'every Deployment serves');

      shop[trouble] = false;
      await shop.edit({ windows: closed });
      await shop.patchConfigMap({ data: { message: 'good' } });
      const isApplied = ({ pending }: { readonly pending?: object }) => pending === undefined;
      const done = await shop.until('the good content is applied', isApplied, { timeout: 90_000 });
      await shop.allReady(12);
      assert.equal(
        done.conditions?.some(({ type }) => type === 'Stalled'),
        false,
      );
    });
  }

  it('whose content lacks a key that its Pods need takes down one owner, and is mended by the next edit', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first', other: 'first' });
    // By name the canary. Its Pod has a node, as one whose containers a kubelet cannot make.
    await shop.deploy(1, 'Deployment', 'api', { nodes: 1 });
    for (const name of ['web-0', 'web-1']) await shop.deploy(1, 'Deployment', name);
    await shop.startOperator();
    await shop.watch({ ...atOnce, cooldown: { base: '10m' } });
    await shop.baselined();
    const waiting = {
      reason: 'CreateContainerConfigError',
      message: `couldn't find key message in ConfigMap ${shop.namespace}/webapp-config`,
    };
    const app = { name: 'app', image: 'mini-http-server', imageID: '', ready: false, restartCount: 0 };
    const containerStatuses = [{ ...app, state: { waiting } }];
    const name = await editsAndShows(shop, null, { phase: 'Pending', containerStatuses });
    const { conditions, lastRestart } = await shop.until('the broken Pod is told', (now) =>
      Boolean(
        now.conditions?.some(({ type, reason }) => type === 'Stalled' && reason === 'NewPodsNotAvailable'),
      ),
    );
    const stalled = conditions?.find(({ type }) => type === 'Stalled');
    assert.match(stalled?.message ?? '', /^Deployment api: .*CreateContainerConfigError/);
    assert.equal(stalled?.message.includes(name), true, 'it names the Pod');
    assert.deepEqual([lastRestart?.unavailable, lastRestart?.restarted], [1, 1]);
    await shop.quiet();
    assert.equal(shop.seen.length, 4, 'one Deployment was touched');

    shop.isKubeletSlow = false;
    await shop.patchConfigMap({ data: { message: 'second' } });
    const done = await shop.until('the good content is applied', ({ pending }) => pending === undefined);
    await shop.allReady(3);
    assert.equal(
      done.conditions?.some(({ type }) => type === 'Stalled'),
      false,
    );
    assert.equal(shop.seen.length, 7);
  });

  for (const [type, kind] of [
    ['Evict', 'Deployment'],
    ['Evict', 'StatefulSet'],
    ['Evict', 'DaemonSet'],
    ['RolloutRestart', 'Deployment'],
    ['RolloutRestart', 'StatefulSet'],
    ['RolloutRestart', 'DaemonSet'],
  ] as const) {
    it(`by ${type} waits for the rollout of a ${kind} whose template changes together with the content`, {
      timeout,
    }, async (t) => {
      const shop = await Shop.open(t);
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(3, kind);
      const evicted: string[] = [];
      await shop.startOperator({ onConnect: noteEvictions(evicted) });
      await shop.watch({ debounce: { quiet: '4s' }, cooldown: { base: '0s' }, strategy: { type } });
      await shop.baselined();
      await shop.olderThanEdits();
      // A Pod that started before the operator has listed the Pods would rightly be restarted.
      shop.isKubeletSlow = true;
      await shop.patchConfigMap({ data: { message: 'second' } });
      await shop.upgrade(kind);
      await shop.until('the change is recorded', ({ pending, history }) =>
        Boolean(pending ?? history?.length),
      );
      shop.isKubeletSlow = false;
      const { lastRestart } = await shop.until('it is applied', ({ pending, lastRestart: last }) => {
        return pending === undefined && last?.completionTime !== undefined;
      });
      await shop.allReady(3);
      await shop.quiet();
      assert.equal(shop.seen.length, 6, 'each Pod was replaced once');
      assert.deepEqual([evicted, await shop.generation(kind)], [[], 2], 'by the upgrade alone');
      assert.equal(lastRestart?.failed, 0);
    });
  }

  it('restarts what was made while an edit was there that is taken back, and nothing else', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2);
    await shop.startOperator();
    await shop.watch({ debounce: { quiet: '15s' }, cooldown: { base: '0s' } });
    await shop.baselined();
    const old = [...shop.seen];
    await eventually(() => new Date().getMilliseconds() < 500, { timeout: 2000, interval: 20 });
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.until('the edit is seen', ({ pending }) => pending !== undefined);
    await client.patch(
      deployments,
      { namespace, name: 'webapp' },
      { type: 'merge', body: { spec: { replicas: 3 } } },
    );
    await shop.allReady(3);
    await shop.patchConfigMap({ data: { message: 'first' } });
    const { lastRestart } = await shop.restarted(1);
    const left = (await shop.allReady(3)).map(({ metadata }) => metadata.uid);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [1, 4]);
    assert.equal(
      old.every((uid) => left.includes(uid)),
      true,
      'those that never left the first content',
    );
  });

  it('by RolloutRestart, killed around its status writes, changes each template once', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(3);
    let operator = new OperatorProcess(t, namespace, []);
    await shop.watch({ ...atOnce, strategy: { type: 'RolloutRestart' } });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    for (const seen of [3, 4, 5]) {
      await eventually(async () => shop.seen.length >= seen && (await shop.status()).pending?.started, {
        timeout: 40_000,
        interval: 10,
      });
      await operator.kill();
      operator = new OperatorProcess(t, namespace, []);
    }
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(3);
    await shop.quiet();
    const { metadata } = await client.get(deployments, { namespace, name: 'webapp' });
    assert.deepEqual([lastRestart?.restarted, shop.seen.length, metadata.generation], [3, 6, 2]);
  });

  it('says that a budget never allows an eviction, and goes on when it does', { timeout }, async (t) => {
    const shop = await Shop.watched(t, 2);
    const { client } = shop;
    const budget = await forbidEvictions(shop, 2);
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { conditions } = await shop.until('the budget is told', ({ conditions }) =>
      Boolean(conditions?.some(({ type, reason }) => type === 'Ready' && reason === 'EvictionBlocked')),
    );
    const ready = conditions?.find(({ type }) => type === 'Ready');
    assert.equal(ready?.status, 'True');
    assert.match(
      ready?.message ?? '',
      /never allows one to go: lower minAvailable, raise maxUnavailable, or add replicas/,
    );
    assert.equal(conditions?.find(({ type }) => type === 'Progressing')?.reason, 'EvictionBlocked');
    const body = { spec: { minAvailable: 1 } };
    await client.patch(podDisruptionBudgets, budget, { type: 'merge', body });
    await shop.restarted(1);
    await shop.allReady(2);
    assert.equal(shop.seen.length, 4);
  });

  it('begins at once when asked to, whatever the window says', { timeout }, async (t) => {
    const shop = await Shop.watched(t, 1, { windows: closed });
    const key = { namespace: shop.namespace, name: 'webapp-config-watcher' };
    const ask = (value: string) => {
      const body = { metadata: { annotations: { 'k8spatterns.io/restart-now': value } } };
      return shop.client.patch(configWatchers, key, { type: 'merge', body });
    };
    await ask('first');
    await shop.until('nothing was pending', ({ restartNow }) => restartNow === 'first');
    await shop.untilEvent('NothingPending');
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.until('it waits', ({ pending }) => pending?.reason === 'Window');
    await ask('second');
    const { restartNow } = await shop.restarted(1);
    assert.deepEqual([restartNow, shop.seen.length], ['second', 2]);
    const note = (await shop.untilEvent('ConfigRestart')).note;
    assert.equal(
      note,
      'ConfigWatcher webapp-config-watcher restarts its Pods: ConfigMap webapp-config (message) changed',
    );
  });
});

describe('a ConfigWatcher whose canary has an init container', { concurrency: 3 }, () => {
  for (const { what, told, ...state } of failingInitContainers) {
    it(`takes down one owner where that ${what} in a new Pod, and is mended by the next edit`, {
      timeout,
    }, async (t) => {
      const shop = await shopWithInitContainer(t);
      const migrate = { name: 'migrate', image: 'mini-http-server', imageID: '', ready: false, ...state };
      const name = await editsAndShows(shop, 'bad', { phase: 'Pending', initContainerStatuses: [migrate] });
      const { conditions, lastRestart } = await shop.until('the broken Pod is told', (status) =>
        Boolean(status.conditions?.some(({ reason }) => reason === 'NewPodsNotAvailable')),
      );
      const stalled = conditions?.find(({ type }) => type === 'Stalled');
      assert.match(stalled?.message ?? '', told);
      assert.equal(stalled?.message.includes(name), true, 'it names the Pod');
      assert.deepEqual([lastRestart?.unavailable, lastRestart?.restarted], [1, 1]);
      await shop.quiet();
      assert.equal(shop.seen.length, 4, 'one Deployment was touched');
      shop.isKubeletSlow = false;
      await shop.patchConfigMap({ data: { message: 'good' } });
      await shop.until('the good content is applied', ({ pending }) => pending === undefined);
      await shop.allReady(3);
      assert.equal(shop.seen.length, 7);
    });
  }

  it('is not Stalled by a new Pod whose container is restarted once before it works', {
    timeout,
  }, async (t) => {
    const shop = await shopWithInitContainer(t);
    const { client, namespace } = shop;
    const app = { name: 'app', image: 'mini-http-server', imageID: '', ready: false, restartCount: 1 };
    const lastState = { terminated: crashed };
    const state = { waiting: { reason: 'CrashLoopBackOff' } };
    const containerStatuses = [{ ...app, state, lastState }];
    await editsAndShows(shop, 'second', { phase: 'Running', containerStatuses });
    await shop.quiet();
    assert.equal(shop.seen.length, 4, 'the others wait for it');
    shop.isKubeletSlow = false;
    const { lastRestart, conditions } = await shop.restarted(1);
    await shop.allReady(3);
    assert.equal(
      conditions?.some(({ type }) => type === 'Stalled'),
      false,
    );
    assert.deepEqual([lastRestart?.restarted, lastRestart?.failed, shop.seen.length], [3, 0, 6]);
    await shop.untilEvent('RestartCompleted');
    const { items } = await client.list(events, { namespace });
    assert.equal(
      items.some(({ reason }) => reason === 'RestartStalled'),
      false,
    );
  });
});

it('a ConfigWatcher without a canary loses the first batch of as many owners as may be in the middle of a restart', {
  timeout,
}, async (t) => {
  const shop = await shopOf(
    t,
    Array.from({ length: 6 }, (_, index) => `web-${index}`),
  );
  await shop.watch({ ...atOnce, strategy: { canary: false, maxOwners: 3 } });
  await shop.baselined();
  shop.crashesPods = true;
  await shop.patchConfigMap({ data: { message: 'bad' } });
  await shop.until('three broken Pods are told', ({ lastRestart }) => lastRestart?.unavailable === 3);
  await shop.quiet();
  assert.deepEqual([(await shop.pods()).filter(isReady).length, shop.seen.length], [3, 9]);

  shop.crashesPods = false;
  await shop.patchConfigMap({ data: { message: 'good' } });
  await shop.until('the good content is applied', ({ pending }) => pending === undefined, {
    timeout: 90_000,
  });
  await shop.allReady(6);
  assert.equal(shop.seen.length, 15);
});

describe('a ConfigWatcher in the middle of a restart', { concurrency: 2 }, () => {
  for (const type of ['Evict', 'Auto'] as const) {
    it(`by ${type} touches one of eight Deployments with a breaking content, also in mid-restart of several`, {
      timeout,
    }, async (t) => {
      const names = Array.from({ length: 8 }, (_, index) => `web-${index}`);
      const shop = await shopOf(t, names);
      // So that owners whose new Pods are Ready are still in the middle of their restart.
      const strategy = { type, maxOwners: 4, minReadySeconds: 15 };
      await shop.watch({ ...atOnce, strategy });
      await shop.baselined();
      await shop.patchConfigMap({ data: { message: 'second' } });
      const several = { timeout: 60_000, message: 'the first one and four more' };
      await eventually(() => shop.seen.length === 8 + 1 + 4, several);
      await shop.allReady(8);
      shop.crashesPods = true;
      await shop.patchConfigMap({ data: { message: 'bad' } });
      await shop.until('the broken Pod is told', (status) =>
        Boolean(status.conditions?.some(({ reason }) => reason === 'NewPodsNotAvailable')),
      );
      await shop.quiet();
      assert.equal(shop.seen.length, 14, 'one Deployment was touched');
      const ready = (await shop.pods()).filter(isReady);
      assert.equal(ready.length, type === 'Auto' ? 8 : 7);
      shop.crashesPods = false;
      await shop.patchConfigMap({ data: { message: 'good' } });
      const isApplied = ({ pending }: { readonly pending?: object }) => pending === undefined;
      await shop.until('the good content is applied', isApplied, { timeout: 90_000 });
      await shop.allReady(8);
    });
  }
});
