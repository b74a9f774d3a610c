/** At, when what it needs goes away: a right for a while, or its namespace for good. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { namespaces } from '../fixtures/cluster-resources.ts';
import { AtRig } from './at-rig.ts';
import { grant, isAllowed, kubeConfigOf, type Rule, regrant } from './rights.ts';
import { applyCrds, eventually, isGone } from './support.ts';

const group = 'cnat.programming-kubernetes.info';
const launching: Rule = { apiGroups: [''], resources: ['pods'], verbs: ['create'] };
const telling: Rule = { apiGroups: [group], resources: ['ats/status'], verbs: ['patch'] };
const rights: readonly Rule[] = [
  { apiGroups: [group], resources: ['ats'], verbs: ['get', 'list', 'watch', 'delete'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch', 'patch', 'delete'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
  launching,
  telling,
];

/** Tries come 10 s apart in the end, in milliseconds with room for a slow machine. */
const slowRetry = 60_000;

before(() => applyCrds());

/** An operator that works as a user of its own, and has lost a right that it had. */
async function deprivedOf(t: TestContext, lost: Rule) {
  const rig = await AtRig.create(t);
  const user = rig.namespace;
  const registry = new Registry();
  await grant(t, rig.client, user, rights);
  const hasRight = (expected: boolean) =>
    eventually(async () => (await isAllowed(rig.client, user, lost)) === expected, {
      message: expected ? 'the right is there' : 'the right is gone',
    });
  const change = async (rules: readonly Rule[]) => {
    await regrant(rig.client, user, rules);
    await hasRight(rules.includes(lost));
  };
  await hasRight(true);
  const start = (registry: Registry) => rig.startOperator({ kubeConfig: kubeConfigOf(user), registry });
  await start(registry);
  const created = await rig.watchPods(t);
  await change(rights.filter((rule) => rule !== lost));
  const refusals = async (method: string) => {
    const series = new RegExp(
      `^rest_client_requests_total\\{code="403",method="${method}".*\\} (\\d+)$`,
      'm',
    );
    return Number(series.exec(await registry.metrics())?.[1] ?? 0);
  };
  const isRefused = (method: string) =>
    eventually(async () => (await refusals(method)) >= 4, {
      timeout: slowRetry,
      message: 'it is refused again and again',
    });
  return { rig, start, created, isRefused, giveBack: () => change(rights) };
}

describe('At, a right that is taken away and given back', { concurrency: true }, () => {
  for (const guarantee of [{}, { launchGuarantee: 'ExactlyOnce' } as const]) {
    const what = guarantee.launchGuarantee ?? 'AtLeastOnce';
    it(`to create Pods: it says so, and runs soon, once (${what})`, async (t) => {
      const { rig, created, isRefused, giveBack } = await deprivedOf(t, launching);
      await rig.createAt(guarantee);
      const { status } = await rig.atWhen('held', (at) => at.status?.reason === 'PodRejected');
      assert.match(status?.message ?? '', /cannot create resource "pods"/);
      assert.equal(status?.phase, 'PENDING');
      await isRefused('POST');
      await giveBack();
      await rig.inPhase('RUNNING', undefined, slowRetry);
      await rig.exit(0);
      assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
      assert.equal(created.size, 1);
    });
  }

  it('to write statuses: it runs in time, once, and is told afterwards', async (t) => {
    const { rig, created, start, isRefused, giveBack } = await deprivedOf(t, telling);
    const at = await rig.createAt({ ttlSecondsAfterFinished: 600 });
    await eventually(async () => !(await rig.isPodGone()), { message: 'the Pod is there' });
    await isRefused('PATCH');
    assert.equal((await rig.at()).metadata.resourceVersion, at.metadata.resourceVersion);
    // Another process, which was not told of the Pod.
    await rig.stopOperators();
    await start(new Registry());
    await rig.exit(0);
    await giveBack();
    const { status } = await rig.inPhase('DONE', undefined, slowRetry);
    assert.equal(status?.outcome, 'Succeeded');
    assert.equal(status?.podUID, (await rig.pod()).metadata.uid);
    assert.equal(created.size, 1);
  });
});

it('a namespace with Ats in all states goes away, and nothing of it is left', async (t) => {
  const rig = await AtRig.create(t);
  const registry = new Registry();
  await rig.startOperator({ registry });
  await rig.createAt({}, 'running');
  await rig.createAt({ schedule: '2100-01-01T00:00:00Z' }, 'waiting');
  await rig.createAt({ schedule: '2019-01-01T09:00:00', timeZone: 'Factory' }, 'invalid');
  await rig.createAt({ template: { spec: { containers: [{ ports: 'all' }] } } }, 'rejected');
  await rig.createAt({ ttlSecondsAfterFinished: 600 }, 'done');
  await rig.inPhase('RUNNING', 'running');
  await rig.start('running-pod');
  await rig.inPhase('RUNNING', 'done');
  await rig.exit(0, 'done-pod');
  await rig.inPhase('DONE', 'done');
  for (const [name, reason] of [
    ['waiting', 'Armed'],
    ['invalid', 'InvalidTimeZone'],
    ['rejected', 'PodRejected'],
  ]) {
    await rig.atWhen(`${reason}`, ({ status }) => status?.reason === reason, name);
  }
  await rig.client.delete(namespaces, { name: rig.namespace });
  await eventually(() => isGone(rig.client, namespaces, '', rig.namespace), {
    timeout: 60_000,
    message: 'the namespace is gone',
  });
  await eventually(async () => !/^atwatch_ats\{.*\} [1-9]/m.test(await registry.metrics()), {
    message: 'the operator knows of no At any more',
  });
  const isIdle = async () => {
    const depths = (await registry.metrics()).match(/^workqueue_depth\{.*$/gm) ?? [];
    return depths.length > 0 && depths.every((line) => line.endsWith(' 0'));
  };
  await eventually(isIdle, { message: 'nothing of it is queued' });
});
