/** Dry runs that are repeated while an At waits, on the real API server. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { Registry } from '@prometheus-io/client';
import type { At } from '../../src/api/at.generated.ts';
import { findCondition } from '../../src/kubernetes/conditions.ts';
import { condition } from '../fixtures/at.ts';
import { namespaces, resourceQuotas } from '../fixtures/cluster-resources.ts';
import { AtRig } from './at-rig.ts';
import { type Asked, failure, lostAnswer } from './hostile-proxy.ts';
import { objection } from './pod-admission.ts';
import { admitPodsBy } from './pod-policy.ts';
import { imposeQuota } from './quota.ts';
import { applyCrds, eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

const minute = 60_000;

before(() => applyCrds());

const admitted = ({ status }: At) => {
  const found = findCondition(status?.conditions, 'PodAdmitted');
  return found && `${found.status} ${found.reason}`;
};

const isDryRun = ({ query }: Asked) => query.get('dryRun') === 'All';

/** Whether admission refuses Pods of the namespace, of which it has a memory of its own. */
const isRefused = async (rig: AtRig) => (await objection(rig)) !== '';

/** No Pod fits from now on. Returns what removes the quota. */
async function fillQuota(rig: AtRig): Promise<() => Promise<unknown>> {
  const key = await imposeQuota(rig, { pods: '0' });
  await eventually(() => isRefused(rig), { message: 'admission refuses Pods' });
  return async () => {
    await rig.client.delete(resourceQuotas, key);
    await eventually(async () => !(await isRefused(rig)), { message: 'admission takes Pods again' });
  };
}

/** A policy that forbids all Pods for as long as the namespace has a label. Returns what takes that off. */
async function forbidByPolicy(t: TestContext, rig: AtRig): Promise<() => Promise<unknown>> {
  const label = (pods: 'none' | null) => {
    const body = { metadata: { labels: { pods } } };
    return rig.client.patch(namespaces, { name: rig.namespace }, { type: 'merge', body });
  };
  const validations = [
    { expression: "!('pods' in namespaceObject.metadata.labels)", message: 'no Pods here' },
  ];
  const binding = { validationActions: ['Deny'] };
  await label('none');
  await admitPodsBy(t, rig, { verb: 'Validating', policy: { validations }, binding });
  await eventually(() => isRefused(rig), { message: 'the policy refuses Pods' });
  return async () => {
    await label(null);
    await eventually(async () => !(await isRefused(rig)), { message: 'the policy takes Pods again' });
  };
}

/** Minutes after a refused dry run: before the next one is due, by whatever chance takes from an hour, and after that. */
const beforeRepeated = 52;
const afterRepeated = 67;

/** Time of the operator, which goes on in minutes, and the dry runs that it sends. */
async function dryRunTime(t: TestContext) {
  const { options, proxy, advanceAtRest } = await timeTravel(t);
  let passed = 0;
  return {
    ...{ options, proxy },
    dryRuns: () => proxy.asked.filter(isDryRun).length,
    /** Until so many minutes have passed. All that is due by then is answered. */
    async goTo(minutes: number) {
      await advanceAtRest((minutes - passed) * minute);
      passed = minutes;
      await advanceAtRest(0);
    },
  };
}

/** Far ahead, and refused by a policy with 422, the code of a template that is wrong. */
async function refusedByPolicy(t: TestContext, schedule: string) {
  const rig = await AtRig.create(t);
  const { options, dryRuns, goTo } = await dryRunTime(t);
  const registry = new Registry();
  const lift = await forbidByPolicy(t, rig);
  await rig.startOperator({ ...options, registry });
  await rig.createAt({ schedule });
  const refused = await rig.atWhen('refused', (at) => admitted(at) === 'False PodRejected');
  assert.match(refused.status?.message ?? '', /ValidatingAdmissionPolicy .* denied request: no Pods here/);
  assert.match(await registry.metrics(), /^rest_client_requests_total\{code="422",method="POST".*\} 1$/m);
  assert.equal(refused.status?.reason, 'PodRejected');
  for (const type of ['Accepted', 'Ready']) assert.equal(condition(refused.status, type), 'True Armed');
  assert.equal(findCondition(refused.status?.conditions, 'Stalled'), undefined);
  const told = async () => (await rig.events()).length > 0 && rig.events();
  assert.deepEqual(await eventually(told, { message: 'its Event' }), ['PodRejected (W)']);
  return { rig, dryRuns, goTo, lift };
}

/** That the refused dry run is repeated within the time that an hour and chance make, and not before. */
async function assertRepeatedHourly(refused: {
  readonly rig: AtRig;
  readonly dryRuns: () => number;
  readonly goTo: (minutes: number) => Promise<void>;
}): Promise<void> {
  const { rig, dryRuns, goTo } = refused;
  for (const minutes of [20, 40, beforeRepeated - 1, beforeRepeated]) {
    await goTo(minutes);
    assert.equal(dryRuns(), 1, `after ${minutes} minutes`);
  }
  assert.equal(admitted(await rig.at()), 'False PodRejected');
  await goTo(afterRepeated);
  await eventually(() => dryRuns() > 1, { message: `a second one after ${afterRepeated} minutes` });
  assert.equal(dryRuns(), 2);
}

