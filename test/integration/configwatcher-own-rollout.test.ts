/**
 * The rollout of an owner itself, begun by the operator or by somebody else, on a real API server with the real
 * controllers.
 */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  daemonSets,
  deployments,
  replicaSets,
  statefulSets,
} from '../../src/configwatcher/facts/workload.ts';
import { type Pod, pods } from '../../src/kubernetes/objects.ts';
import { validatingAdmissionPolicies } from '../../src/kubernetes/types/admissionregistration.generated.ts';
import { noteEvictions } from './configwatcher-evictions.ts';
import { setPaused, setUpdateStrategy } from './configwatcher-owner.ts';
import { isReady, probedContainer, Shop, untilOlderThanEdits } from './configwatcher-shop.ts';
import { admitBy } from './pod-policy.ts';
import { eventually } from './support.ts';

const timeout = 180_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };
const annotation = 'k8spatterns.io/restarted-for.webapp-config-watcher';

/**
 * Begins a rollout by which a Deployment never has more Pods than it wants; resolves when so many new ones serve. The
 * next one does not start before the test lets the kubelet go on.
 */
async function upgradeUntil(shop: Shop, count: number): Promise<void> {
  const { client, namespace } = shop;
  const rollingUpdate = { maxSurge: 0, maxUnavailable: 1 };
  const body = { spec: { strategy: { type: 'RollingUpdate', rollingUpdate } } };
  await client.patch(deployments, { namespace, name: 'webapp' }, { type: 'merge', body });
  const old = new Set((await shop.pods()).map(({ metadata }) => metadata.uid));
  shop.isKubeletSlow = true;
  await shop.upgrade('Deployment');
  for (let made = 1; made <= count; made++) {
    const isNext = (pod: Pod) => !old.has(pod.metadata.uid) && !isReady(pod);
    const next = await eventually(async () => (await shop.pods()).find(isNext), {
      message: `new Pod ${made} is made`,
    });
    // Of the same second, the one after it would count as one that has started.
    await untilOlderThanEdits([next]);
    await shop.getsReady(next.metadata.name);
  }
}

/**
 * Has no controller take in another template from now on: it needs an object that holds that. Resolves when the policy is
 * in force.
 */
