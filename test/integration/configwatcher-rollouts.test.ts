/** Restarts by the rollouts of owners: what is written into a template, and who waits for whom, on a real API server. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import type { ConfigWatcherStatus } from '../../src/api/configwatcher.generated.ts';
import {
  daemonSets,
  deployments,
  statefulSets,
  type Workload,
} from '../../src/configwatcher/facts/workload.ts';
import { type Pod, pods } from '../../src/kubernetes/objects.ts';
import { kubectl } from '../e2e/kubectl.ts';
import { setUpdateStrategy } from './configwatcher-owner.ts';
import { isReady, Shop } from './configwatcher-shop.ts';
import { historyOf, type ObjectVersion, versionOf } from './object-history.ts';
import { eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

const timeout = 180_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };
const prefix = 'k8spatterns.io/restarted-for.';

function annotationsOf({ spec }: Workload): Readonly<Record<string, string>> {
  return spec?.template?.metadata?.annotations ?? {};
}

function digestOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 8);
}

function nameOf(length: number): string {
  return 'watcher-'
    .repeat(40)
    .slice(0, length - 1)
    .concat('x');
}

/** As far as an annotation has room for the name. */
function shortened(name: string): string {
  return `${name.slice(0, 40)}-${digestOf(name)}`;
}

/** Of a Pod of a Deployment: which template it was made from. */
function templateOf({ metadata }: Pod): string {
  return metadata.labels?.['pod-template-hash'] ?? '';
}

/** From the first version of each Deployment that has the annotation, in their order. */
function templateChanges(history: readonly ObjectVersion<Workload>[], annotation: string) {
  const changes = new Map<string, number>();
  for (const { object, at } of history) {
    const { name } = object.metadata;
    if (annotationsOf(object)[annotation] !== undefined && !changes.has(name)) changes.set(name, at);
  }
  return [...changes].map(([name, at]) => ({ name, at })).sort((one, other) => one.at - other.at);
}

/** When the Deployment had its first Pod Ready that was made after this version. */
function servedAgainAt(history: readonly ObjectVersion<Pod>[], deployment: string, since: number): number {
  const ofDeployment = history.filter(({ object }) => object.metadata.labels?.deployment === deployment);
  const made = ofDeployment.filter(({ type, at }) => type === 'ADDED' && at > since);
  const uids = new Set(made.map(({ object }) => object.metadata.uid));
  const ready = ofDeployment.find(({ object }) => uids.has(object.metadata.uid) && isReady(object));
  return ready?.at ?? Number.POSITIVE_INFINITY;
}