describe('a dry run of the Pod', { concurrency: true }, () => {
  it('that was refused is repeated after an hour, and status says when it passes', async (t) => {
    const rig = await AtRig.create(t);
    const { options, dryRuns, goTo } = await dryRunTime(t);
    const emptyQuota = await fillQuota(rig);
    await rig.startOperator(options);
    await rig.createAt({ schedule: '2100-01-01T00:00:00Z' });
    const refused = await rig.atWhen('refused', (at) => admitted(at) === 'False PodRejected');
    assert.equal(refused.status?.reason, 'PodRejected');
    await emptyQuota();
    await assertRepeatedHourly({ rig, dryRuns, goTo });
    const passed = await rig.atWhen('admitted', (at) => admitted(at) === 'True Armed');
    assert.equal(passed.status?.reason, 'Armed');
    const told = async () => (await rig.events()).length > 0 && rig.events();
    assert.deepEqual(await eventually(told, { message: 'its Event' }), ['PodRejected (W)']);
  });

  it('that was refused is neither repeated nor told again by the next operator', async (t) => {
    const rig = await AtRig.create(t);
    const { options, dryRuns } = await dryRunTime(t);
    await fillQuota(rig);
    await rig.startOperator(options);
    await rig.createAt({ schedule: '2100-01-01T00:00:00Z' });
    await rig.atWhen('refused', (at) => admitted(at) === 'False PodRejected');
    const told = async () => (await rig.events()).length > 0;
    await eventually(told, { message: 'its Event' });
    await rig.stopOperators();
    await rig.startOperator(options);
    // By the time that a later one is refused, the operator has looked at the first.
    await rig.createAt({ schedule: '2100-01-01T00:00:00Z' }, 'later');
    await rig.atWhen('refused', (at) => admitted(at) === 'False PodRejected', 'later');
    await eventually(async () => (await rig.events('later')).length > 0, {
      message: 'the Event of the later',
    });
    assert.equal(admitted(await rig.at()), 'False PodRejected');
    assert.equal(dryRuns(), 2, 'one of each');
    assert.deepEqual(await rig.events(), ['PodRejected (W)']);
  });

  it('that Pod Security refuses is told once, long before the At is due, and leaves it Ready', async (t) => {
    const rig = await AtRig.create(t);
    const { options, dryRuns, goTo } = await dryRunTime(t);
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await rig.client.patch(
      namespaces,
      { name: rig.namespace },
      { type: 'merge', body: { metadata: { labels } } },
    );
    await eventually(() => isRefused(rig), { message: 'Pod Security is enforced' });
    await rig.startOperator(options);
    const template = { spec: { hostNetwork: true, containers: [{}] } };
    await rig.createAt({ schedule: '2100-01-01T00:00:00Z', command: 'true', template });
    const { status } = await rig.atWhen('refused', (at) => admitted(at) === 'False PodRejected');
    assert.deepEqual([status?.phase, status?.reason], ['PENDING', 'PodRejected']);
    assert.match(status?.message ?? '', /violates PodSecurity "restricted:latest": host namespaces/);
    for (const type of ['Accepted', 'Ready']) assert.equal(condition(status, type), 'True Armed');
    for (const type of ['Launched', 'Stalled']) assert.equal(condition(status, type), undefined);
    for (const minutes of [5, 10, 20]) await goTo(minutes);
    assert.deepEqual(await rig.eventsSoFar(), ['PodRejected (W)']);
    assert.equal(dryRuns(), 1);
  });

  it('that is younger than an hour is not repeated before the At is due', async (t) => {
    const rig = await AtRig.create(t);
    const { options, dryRuns, goTo } = await dryRunTime(t);
    await rig.startOperator(options);
    // The API server dates the Pod by its own clock, by which it has waited for a node for most of an hour at once.
    const pendingTimeoutSeconds = 0;
    await rig.createAt({
      schedule: new Date(Date.now() + 50 * minute).toISOString(),
      pendingTimeoutSeconds,
    });
    await eventually(() => dryRuns() === 1, { message: 'its dry run' });
    for (const minutes of [20, 44, 46, 49, 51]) await goTo(minutes);
    await rig.inPhase('RUNNING');
    assert.equal(dryRuns(), 1);
  });

  it('that was refused counts no more once the Pod is created', async (t) => {
    const rig = await AtRig.create(t);
    const { options, goTo } = await dryRunTime(t);
    const emptyQuota = await fillQuota(rig);
    await rig.startOperator(options);
    await rig.createAt({ schedule: new Date(Date.now() + 10 * minute).toISOString() });
    await rig.atWhen('refused', (at) => admitted(at) === 'False PodRejected');
    await emptyQuota();
    await goTo(11);
    assert.equal(admitted(await rig.inPhase('RUNNING')), 'True Launched');
  });

  it('that is old is repeated five minutes before the At is due, and tells what has come between', async (t) => {
    const rig = await AtRig.create(t);
    const { options, dryRuns, goTo } = await dryRunTime(t);
    await rig.startOperator(options);
    await rig.createAt({ schedule: new Date(Date.now() + 120 * minute).toISOString() });
    await rig.atWhen('accepted', ({ status }) => status?.reason === 'Armed');
    await eventually(() => dryRuns() === 1, { message: 'the first dry run' });
    // One that is still on its way would be refused, and repeated after an hour.
    await goTo(0);
    await fillQuota(rig);
    for (const minutes of [30, 62, 90, 110, 113]) {
      await goTo(minutes);
      assert.equal(dryRuns(), 1, `after ${minutes} minutes`);
    }
    assert.equal(admitted(await rig.at()), undefined);
    await goTo(116);
    const refused = await rig.atWhen('refused', (at) => admitted(at) === 'False PodRejected');
    assert.deepEqual([refused.status?.phase, refused.status?.reason], ['PENDING', 'PodRejected']);
    await goTo(118);
    assert.equal(dryRuns(), 2);
    const told = async () => (await rig.events()).length > 0 && rig.events();
    assert.deepEqual(await eventually(told, { message: 'its Event' }), ['PodRejected (W)']);
  });

  for (const [what, answer] of [
    ['is answered with 500', failure(500, 'InternalError')],
    ['is not answered', lostAnswer],
  ] as const) {
    it(`that ${what} says nothing about the Pod, which is created when it is due`, async (t) => {
      const rig = await AtRig.create(t);
      const { options, proxy, goTo } = await dryRunTime(t);
      proxy.treat = (asked) => (isDryRun(asked) ? answer : undefined);
      await rig.startOperator(options);
      await rig.createAt({ schedule: new Date(Date.now() + 10 * minute).toISOString() });
      await eventually(() => proxy.asked.some(isDryRun), { message: 'its dry run' });
      await goTo(11);
      // Once there, the condition would have stayed.
      assert.equal(admitted(await rig.inPhase('RUNNING')), undefined);
    });
  }

  it('that a policy refuses holds the At until one passes, and leaves it Ready', async (t) => {
    const { lift, ...refused } = await refusedByPolicy(t, '2100-01-01T00:00:00Z');
    const { rig } = refused;
    await lift();
    await assertRepeatedHourly(refused);
    const passed = await rig.atWhen('admitted', (at) => admitted(at) === 'True Armed');
    assert.equal(passed.status?.reason, 'Armed');
    assert.equal(condition(passed.status, 'Ready'), 'True Armed');
    assert.deepEqual(await rig.events(), ['PodRejected (W)']);
  });

  it('that a policy refused counts no more once the Pod is created', async (t) => {
    const due = new Date(Date.now() + 10 * minute).toISOString();
    const { rig, goTo, lift } = await refusedByPolicy(t, due);
    await lift();
    await goTo(11);
    assert.equal(admitted(await rig.inPhase('RUNNING')), 'True Launched');
    const warnings = (await rig.events()).filter((event) => event.startsWith('PodRejected'));
    assert.deepEqual(warnings, ['PodRejected (W)']);
  });
});

