/** What an owner and an API server ask of a restart, and what is kept of it: on a real API server with the real controllers. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherStatus } from '../../src/api/configwatcher.generated.ts';
import { deployments } from '../../src/configwatcher/facts/workload.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { noteEvictions } from './configwatcher-evictions.ts';
import { events, isReady, Shop } from './configwatcher-shop.ts';
import { HostileProxy } from './hostile-proxy.ts';
import { eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

const timeout = 180_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };

function patchWebapp({ client, namespace }: Shop, spec: object): Promise<unknown> {
  const body = { spec };
  return client.patch(deployments, { namespace, name: 'webapp' }, { type: 'merge', body });
}

describe('a ConfigWatcher', { concurrency: 5 }, () => {
  it("waits the owner's own minReadySeconds before its next batch", { timeout }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2);
    await patchWebapp(shop, { minReadySeconds: 20 });
    await shop.startOperator();
    await shop.watch(atOnce);
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.restarted(1);
    const left = await shop.allReady(2);
    assert.equal(shop.seen.length, 4);
    const [first = 0, second = 0] = left
      .map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''))
      .sort((one, other) => one - other);
    // The kubelet here tells no time of Ready, so that a Pod counts as Ready from its creation on.
    assert.ok(second - first >= 20_000, `after ${second - first} ms`);
  });

  it("waits by its own minReadySeconds where that is 0, and not by the owner's", { timeout }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2);
    await patchWebapp(shop, { minReadySeconds: 600, progressDeadlineSeconds: 900 });
    await shop.startOperator();
    await shop.watch({ ...atOnce, strategy: { minReadySeconds: 0 } });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const isDone = ({ restartCount, pending }: ConfigWatcherStatus) => restartCount === 1 && !pending;
    const { lastRestart } = await shop.until('it is done', isDone, { timeout: 60_000 });
    const left = await shop.allReady(2);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [2, 4]);
    const [first = 0, second = 0] = left
      .map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''))
      .sort((one, other) => one - other);
    assert.ok(second - first >= 10_000, `the first batch has counted after ${second - first} ms`);
  });

  it('is not Stalled by a Pod that takes its grace period to end, but is where it takes longer', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { options, proxy, advanceAtRest } = await timeTravel(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.createWorkload(2, 'StatefulSet', 'webapp', { nodes: 1, graceSeconds: 600 });
    await shop.allReady(2);
    await shop.startOperator(options);
    await shop.watch({ ...atOnce, strategy: { progressDeadlineSeconds: 20 } });
    await shop.baselined();
    const node = `${shop.namespace}-0`;
    // Its kubelet ends no Pod.
    shop.deadNodes.add(node);
    await shop.patchConfigMap({ data: { message: 'second' } });
    const isLeaving = async () =>
      (await shop.pods()).filter(({ metadata }) => metadata.deletionTimestamp !== undefined).length === 1;
    await eventually(isLeaving, { timeout: 40_000, message: 'one Pod is on its way out' });
    const looks = () =>
      proxy.asked.filter(({ path, query }) => {
        return path.endsWith('/pods') && query.get('labelSelector') === 'app=webapp' && !query.has('watch');
      }).length;
    // A look begins only when the one before is over.
    for (let look = 0; look < 3; look++) {
      const before = looks();
      await advanceAtRest(120_000);
      await eventually(() => looks() > before, { message: 'the operator looks at the Pods' });
    }
    const { pending, conditions, stalePods } = await shop.status();
    assert.deepEqual([pending?.reason, stalePods, await isLeaving()], ['InProgress', 1, true]);
    assert.equal(
      conditions?.some(({ type }) => type === 'Stalled'),
      false,
    );
    await advanceAtRest(400_000);
    await shop.until('it is Stalled', (status) => status.pending?.reason === 'Stalled');
    assert.equal(shop.seen.length, 2, 'the other Pod serves on');
    const evictions = proxy.asked.filter(({ path }) => path.endsWith('/eviction'));
    assert.equal(evictions.length, 1, 'the one that leaves is asked to go once');
    shop.deadNodes.delete(node);
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(2);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [2, 4]);
  });

  it('of an API server that asks to wait evicts no sooner than that', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(1);
    const proxy = await HostileProxy.start(t);
    const triedAt: number[] = [];
    proxy.treat = ({ path }) => {
      if (!path.endsWith('/eviction')) return undefined;
      triedAt.push(performance.now());
      if (triedAt.length > 1) return undefined;
      const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'TooManyRequests' };
      return {
        code: 429,
        body: JSON.stringify({ ...status, message: 'please wait', code: 429 }),
        headers: { 'content-type': 'application/json', 'retry-after': '8' },
      };
    };
    await shop.startOperator({ kubeConfig: proxy.kubeConfig });
    await shop.watch(atOnce);
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(1);
    assert.deepEqual([lastRestart?.restarted, lastRestart?.failed, shop.seen.length], [1, 0, 2]);
    const [first = 0, second = 0] = triedAt;
    assert.deepEqual([triedAt.length, second - first >= 8000], [2, true], `after ${second - first} ms`);
    assert.ok(second - first < 20_000, `after ${second - first} ms`);
  });

  it('has each of six changes in a row wait twice as long, up to the longest, suspects a loop, and keeps the last five', {
    timeout: 280_000,
  }, async (t) => {
    const shop = await Shop.watched(t, 1, { cooldown: { base: '12s', max: '24s' } });
    const restarts: NonNullable<ConfigWatcherStatus['lastRestart']>[] = [];
    const gaps: number[] = [];
    let last: ConfigWatcherStatus = {};
    let mayStartAt = Number.NaN;
    for (let change = 1; change <= 6; change++) {
      await shop.patchConfigMap({ data: { message: `change ${change}` } });
      last = await shop.until(`change ${change} has its restart`, ({ lastRestart }) => {
        return lastRestart?.id !== undefined && lastRestart.id !== restarts.at(-1)?.id;
      });
      const restart = last.lastRestart ?? assert.fail('it has one');
      restarts.push(restart);
      const start = Date.parse(restart.startTime ?? '');
      const lateMs = change === 1 ? 0 : start - mayStartAt;
      assert.ok(lateMs >= 0 && lateMs < 15_000, `change ${change}: ${lateMs} ms after the end of its gap`);
      mayStartAt = Date.parse(last.cooldownUntil ?? '');
      gaps.push(mayStartAt - start);
      // One that has not started reads the next content.
      await eventually(() => shop.seen.length === change + 1, { timeout: 60_000 });
      await shop.allReady(1);
    }
    // How late a restart is depends on the machine; its status tells the gap itself.
    assert.deepEqual(gaps, [12_000, 24_000, 24_000, 24_000, 24_000, 24_000]);
    assert.equal(last.cooldownWaits, 5);
    const hints = async () => {
      const { items } = await shop.client.list(events, { namespace: shop.namespace });
      const told = items.filter(
        ({ reason, note }) => reason === 'CooldownActive' && note?.includes('rewrites'),
      );
      return told.length > 0 && told;
    };
    const [hint, ...others] = await eventually(hints, { message: 'an Event suspects a loop' });
    assert.match(
      hint?.note ?? '',
      /^the next restart starts in \d+.*; five changes in a row had to wait: perhaps a Pod rewrites its own configuration$/,
    );
    assert.deepEqual([others.length, hint?.series], [0, undefined], 'in the fifth wait alone');
    const { history = [], restartCount } = await shop.restarted(6);
    await shop.allReady(1);
    assert.deepEqual([restartCount, shop.seen.length], [6, 7]);
    assert.deepEqual(
      history.map(({ id }) => id),
      restarts
        .map(({ id }) => id)
        .reverse()
        .slice(0, 5),
    );
    const trigger = { kind: 'ConfigMap', name: 'webapp-config', manager: 'atwatch-test' };
    assert.deepEqual(restarts.at(-1)?.trigger, { ...trigger, changedKeys: ['message'] });
    for (const entry of history) assert.deepEqual(entry.trigger, trigger, 'without the names of keys');
  });

  it('by Auto evicts the Pods of a Deployment whose strategy is Recreate, one at a time', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2);
    await patchWebapp(shop, { strategy: { type: 'Recreate', rollingUpdate: null } });
    const generation = await shop.generation('Deployment');
    await shop.startOperator();
    await shop.watch({ ...atOnce, strategy: { type: 'Auto' } });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 3, { timeout: 40_000, message: 'the first Pod goes' });
    assert.ok((await shop.pods()).some(isReady), 'the other one serves');
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(2);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [2, 4]);
    assert.equal(await shop.generation('Deployment'), generation, 'its template is as it was');
  });

  it('names ten of the owners that it has restarted, and counts the others', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    for (let index = 0; index < 12; index++) await shop.createWorkload(1, 'Deployment', `web-${index}`);
    await shop.allReady(12);
    await shop.startOperator();
    await shop.watch({ ...atOnce, strategy: { canary: false, maxOwners: 12 } });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(12);
    const { owners = [], restarted } = lastRestart ?? {};
    assert.equal(restarted, 12);
    assert.deepEqual(owners.at(-1), { name: '+2', restarted: 2, available: 2, reason: 'NotShown' });
    const named = owners.slice(0, -1);
    assert.equal(new Set(named.map(({ name }) => name)).size, 10);
    for (const { name, ...rest } of named) {
      assert.match(name, /^Deployment\/web-\d+$/);
      assert.deepEqual(rest, { restarted: 1, available: 1, reason: 'Available' });
    }
  });
});

it('a ConfigWatcher by Auto holds the next owner back until a new Pod that flaps has stayed Ready for long enough', {
  timeout,
}, async (t) => {
  const shop = await Shop.open(t);
  const { client, namespace } = shop;
  await shop.createConfigMap({ message: 'first' });
  for (const name of ['api', 'web']) await shop.createWorkload(1, 'Deployment', name);
  await shop.allReady(2);
  const evicted: string[] = [];
  await shop.startOperator({ onConnect: noteEvictions(evicted) });
  await shop.watch({ ...atOnce, strategy: { type: 'Auto', minReadySeconds: 20 } });
  await shop.baselined();
  shop.isKubeletSlow = true;
  await shop.patchConfigMap({ data: { message: 'second' } });
  const newPodOf = (owner: string) =>
    eventually(
      async () => {
        const found = await shop.pods();
        return found.find((pod) => !isReady(pod) && pod.metadata.labels?.deployment === owner);
      },
      { timeout: 60_000, message: `${owner} has a new Pod` },
    );
  const { name } = (await newPodOf('api')).metadata;
  /** As a kubelet writes it; resolves with the second of the transition. */
  const becomes = async (status: 'True' | 'False') => {
    const second = Math.floor(Date.now() / 1000) * 1000;
    const lastTransitionTime = new Date(second).toISOString();
    const conditions = ['ContainersReady', 'Ready'].map((type) => ({ type, status, lastTransitionTime }));
    const body = { status: { phase: 'Running' as const, conditions } };
    await client.patchStatus(pods, { namespace, name }, { type: 'merge', body });
    return second;
  };
  await becomes('True');
  await eventually(async () => (await shop.pods()).length === 2, { message: 'the old Pod goes' });
  await shop.quiet();
  await becomes('False');
  await shop.quiet();
  assert.equal(shop.seen.length, 3, 'the next owner waits');
  const backAt = await becomes('True');
  const began = Date.parse((await newPodOf('web')).metadata.creationTimestamp ?? '');
  assert.ok(began - backAt >= 20_000, `after ${began - backAt} ms`);
  shop.isKubeletSlow = false;
  const { lastRestart } = await shop.restarted(1);
  await shop.allReady(2);
  assert.deepEqual([lastRestart?.restarted, lastRestart?.failed, shop.seen.length], [2, 0, 4]);
  assert.deepEqual(evicted, [], 'by the rollouts of both');
});