describe('a ConfigWatcher by RolloutRestart', { concurrency: 4 }, () => {
  for (const { what, name, key } of [
    { what: 'has 49 characters', name: nameOf(49), key: (name: string) => name },
    { what: 'has 50 characters', name: nameOf(50), key: shortened },
    { what: 'has 253 characters', name: nameOf(253), key: shortened },
    { what: 'is a number with dots', name: '2026.11.28', key: (name: string) => name },
  ]) {
    it(`whose name ${what} marks the template, and so the new Pods`, { timeout }, async (t) => {
      const shop = await Shop.open(t);
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(2);
      await shop.startOperator();
      await shop.watch({ ...atOnce, strategy: { type: 'RolloutRestart' } }, name);
      await shop.baselined(name);
      await shop.patchConfigMap({ data: { message: 'second' } });
      const { lastRestart } = await shop.until('it is done', ({ restartCount }) => restartCount === 1, {
        name,
      });
      const left = await shop.allReady(2);
      const expected = { [`${prefix}${key(name)}`]: lastRestart?.id };
      const webapp = await shop.client.get(deployments, { namespace: shop.namespace, name: 'webapp' });
      assert.deepEqual(annotationsOf(webapp), expected);
      for (const { metadata } of left) assert.deepEqual(metadata.annotations, expected);
      assert.equal(shop.seen.length, 4);
    });
  }

  for (const [kind, resource] of [
    ['StatefulSet', statefulSets],
    ['DaemonSet', daemonSets],
  ] as const) {
    it(`says that OnDelete keeps a ${kind}, and goes on by itself when that ends`, { timeout }, async (t) => {
      const shop = await Shop.open(t);
      const key = { namespace: shop.namespace, name: 'webapp' };
      const updateBy = (type: string) => setUpdateStrategy(shop, resource, { type, rollingUpdate: null });
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(2, kind);
      await updateBy('OnDelete');
      const generation = await shop.generation(kind);
      await shop.startOperator();
      await shop.watch({ ...atOnce, strategy: { type: 'RolloutRestart' } });
      await shop.baselined();
      await shop.patchConfigMap({ data: { message: 'second' } });
      const held = await shop.until('it is Stalled', ({ pending }) => pending?.reason === 'Stalled');
      const stalled = held.conditions?.find(({ type }) => type === 'Stalled');
      assert.deepEqual([stalled?.status, stalled?.reason], ['True', 'OnDelete']);
      assert.equal((await shop.untilEvent('RestartStalled')).note, stalled?.message);
      assert.deepEqual([await shop.generation(kind), shop.seen.length], [generation, 2]);
      await updateBy('RollingUpdate');
      const { lastRestart, conditions } = await shop.restarted(1);
      await shop.allReady(2);
      assert.deepEqual([lastRestart?.restarted, shop.seen.length], [2, 4]);
      assert.equal(
        conditions?.some(({ type }) => type === 'Stalled'),
        false,
      );
      const annotation = `${prefix}webapp-config-watcher`;
      assert.equal(annotationsOf(await shop.client.get(resource, key))[annotation], lastRestart?.id);
    });
  }

  it('does not fight a user who undoes its rollout afterwards, however long', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const { namespace } = shop;
    const { options, proxy, advanceAtRest } = await timeTravel(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2);
    await shop.startOperator(options);
    await shop.watch({ ...atOnce, strategy: { type: 'RolloutRestart' } });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { appliedHash } = await shop.restarted(1);
    await shop.allReady(2);
    const restartingWrites = () =>
      proxy.asked.filter(
        ({ method, path }) =>
          method !== 'GET' && /\/(deployments|pods)\//.test(path) && path.includes(namespace),
      );
    const before = restartingWrites().length;
    assert.equal(before, 1, 'one change of the template');
    await kubectl(['rollout', 'undo', 'deployment/webapp', `--namespace=${namespace}`]);
    await eventually(() => shop.seen.length === 6, { message: 'the owner replaces its Pods once more' });
    await shop.allReady(2);
    const looks = () => proxy.asked.filter(({ path }) => path.endsWith('/configmaps/webapp-config')).length;
    // Another look begins when the one before is over.
    for (const look of ['one', 'another', 'the last']) {
      await advanceAtRest(300_000);
      const last = looks();
      await shop.patchConfigMap({ metadata: { labels: { look: look.replace(' ', '-') } } });
      await eventually(() => looks() > last, { message: 'the operator looks at the ConfigMap' });
    }
    const webapp = await shop.client.get(deployments, { namespace, name: 'webapp' });
    assert.deepEqual(annotationsOf(webapp), {}, 'the template is the one of before');
    assert.equal(restartingWrites().length, before);
    const { pending, restartCount, ...status } = await shop.status();
    assert.deepEqual([pending, restartCount, status.appliedHash], [undefined, 1, appliedHash]);

    await shop.patchConfigMap({ data: { message: 'third' } });
    await shop.restarted(2);
    await shop.allReady(2);
    assert.deepEqual([restartingWrites().length, shop.seen.length], [before + 1, 8], 'the next edit counts');
  });
});