async function refuseRevisions(t: TestContext, shop: Shop): Promise<void> {
  const { client, namespace } = shop;
  const message = 'templates are frozen';
  const resources = ['replicasets', 'controllerrevisions'];
  const creates = { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE'] };
  await admitBy(t, shop, {
    verb: 'Validating',
    policy: {
      matchConstraints: { resourceRules: [{ ...creates, resources }] },
      validations: [{ expression: 'false', message }],
    },
    binding: { validationActions: ['Deny'] },
  });
  const labels = { app: 'probe' };
  const template = { metadata: { labels }, spec: { containers: [probedContainer] } };
  const spec = { replicas: 0, selector: { matchLabels: labels }, template };
  const probe = { metadata: { namespace, name: 'probe' }, spec };
  const isRefused = (error: Error) => error.message.includes(message);
  const create = () => client.create(replicaSets, probe, { dryRun: true });
  await eventually(() => create().then(() => false, isRefused), { message: 'the policy is in force' });
}

describe('a ConfigWatcher', { concurrency: 8 }, () => {
  for (const type of ['Auto', 'RolloutRestart'] as const) {
    it(`by ${type} lets a DaemonSet replace each Pod once by one rollout`, { timeout }, async (t) => {
      const shop = await Shop.open(t);
      const { client, namespace } = shop;
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(3, 'DaemonSet', 'agent');
      const evicted: string[] = [];
      await shop.startOperator({ onConnect: noteEvictions(evicted) });
      await shop.watch({ ...atOnce, strategy: { type } });
      await shop.baselined();
      await shop.patchConfigMap({ data: { message: 'second' } });
      const { lastRestart } = await shop.restarted(1);
      await shop.allReady(3);
      await shop.quiet();
      const { metadata, spec } = await client.get(daemonSets, { namespace, name: 'agent' });
      assert.deepEqual(spec?.template?.metadata?.annotations, { [annotation]: lastRestart?.id });
      assert.deepEqual([metadata.generation, evicted], [2, []]);
      assert.deepEqual([lastRestart?.restarted, shop.seen.length], [3, 6]);
    });
  }

  for (const [type, kind] of [
    ['Auto', 'Deployment'],
    ['Auto', 'StatefulSet'],
    ['Evict', 'StatefulSet'],
    ['Auto', 'DaemonSet'],
  ] as const) {
    it(`by ${type} says that it waits for the rollout of a ${kind} whose template changes together with the content`, {
      timeout,
    }, async (t) => {
      const shop = await Shop.open(t);
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(3, kind);
      const evicted: string[] = [];
      await shop.startOperator({ onConnect: noteEvictions(evicted) });
      // Long enough for the controller to begin the rollout.
      await shop.watch({ ...atOnce, strategy: { type }, debounce: { quiet: '4s' } });
      await shop.baselined();
      await shop.olderThanEdits();
      // So that no new Pod starts before the change is recorded, and the rollout stays as it is.
      shop.isKubeletSlow = true;
      await shop.patchConfigMap({ data: { message: 'second' } });
      await shop.upgrade(kind);
      const waits = await shop.until('it waits for the rollout', ({ pending }) => {
        return pending?.reason === 'RolloutInProgress';
      });
      const progressing = waits.conditions?.find((one) => one.type === 'Progressing');
      assert.deepEqual([progressing?.status, progressing?.reason], ['True', 'RolloutInProgress']);
      assert.equal(
        waits.conditions?.some((one) => one.type === 'Stalled'),
        false,
      );
      await eventually(() => shop.seen.length === 4, { message: 'the rollout has made one Pod' });
      shop.isKubeletSlow = false;
      const done = await shop.until(
        'it is applied',
        ({ pending, history }) => !pending && history?.length === 1,
      );
      await shop.allReady(3);
      await shop.quiet();
      assert.equal(shop.seen.length, 6, 'each Pod was replaced once');
      assert.deepEqual([evicted, await shop.generation(kind)], [[], 2], 'by the upgrade alone');
      assert.equal(done.lastRestart?.failed, 0);
    });
  }

  it('leaves to the rollout of a StatefulSet the Pods from its partition on, and evicts those below it', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(3, 'StatefulSet');
    await setUpdateStrategy(shop, statefulSets, { rollingUpdate: { partition: 2 } });
    const evicted: string[] = [];
    await shop.startOperator({ onConnect: noteEvictions(evicted) });
    await shop.watch({ ...atOnce, strategy: { type: 'Evict' }, debounce: { quiet: '4s' } });
    await shop.baselined();
    await shop.olderThanEdits();
    shop.isKubeletSlow = true;
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.upgrade('StatefulSet');
    await eventually(() => shop.seen.length === 4, { message: 'the rollout has made one Pod' });
    // That one is missing, so that none of the others may go.
    await shop.until('the restart has begun', ({ pending }) => pending?.reason === 'InProgress');
    await shop.quiet();
    assert.deepEqual(evicted, []);
    shop.isKubeletSlow = false;
    await shop.until('it is applied', ({ pending, history }) => !pending && history?.length === 1);
    await shop.allReady(3);
    await shop.quiet();
    assert.equal(shop.seen.length, 6, 'each Pod was replaced once');
    assert.deepEqual(evicted.sort(), ['webapp-0', 'webapp-1']);
  });

  for (const [type, kind] of [
    ['Auto', 'StatefulSet'],
    ['Evict', 'StatefulSet'],
    ['Auto', 'DaemonSet'],
    ['Evict', 'DaemonSet'],
  ] as const) {
    it(`by ${type} waits for no rollout of a ${kind} whose strategy is OnDelete, and evicts its Pods`, {
      timeout,
    }, async (t) => {
      const shop = await Shop.open(t);
      const { client, namespace } = shop;
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(2, kind);
      const resource = kind === 'DaemonSet' ? daemonSets : statefulSets;
      const key = { namespace, name: 'webapp' };
      await setUpdateStrategy(shop, resource, { type: 'OnDelete', rollingUpdate: null });
      await shop.upgrade(kind);
      const isUpToDate = async () => {
        const { metadata, status } = await client.get(resource, key);
        return status?.observedGeneration === metadata.generation;
      };
      await eventually(isUpToDate, { message: 'its controller knows the new template' });
      const evicted: string[] = [];
      await shop.startOperator({ onConnect: noteEvictions(evicted) });
      await shop.watch({ ...atOnce, strategy: { type } });
      await shop.baselined();
      const old = await shop.allReady(2);
      await shop.patchConfigMap({ data: { message: 'second' } });
      const { lastRestart } = await shop.restarted(1);
      const left = await shop.allReady(2);
      assert.deepEqual([lastRestart?.restarted, shop.seen.length], [2, 4]);
      assert.deepEqual(evicted.sort(), old.map(({ metadata }) => metadata.name).sort());
      assert.equal(await shop.generation(kind), 3, 'the operator has not changed it');
      for (const { metadata } of left) assert.equal(metadata.annotations?.release, '2');
    });
  }

  it('by Auto evicts the Pods of an owner that has a new one already, and leaves that alone', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(3);
    const evicted: string[] = [];
    await shop.startOperator({ onConnect: noteEvictions(evicted) });
    // It ends when the test says so.
    const debounce = { quiet: '60s', max: '120s' };
    await shop.watch({ ...atOnce, strategy: { type: 'Auto' }, debounce });
    await shop.baselined();
    await shop.olderThanEdits();
    const [gone, ...old] = await shop.allReady(3);
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { lastChangeTime = '' } = await shop.until('it waits', ({ pending }) => {
      return pending?.reason === 'Debounce';
    });
    // After an edit of the spec a Pod of the second of the change counts as an old one.
    await eventually(() => Date.now() >= Date.parse(lastChangeTime) + 1000, { interval: 20 });
    await client.delete(pods, { namespace, name: gone?.metadata.name ?? '' });
    const fresh = (await shop.allReady(3)).find(({ metadata: { name } }) => {
      return !old.some(({ metadata }) => metadata.name === name);
    });
    await shop.edit({ debounce: { quiet: '0s' } });
    const { lastRestart, strategyInUse } = await shop.restarted(1);
    const left = await shop.allReady(3);
    assert.deepEqual([lastRestart?.restarted, lastRestart?.skippedFresh, strategyInUse], [2, 1, 'Auto']);
    assert.deepEqual(evicted.sort(), old.map(({ metadata }) => metadata.name).sort());
    assert.deepEqual([await shop.generation('Deployment'), shop.seen.length], [1, 6]);
    assert.ok(left.some(({ metadata }) => metadata.uid === fresh?.metadata.uid));
  });

  it('is Stalled by a rollout that makes no progress, and acts on what that leaves when it goes on', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(4);
    const old = new Set((await shop.pods()).map(({ metadata }) => metadata.name));
    const evicted: string[] = [];
    await shop.startOperator({ onConnect: noteEvictions(evicted) });
    await shop.watch({
      ...atOnce,
      strategy: { type: 'Auto', maxUnavailable: '50%', progressDeadlineSeconds: 10 },
    });
    await shop.baselined();
    await upgradeUntil(shop, 2);
    const isHeldUp = async () => {
      const all = await shop.pods();
      const areKnown = all.every(({ metadata }) => shop.seen.includes(metadata.uid ?? ''));
      const isEnding = all.some(({ metadata }) => metadata.deletionTimestamp);
      return areKnown && !isEnding && all.length === 4 && all.filter(isReady).length === 3;
    };
    await eventually(isHeldUp, { message: 'the rollout waits for a Pod that does not start' });
    await shop.olderThanEdits();
    // One that has not started reads the new content.
    const started = (await shop.pods()).filter(isReady).map(({ metadata }) => metadata);
    const before = shop.seen.length;
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.until('it waits for the rollout', ({ pending }) => pending?.reason === 'RolloutInProgress');
    await shop.until('it is Stalled', ({ pending }) => pending?.reason === 'Stalled');
    assert.deepEqual([evicted, shop.seen.length], [[], before], 'the Pods of the rollout are left alone');
    shop.isKubeletSlow = false;
    const { lastRestart, conditions } = await shop.restarted(1);
    const left = await shop.allReady(4);
    assert.equal(
      conditions?.some(({ type }) => type === 'Stalled'),
      false,
    );
    assert.deepEqual([lastRestart?.restarted, lastRestart?.failed], [started.length, 0]);
    assert.equal(
      left.some(({ metadata }) => started.some(({ uid }) => uid === metadata.uid)),
      false,
      'each has the new content',
    );
    assert.equal(shop.seen.length, before + started.length, 'and was replaced once');
    const ofRollout = started.map(({ name }) => name).filter((name) => !old.has(name));
    assert.deepEqual([evicted.sort(), await shop.generation('Deployment')], [ofRollout.sort(), 3]);
  });

  it('is Stalled where its own rollout is paused in the middle, and goes on with that when it is resumed', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(3);
    const evicted: string[] = [];
    await shop.startOperator({ onConnect: noteEvictions(evicted) });
    await shop.watch({ ...atOnce, strategy: { type: 'RolloutRestart' } });
    await shop.baselined();
    shop.isKubeletSlow = true;
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 4, { timeout: 40_000, message: 'a new Pod is made' });
    await setPaused(shop, true);
    const stalled = await shop.until('it is Stalled', ({ conditions }) =>
      Boolean(conditions?.some(({ type, reason }) => type === 'Stalled' && reason === 'Paused')),
    );
    assert.equal(stalled.pending?.reason, 'Stalled');
    await shop.untilEvent('RestartStalled');
    shop.isKubeletSlow = false;
    await shop.quiet();
    assert.deepEqual([evicted, shop.seen.length], [[], 4], 'nothing is replaced meanwhile');
    await setPaused(shop, false);
    const { lastRestart, conditions } = await shop.restarted(1);
    await shop.allReady(3);
    await shop.quiet();
    assert.equal(
      conditions?.some(({ type }) => type === 'Stalled'),
      false,
    );
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [3, 6], 'each Pod was replaced once');
    assert.deepEqual([evicted, await shop.generation('Deployment')], [[], 4], 'by one rollout');
  });

  it('takes the Pods of two ReplicaSets of one Deployment together', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(4);
    await upgradeUntil(shop, 2);
    await setPaused(shop, true);
    shop.isKubeletSlow = false;
    const both = await shop.allReady(4);
    const templates = new Set(both.map(({ metadata }) => metadata.labels?.['pod-template-hash']));
    assert.equal(templates.size, 2, 'Pods of two ReplicaSets');
    await shop.startOperator();
    // Of two owners both would be taken at once.
    await shop.watch({ ...atOnce, strategy: { type: 'Evict', canary: false, maxUnavailable: '25%' } });
    await shop.baselined();
    const before = shop.seen.length;
    await shop.patchConfigMap({ data: { message: 'second' } });
    let fewest = 4;
    const isDone = async () => {
      fewest = Math.min(fewest, (await shop.pods()).filter(isReady).length);
      const { restartCount, pending } = await shop.status();
      return restartCount === 1 && pending === undefined;
    };
    await eventually(isDone, { timeout: 90_000, interval: 20, message: 'the restart is done' });
    await shop.allReady(4);
    assert.deepEqual([fewest, shop.seen.length - before], [3, 4]);
  });
});

