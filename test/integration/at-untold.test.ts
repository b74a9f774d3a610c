/** What is told, and how often it is tried, while the API server does not take the Pods of due Ats. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { Registry } from '@prometheus-io/client';
import type { At } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { resourceQuotas } from '../fixtures/cluster-resources.ts';
import { AtRig } from './at-rig.ts';
import { type Asked, failure, HostileProxy } from './hostile-proxy.ts';
import { objection } from './pod-admission.ts';
import { admitPodsBy } from './pod-policy.ts';
import { imposeQuota } from './quota.ts';
import { applyCrds, eventually } from './support.ts';
import { startTime, stopTime, timeTravel } from './time-travel.ts';
import { installDeadWebhook, startWebhook } from './webhook.ts';

const minute = 60_000;

before(() => applyCrds());

async function list(client: Client, namespace: string): Promise<readonly At[]> {
  return (await client.list(ats, { namespace })).items;
}

/** How many creates of Pods were sent so far. */
function createsAskedOf({ asked }: HostileProxy): number {
  const isCreate = ({ method, path, query }: Asked) =>
    method === 'POST' && path.endsWith('/pods') && !query.has('dryRun');
  return asked.filter(isCreate).length;
}

function launched({ status }: At): string | undefined {
  const condition = status?.conditions?.find(({ type }) => type === 'Launched');
  return condition && `${condition.status} ${condition.reason}`;
}

describe('a webhook that is down', () => {
  it('is told of every due At, once, and does not make the operator late', async (t) => {
    const rig = await AtRig.create(t);
    const remove = await installDeadWebhook(t, rig);
    await eventually(async () => /webhook/.test(await objection(rig)), {
      message: 'the webhook is in force',
    });
    await rig.startOperator();
    const names = Array.from({ length: 40 }, (_, index) => `at-${index}`);
    await Promise.all(names.map((name) => rig.createAt({}, name)));
    await eventually(
      async () =>
        (await list(rig.client, rig.namespace)).every((at) => launched(at) === 'False CreateFailed'),
      { message: 'all of them say CreateFailed' },
    );
    const at = await rig.at('at-0');
    assert.match(at.status?.message ?? '', /failed calling webhook "dead.example.com"/);
    assert.equal(at.status?.reason, 'CreateFailed');
    assert.equal(at.status?.phase, 'PENDING');
    await eventually(async () => (await rig.events('at-0')).includes('CreateFailed (W)'));
    await remove();
    await eventually(
      async () => (await list(rig.client, rig.namespace)).every(({ status }) => status?.phase === 'RUNNING'),
      { timeout: 60_000, message: 'all of them run' },
    );
    for (const name of names) {
      assert.equal(await rig.isLaunchToldLate(name), false, name);
      const told = await rig.events(name);
      assert.ok(told.filter((event) => event === 'CreateFailed (W)').length <= 1, told.join());
    }
    assert.equal((await rig.at('at-0')).status?.operatorDelaySeconds, undefined);
  });
});

describe('a webhook that does not answer in time', () => {
  it("is told in the API server's own words, without its address", async (t) => {
    const rig = await AtRig.create(t);
    const { promise: hung, resolve: release } = Promise.withResolvers<object>();
    await startWebhook(t, rig.client, rig.namespace, () => hung, 'pods');
    t.after(() => release({}));
    await rig.startOperator();
    await rig.createAt();
    const sentence = 'Timeout: request did not complete within the allotted timeout';
    // A server that is at its limit may also close the connection; of the next try it has a sentence.
    const isTold = (at: At) => launched(at) === 'False CreateFailed' && at.status?.message === sentence;
    await rig.atWhen('refused for its time limit', isTold, undefined, 90_000);
    release({});
    await rig.inPhase('RUNNING');
  });
});