describe('two ConfigWatchers by RolloutRestart of one Deployment', { concurrency: 2 }, () => {
  const watchers = ['webapp-config-watcher', 'second-watcher'] as const;
  const strategy = { type: 'RolloutRestart' } as const;

  /** With three Pods, and what becomes of them. */
  async function watchedTwice(t: TestContext) {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.createConfigMap({ more: 'first' }, 'extra');
    await shop.deploy(3);
    await shop.startOperator();
    await shop.watch({ ...atOnce, strategy });
    await shop.watch({ ...atOnce, strategy, configMap: 'extra' }, watchers[1]);
    for (const name of watchers) await shop.baselined(name);
    const templates = await historyOf(t, shop, deployments);
    return { shop, templates, made: await historyOf(t, shop, pods) };
  }

  /** Resolves when both are done and all Pods have started after this version. Returns how many rollouts that took. */
  async function rolloutsUntil(shop: Shop, made: readonly ObjectVersion<Pod>[], edit: number) {
    for (const name of watchers) {
      const isDone = ({ history, pending }: ConfigWatcherStatus) =>
        history?.length === 1 && pending === undefined;
      assert.equal((await shop.until(`${name} is done`, isDone, { name })).lastRestart?.failed, 0);
    }
    for (const { metadata } of await shop.allReady(3)) {
      const started = await eventually(() =>
        made.find(({ object }) => object.metadata.uid === metadata.uid && isReady(object)),
      );
      assert.ok(started.at > edit, `${metadata.name} has both contents`);
    }
    return new Set(made.filter(({ type }) => type === 'ADDED').map(({ object }) => templateOf(object))).size;
  }

  it('bring two contents that change together everywhere with two rollouts at most', {
    timeout,
  }, async (t) => {
    const { shop, made } = await watchedTwice(t);
    await shop.patchConfigMap({ data: { message: 'second' } });
    const edit = await shop.patchConfigMap({ data: { more: 'second' } }, 'extra');
    const rollouts = await rolloutsUntil(shop, made, versionOf(edit));
    assert.ok(rollouts <= 2, `${rollouts} rollouts`);
  });

  it('make one rollout after the other where the second content changes in the middle of the first one', {
    timeout,
  }, async (t) => {
    const { shop, templates, made } = await watchedTwice(t);
    shop.isKubeletSlow = true;
    await shop.patchConfigMap({ data: { message: 'second' } });
    const first = await eventually(() => made.find(({ type }) => type === 'ADDED'), {
      timeout: 60_000,
      message: 'the first rollout has begun',
    });
    await shop.getsReady(first.object.metadata.name);
    await eventually(() => shop.seen.length === 5, { message: 'it goes on' });
    const edit = await shop.patchConfigMap({ data: { more: 'second' } }, 'extra');
    const second = watchers[1];
    const isWaiting = ({ pending }: ConfigWatcherStatus) =>
      pending?.started !== undefined && pending.reason === 'RolloutInProgress';
    await shop.until('the second one waits', isWaiting, { name: second });
    await shop.quiet();
    shop.isKubeletSlow = false;
    assert.equal(await rolloutsUntil(shop, made, versionOf(edit)), 2);
    const [next] = templateChanges(templates, `${prefix}${second}`);
    const goneBefore = made.filter(({ type, at }) => type === 'DELETED' && at < (next?.at ?? 0));
    const uids = goneBefore.map(({ object }) => object.metadata.uid ?? '');
    assert.ok(
      shop.seen.slice(0, 3).every((uid) => uids.includes(uid)),
      'the first rollout has replaced the old Pods when the second begins',
    );
  });
});

it('a ConfigWatcher by Auto rolls out one of ten Deployments first, and then as many at once as it may', {
  timeout,
}, async (t) => {
  const shop = await Shop.open(t);
  const names = Array.from({ length: 10 }, (_, index) => `web-${index}`);
  await shop.createConfigMap({ message: 'first' });
  for (const name of names) await shop.createWorkload(1, 'Deployment', name);
  await shop.allReady(10);
  await shop.startOperator();
  await shop.watch({ ...atOnce, strategy: { type: 'Auto', maxOwners: 3 } });
  await shop.baselined();
  const [ofDeployments, ofPods] = [await historyOf(t, shop, deployments), await historyOf(t, shop, pods)];
  const changes = () => templateChanges(ofDeployments, `${prefix}webapp-config-watcher`);
  await shop.patchConfigMap({ data: { message: 'second' } });
  await eventually(() => changes().length > 0, { timeout: 60_000, message: 'the canary is rolled out' });
  await eventually(async () => shop.seen.length === 11 && (await shop.allReady(10)), { timeout: 60_000 });
  // So that those after the canary overlap.
  shop.isKubeletSlow = true;
  await eventually(() => changes().length >= 4, { timeout: 60_000, message: 'others follow' });
  await eventually(() => shop.seen.length >= 14, { message: 'their new Pods are there' });
  shop.isKubeletSlow = false;
  const { lastRestart, strategyInUse } = await shop.restarted(1);
  const left = await shop.allReady(10);
  assert.deepEqual([lastRestart?.restarted, strategyInUse, shop.seen.length], [10, 'Auto', 20]);
  await eventually(() => left.every((pod) => ofPods.some(({ at }) => at === versionOf(pod))), {
    message: 'the history has them all',
  });

  const rollouts = changes().map(({ name, at }) => ({ name, at, over: servedAgainAt(ofPods, name, at) }));
  assert.deepEqual(rollouts.map(({ name }) => name).sort(), names);
  const open = rollouts.map(({ at }) => rollouts.filter((one) => one.at <= at && one.over > at).length);
  const [canary, ...others] = rollouts;
  assert.equal(canary?.name, 'web-0');
  assert.ok(
    others.every(({ at }) => at > (canary?.over ?? Number.POSITIVE_INFINITY)),
    'the others wait for it',
  );
  assert.equal(Math.max(...open), 3, `in the middle of a restart: ${open.join(', ')}`);
});