describe('a ConfigWatcher of an owner whose controller has not seen its newest template', {
  concurrency: 3,
}, () => {
  for (const [type, kind, resource] of [
    ['Evict', 'Deployment', deployments],
    ['Auto', 'StatefulSet', statefulSets],
    ['Auto', 'DaemonSet', daemonSets],
  ] as const) {
    it(`by ${type} takes no Pod of a ${kind} and is not done, and has its rollout replace each once later`, {
      timeout,
    }, async (t) => {
      const shop = await Shop.open(t);
      const { client, namespace } = shop;
      const key = { namespace, name: 'webapp' };
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(2, kind);
      await refuseRevisions(t, shop);
      await shop.upgrade(kind);
      const evicted: string[] = [];
      await shop.startOperator({ onConnect: noteEvictions(evicted) });
      await shop.watch({ ...atOnce, strategy: { type } });
      const { appliedHash } = await shop.baselined();
      await shop.patchConfigMap({ data: { message: 'second' } });
      await shop.until('the restart has begun', ({ pending }) => pending?.started !== undefined);
      await shop.quiet();
      const held = await shop.status();
      assert.deepEqual(
        [held.pending?.reason, held.stalePods, held.appliedHash],
        ['InProgress', 2, appliedHash],
      );
      const { metadata, status } = await client.get(resource, key);
      assert.deepEqual([metadata.generation, status?.observedGeneration], [2, 1]);
      assert.deepEqual([evicted, shop.seen.length], [[], 2]);

      const body = { spec: { validations: [{ expression: 'true' }] } };
      await client.patch(validatingAdmissionPolicies, { name: namespace }, { type: 'merge', body });
      let looks = 0;
      const isSeen = async () => {
        // Left to itself, its controller tries again ever less often.
        const labels = { look: `${++looks}` };
        const owner = await client.patch(resource, key, { type: 'merge', body: { metadata: { labels } } });
        return owner.status?.observedGeneration === 2;
      };
      await eventually(isSeen, { interval: 500, message: 'its controller has seen the template' });
      await shop.until('it is applied', ({ pending, history }) => !pending && history?.length === 1);
      await shop.allReady(2);
      await shop.quiet();
      assert.deepEqual([evicted, shop.seen.length, await shop.generation(kind)], [[], 4, 2]);
    });
  }
});