describe('a read that a launch waits for', () => {
  it('is told of where it fails, and the At runs once it is answered', async (t) => {
    const rig = await AtRig.create(t);
    const proxy = await HostileProxy.start(t);
    let isFailing = false;
    // Whether the Pod was made is then for the read to find out.
    proxy.treat = ({ method, path }) =>
      isFailing && /^(GET|POST) \/api\/v1\/namespaces\/[^/]+\/pods(\/|$)/.test(`${method} ${path}`)
        ? failure(500, 'InternalError')
        : undefined;
    await rig.startOperator({ kubeConfig: proxy.kubeConfig });
    isFailing = true;
    await rig.createAt();
    const message = /^what there is of its Pod could not be read: .*InternalError/;
    const { status } = await rig.atWhen('told of the read', (at) => message.test(at.status?.message ?? ''));
    assert.deepEqual([status?.phase, status?.reason], ['PENDING', 'CreateFailed']);
    await eventually(async () => (await rig.events()).includes('CreateFailed (W)'));
    isFailing = false;
    const ran = await rig.inPhase('RUNNING');
    assert.equal(ran.status?.operatorDelaySeconds, undefined);
    assert.equal(await rig.isLaunchToldLate(), false);
  });
});

/** More than it takes to presume that another At of the namespace is refused for the same cause. */
const misfits = Array.from({ length: 12 }, (_, index) => `bad-${index}`);

const asking = (cpu: string) => ({
  ...{ command: 'true' },
  template: { spec: { containers: [{ resources: { requests: { cpu } } }] } },
});

/** Forbids all Pods whose names begin with `bad`. */
async function forbidBad(t: TestContext, rig: AtRig): Promise<void> {
  const validations = [{ expression: "!object.metadata.name.startsWith('bad')", message: 'it is bad' }];
  const binding = { validationActions: ['Deny'] };
  await admitPodsBy(t, rig, { verb: 'Validating', policy: { validations }, binding });
  const metadata = { namespace: rig.namespace, name: 'bad' };
  const probe = { metadata, spec: { containers: [{ name: 'c', image: 'i' }] } };
  await eventually(
    async () =>
      /it is bad/.test(String(await rig.client.create(pods, probe, { dryRun: true }).catch((e) => e))),
    { message: 'the policy is in force' },
  );
}