describe('dry runs of many Pods that are refused', () => {
  it('are repeated hourly, ten of a namespace in half a minute', async (t) => {
    const rig = await AtRig.create(t);
    const { options, dryRuns, goTo } = await dryRunTime(t);
    await fillQuota(rig);
    await rig.startOperator(options);
    const names = Array.from({ length: 25 }, (_, index) => `at-${index}`);
    for (const name of names) await rig.createAt({ schedule: '2100-01-01T00:00:00Z' }, name);
    for (const name of names) {
      await rig.atWhen('refused', (at) => admitted(at) === 'False PodRejected', name);
    }
    assert.equal(dryRuns(), names.length);
    let [first, last] = [0, 0];
    for (const round of [1, 2]) {
      await goTo(first + beforeRepeated);
      assert.equal(dryRuns(), round * names.length, `nothing is repeated sooner in hour ${round}`);
      // By then an hour has passed for each of them, whatever chance adds to it.
      first = last + afterRepeated;
      for (const [half, most] of [10, 10, 5, 0, 0].entries()) {
        const before = dryRuns();
        await goTo(first + half / 2);
        await eventually(() => dryRuns() >= before + most, { message: `${most} are repeated` });
        await goTo(first + half / 2);
        assert.equal(dryRuns(), before + most, `half a minute ${half} of hour ${round}`);
      }
      last = first + 2;
    }
  });
});