describe('an At that can run', { concurrency: true }, () => {
  for (const [what, forbid] of Object.entries({
    'a quota': (_: TestContext, rig: AtRig) => imposeQuota(rig, { 'requests.cpu': '1' }),
    'a policy': forbidBad,
  })) {
    it(`is launched within a minute beside a dozen that ${what} never admits`, async (t) => {
      const rig = await AtRig.create(t);
      const { options, proxy, advance } = await timeTravel(t);
      const registry = new Registry();
      await forbid(t, rig);
      await rig.startOperator({ ...options, registry });
      for (const name of misfits) await rig.createAt(asking('100'), name);
      for (const name of misfits) {
        await rig.atWhen('refused', ({ status }) => status?.reason === 'PodRejected', name);
      }
      await rig.createAt(asking('10m'), 'good');
      const areAnswered = async () => {
        const counts = (await registry.metrics()).matchAll(
          /^rest_client_requests_total\{code="\d+",method="POST".*\} (\d+)$/gm,
        );
        const answered = [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
        return answered === proxy.asked.filter(({ method }) => method === 'POST').length;
      };
      let waitedMs = 0;
      while (await rig.isPodGone('good-pod')) {
        assert.ok(waitedMs <= 60_000, `it waits for ${waitedMs} ms`);
        await advance(1000);
        waitedMs += 1000;
        await eventually(areAnswered, { message: 'no create is under way' });
      }
      t.diagnostic(`launched after ${waitedMs / 1000} s`);
      const { status } = await rig.inPhase('RUNNING', 'good');
      assert.equal(status?.operatorDelaySeconds, undefined);
      for (const name of misfits) assert.equal((await rig.at(name)).status?.phase, 'PENDING');
    });
  }
});

describe('an At beside a dozen whose names strangers have', () => {
  it('is launched as if there were no other', async (t) => {
    const rig = await AtRig.create(t);
    const { client, namespace } = rig;
    const travel = await timeTravel(t);
    await rig.startOperator(travel.options);
    for (const name of misfits) {
      const spec = { containers: [{ name: 'c', image: 'i' }] };
      await client.create(pods, { metadata: { namespace, name: `${name}-pod` }, spec });
      await rig.createAt({}, name);
    }
    const isHeld = ({ status }: At) => status?.reason === 'PodNameConflict';
    for (const name of misfits) await rig.atWhen('held', isHeld, name);
    // No turn comes in time that stands still.
    stopTime(travel);
    try {
      await rig.createAt({}, 'good');
      await eventually(async () => !(await rig.isPodGone('good-pod')), { message: 'its Pod is created' });
    } finally {
      startTime(travel);
    }
  });
});

describe('a full quota', () => {
  it('has one Event each hour, whatever its sentence', async (t) => {
    const rig = await AtRig.create(t);
    const { options, proxy, advanceAtRest, advanceUntil } = await timeTravel(t);
    const fill = (name: string) => imposeQuota(rig, { pods: '0' }, name);
    await fill('one');
    await rig.startOperator(options);
    await rig.createAt();
    const refusedBy = (quota: string) =>
      rig.atWhen(
        `refused by ${quota}`,
        ({ status }) => status?.message?.includes(`quota: ${quota}`) === true,
      );
    await refusedBy('one');
    // After an edit it is all told anew, as far as Events are not too many.
    await fill('two');
    await rig.client.delete(resourceQuotas, { namespace: rig.namespace, name: 'one' });
    await rig.editAt({ command: 'echo two' });
    await refusedBy('two');
    const once = ['PodRejected (W)'];
    assert.deepEqual(await rig.eventsSoFar(), once);
    await advanceAtRest(55 * minute);
    // When the second one is sent, what the first one has met is told.
    const tried = createsAskedOf(proxy) + 2;
    await advanceUntil(() => createsAskedOf(proxy) >= tried, {
      ...{ limitMs: 2 * minute, stepMs: 2000, message: 'two more creates' },
    });
    assert.deepEqual(await rig.eventsSoFar(), once, 'before an hour is over');
    await advanceAtRest(6 * minute);
    const told = async () => (await rig.events()).length > 1 && rig.events();
    assert.deepEqual(await eventually(told, { message: 'both Events' }), [
      ...['PodRejected (W)', 'PodRejected (W)'],
    ]);
    assert.match((await rig.notes()).join(), /quota: one,.*quota: two,/);
  });

  it('is told no sooner by an operator that starts in between', async (t) => {
    const rig = await AtRig.create(t);
    const { options, proxy, advanceAtRest, advanceUntil } = await timeTravel(t);
    await imposeQuota(rig, { pods: '0' });
    await rig.startOperator(options);
    await rig.createAt();
    await rig.atWhen('refused', ({ status }) => status?.reason === 'PodRejected');
    const count = async () => (await rig.events()).length;
    const restart = async () => {
      await rig.stopOperators();
      await rig.startOperator(options);
    };
    await advanceAtRest(30 * minute);
    await restart();
    await advanceAtRest(35 * minute);
    await eventually(async () => (await count()) === 2, { message: 'both Events' });
    await restart();
    const tried = createsAskedOf(proxy) + 2;
    await advanceUntil(() => createsAskedOf(proxy) >= tried, {
      ...{ limitMs: 5 * minute, stepMs: 2000, message: 'two more creates' },
    });
    assert.equal((await rig.eventsSoFar()).length, 2);
    await advanceAtRest(56 * minute);
    await eventually(async () => (await count()) === 3, { message: 'the Event of the next hour' });
  });

  it('with room again is used by all that fit, whatever never does', async (t) => {
    const rig = await AtRig.create(t);
    const key = await imposeQuota(rig, { 'requests.cpu': '0' });
    await rig.startOperator();
    const small = Array.from({ length: 12 }, (_, index) => `small-${index}`);
    for (const name of small) await rig.createAt(asking('10m'), name);
    // The last one to come, so that it is also the last one to be refused.
    await rig.createAt(asking('100'), 'big');
    for (const name of [...small, 'big']) {
      await rig.atWhen('refused', ({ status }) => status?.reason === 'PodRejected', name);
    }
    const body = { spec: { hard: { 'requests.cpu': '1' } } };
    await rig.client.patch(resourceQuotas, key, { type: 'merge', body });
    for (const name of small) await rig.inPhase('RUNNING', name);
    assert.equal((await rig.at('big')).status?.phase, 'PENDING');
  });

  it('keeps an At with the deprecated AtMostOnce from nothing but its time, also over a restart', async (t) => {
    const rig = await AtRig.create(t);
    const metadata = await imposeQuota(rig, { pods: '0' });
    await rig.startOperator();
    await rig.createAt({ launchGuarantee: 'AtMostOnce' });
    await rig.atWhen('held', ({ status }) => status?.reason === 'PodRejected');
    const told = async () => (await rig.events()).includes('DeprecatedValue (W)');
    await eventually(told, { message: 'the Event of the deprecated value' });
    await rig.stopOperators();
    await rig.startOperator();
    await rig.client.delete(resourceQuotas, metadata);
    await rig.inPhase('RUNNING', undefined, 60_000);
    const isReleased = async () => ((await rig.pod()).spec.schedulingGates ?? []).length === 0;
    await eventually(isReleased, { message: 'the recorded Pod is released' });
  });

  it('is asked by one At for two hundred, and each says so', async (t) => {
    const rig = await AtRig.create(t);
    const { options, proxy, advanceAtRest, stopClock, startClock } = await timeTravel(t);
    const metadata = await imposeQuota(rig, { pods: '0' });
    const names = Array.from({ length: 200 }, (_, index) => `at-${index}`);
    await Promise.all(names.map((name) => rig.createAt({}, name)));
    await rig.startOperator(options);
    await eventually(
      async () => (await list(rig.client, rig.namespace)).every((at) => launched(at) === 'False PodRejected'),
      { timeout: 60_000, message: 'all of them say PodRejected' },
    );
    // At most as many as there are workers before the first answer, and then one each 1.5 s.
    const before = createsAskedOf(proxy);
    assert.ok(before < 100, `${before} creates were refused`);
    stopClock();
    const seconds = 15;
    for (let steps = 0; steps < 4 * seconds; steps += 1) await advanceAtRest(250);
    const more = createsAskedOf(proxy) - before;
    startClock();
    t.diagnostic(`${more} creates in ${seconds} s`);
    assert.ok(more >= 3 && more <= seconds, `${more} creates in ${seconds} s`);
    await rig.client.patch(resourceQuotas, metadata, {
      type: 'merge',
      body: { spec: { hard: { pods: '500' } } },
    });
    await eventually(
      async () => (await list(rig.client, rig.namespace)).every(({ status }) => status?.phase === 'RUNNING'),
      { timeout: 60_000, message: 'all of them run' },
    );
  });
  it('is told of the first hundred within 7 s, and of the rest within a minute', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advanceUntil } = await timeTravel(t);
    await imposeQuota(rig, { pods: '0' });
    await rig.startOperator(options);
    const count = 250;
    const names = Array.from({ length: count }, (_, index) => `at-${index}`);
    await Promise.all(names.map((name) => rig.createAt({}, name)));
    const areTold = (least: number) => async () => {
      const told = (await list(rig.client, rig.namespace)).filter(
        (at) => launched(at) === 'False PodRejected',
      );
      return told.length >= least;
    };
    await advanceUntil(areTold(100), { limitMs: 7000, message: 'the first hundred are told' });
    await advanceUntil(areTold(count), { limitMs: 53_000, stepMs: 500, message: 'all are told' });
    for (const { status } of await list(rig.client, rig.namespace)) {
      assert.match(status?.message ?? '', /exceeded quota/);
      assert.deepEqual([status?.phase, status?.reason], ['PENDING', 'PodRejected']);
    }
  });
});
