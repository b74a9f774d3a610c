/** The limits of a standby that launches Ats, on the real API server. The Lease is held by a leader that does nothing. */
import assert from 'node:assert/strict';
import { Transform } from 'node:stream';
import { before, describe, it, type TestContext } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { ats } from '../../src/api/resources.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { leases } from '../../src/runtime/leader/lease.ts';
import { resourceQuotas } from '../fixtures/cluster-resources.ts';
import { AtRig, type OperatorOptions } from './at-rig.ts';
import { type Asked, failure, Hold, type HostileProxy, noAnswer } from './hostile-proxy.ts';
import { imposeQuota } from './quota.ts';
import { applyCrds, eventually } from './support.ts';
import { type TimeTravel, timeTravel } from './time-travel.ts';

before(() => applyCrds());

const count = 24;

interface Standby extends TimeTravel {
  readonly rig: AtRig;
  /** How many creates of Pods it has sent so far. */
  creates(): number;
  /** Goes on for so long that a standby launches whatever it may launch. */
  pass(): Promise<void>;
  /** For longer, and each step once all that was sent before is answered. */
  passAtRest(): Promise<void>;
}

/** A standby, and accepted Ats that are due in a minute. @param treat its requests, from the first one on. */
async function standbyBeside(
  t: TestContext,
  given: OperatorOptions = {},
  size = count,
  treat: HostileProxy['treat'] = () => undefined,
): Promise<Standby> {
  const rig = await AtRig.create(t);
  await rig.startOperator();
  const schedule = new Date(Date.now() + 60_000).toISOString();
  const names = Array.from({ length: size }, (_, index) => `at-${index}`);
  await Promise.all(names.map((name) => rig.createAt({ schedule }, name)));
  await Promise.all(
    names.map((name) => rig.atWhen('armed', ({ status }) => status?.reason === 'Armed', name)),
  );
  await rig.stopOperators();
  const travel = await timeTravel(t);
  const { proxy, advance, advanceAtRest } = travel;
  proxy.treat = treat;
  await rig.startOperator({ ...travel.options, ...given, isStandby: true });
  return {
    ...{ ...travel, rig },
    creates: () =>
      proxy.asked.filter(({ method, path }) => method === 'POST' && path.endsWith('/pods')).length,
    async pass() {
      for (let looks = 0; looks < 6; looks += 1) await advance(500);
    },
    async passAtRest() {
      for (let looks = 0; looks < 20; looks += 1) await advanceAtRest(500);
    },
  };
}

/** What a launch sends: the reads of the At, alone or together with others, and the create. */
function launchRequestsOf({ asked }: HostileProxy): string[] {
  const ofLaunch = ({ method, path, query }: Asked) =>
    method === 'POST' || (/\/ats(\/at-\d+)?$/.test(path) && !query.has('watch'));
  return asked.filter(ofLaunch).map(({ method, path }) => `${method} ${path}`);
}

async function havePods({ client, namespace }: AtRig, size: number): Promise<boolean> {
  return (await client.list(pods, { namespace })).items.length >= size;
}

async function allHavePods({ rig }: Standby): Promise<void> {
  await eventually(() => havePods(rig, count), { message: 'all Ats have their Pods' });
}

describe('a standby', () => {
  it('has 16 creates under way at most', async (t) => {
    const standby = await standbyBeside(t);
    const { proxy, creates, advance, advanceAtRest, advanceUntil, stopClock, startClock } = standby;
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    proxy.treat = ({ method, path }) => {
      if (method !== 'POST' || !path.endsWith('/pods')) return undefined;
      const through = new Transform({
        transform: (chunk, _encoding, done) => void released.then(() => done(null, chunk)),
      });
      return { through };
    };
    // In its own time all of this takes less than a write may.
    stopClock();
    await advanceAtRest(60_000);
    await advanceUntil(() => creates() === 16, {
      limitMs: 3000,
      stepMs: 50,
      message: '16 creates are under way',
    });
    for (let looks = 0; looks < 3; looks += 1) {
      await advance(500);
      await eventually(() => proxy.open === creates(), { message: 'no other request is under way' });
    }
    assert.equal(creates(), 16);
    proxy.treat = () => undefined;
    release();
    startClock();
    await allHavePods(standby);
  });

  it('asks a full quota for one of many Ats at a time, and less and less often', async (t) => {
    const size = 60;
    const standby = await standbyBeside(t, {}, size);
    const { rig, creates, advance, advanceAtRest, advanceUntil, stopClock, startClock } = standby;
    const quota = await imposeQuota(rig, { pods: '0' });
    assert.equal(creates(), 0, 'this machine was too slow to impose the quota in time');
    stopClock();
    await advance(60_000);
    // Each step once all that was sent before is answered.
    for (let looks = 0; looks < 30; looks += 1) await advanceAtRest(500);
    // 16 are under way until eight are refused, and then comes one after 250 ms, 500 ms, 1 s, 2 s and 4 s.
    const sent = creates();
    startClock();
    assert.ok(sent <= 8 + 16 + 5, `${sent} creates`);
    await rig.client.delete(resourceQuotas, quota);
    await advanceUntil(() => havePods(rig, size), {
      limitMs: 60_000,
      stepMs: 500,
      message: 'all have their Pods',
    });
  });

  it('launches nothing while it sees other Ats get their Pods, and the rest when that ends', async (t) => {
    const registry = new Registry();
    const standby = await standbyBeside(t, { registry });
    const { rig, creates, advance, pass, stopClock, startClock } = standby;
    const created = await rig.watchPods(t);
    const sees = async (made: number) =>
      (await registry.metrics()).includes(`informer_objects{resource="pods"} ${made}\n`);
    // What it waits for is its own time, of which none passes while a Pod is on its way to it.
    stopClock();
    await advance(60_000);
    const made = 6;
    for (let index = 0; index < made; index += 1) {
      await advance(500);
      await rig.createPodOf(`at-${index}`);
      await eventually(() => sees(index + 1), { message: 'it sees the Pod of another replica' });
    }
    await advance(500);
    assert.equal(creates(), 0);
    startClock();
    await pass();
    await allHavePods(standby);
    // The answer to a create may be lost on a slow machine, and it is sent again.
    assert.ok(creates() >= count - made, `${creates()} creates`);
    await eventually(() => created.size >= count, { message: 'all Pods have been seen' });
    assert.equal(created.size, count);
  });

  it('knows, once it leads, how a Pod has ended that was gone by then', async (t) => {
    const rig = await AtRig.create(t);
    const created = await rig.watchPods(t);
    await rig.startOperator();
    await rig.createAt({ disruptionPolicy: 'Retry' });
    await rig.inPhase('RUNNING');
    await rig.stopOperators();
    await rig.startOperator({ isStandby: true });
    await rig.exit(0);
    await rig.client.delete(pods, { namespace: rig.namespace, name: 'example-at-pod' });
    assert.ok(await rig.isPodGone());
    assert.equal((await rig.at()).status?.phase, 'RUNNING');
    const key = { namespace: rig.namespace, name: 'leader' };
    const spec = { holderIdentity: '', leaseDurationSeconds: 1 };
    await rig.client.patch(leases, key, { type: 'merge', body: { spec } });
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
    assert.equal(created.size, 1);
  });

  it('launches nothing while it has heard nothing for 90 s', async (t) => {
    const standby = await standbyBeside(t);
    const { proxy, advance, passAtRest } = standby;
    const before = launchRequestsOf(proxy);
    proxy.treat = ({ query }) => (query.has('watch') ? noAnswer : undefined);
    proxy.cut();
    await advance(100_000);
    await passAtRest();
    // Not even read, as each At is before its create.
    assert.deepEqual(launchRequestsOf(proxy), before);
    // A watch that goes on may bring nothing that shows what there is for another minute; a new load does.
    const expired = new Set<string>();
    proxy.treat = ({ path, query }) => {
      if (!query.has('watch') || expired.has(path)) return undefined;
      expired.add(path);
      return failure(410, 'Expired');
    };
    proxy.cut();
    await allHavePods(standby);
  });

  it('launches all that is due while it has heard nothing for less', async (t) => {
    const standby = await standbyBeside(t);
    const { proxy, advance, passAtRest } = standby;
    proxy.treat = ({ query }) => (query.has('watch') ? noAnswer : undefined);
    proxy.cut();
    await advance(70_000);
    await passAtRest();
    await allHavePods(standby);
  });

  it('launches nothing, and reads no At, without a delay after which it would', async (t) => {
    const { proxy, advance, passAtRest } = await standbyBeside(t, { failoverLaunchDelay: 0 });
    const before = launchRequestsOf(proxy);
    await advance(60_000);
    await passAtRest();
    assert.deepEqual(launchRequestsOf(proxy), before);
  });

  it('launches a first attempt alone, of an At that a leader has accepted and not held, and that is not suspended', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    await rig.createAt({ disruptionPolicy: 'Retry' }, 'disrupted');
    await rig.inPhase('RUNNING', 'disrupted');
    await rig.createAt({ suspend: true }, 'suspended');
    await rig.atWhen('suspended', ({ status }) => status?.observedGeneration === 1, 'suspended');
    const quota = await imposeQuota(rig, { pods: '0' });
    await rig.createAt({}, 'held');
    await rig.atWhen('held', ({ status }) => status?.reason === 'PodRejected', 'held');
    const schedule = new Date(Date.now() + 60_000).toISOString();
    await rig.createAt({ schedule }, 'first');
    await rig.atWhen('accepted', ({ status }) => status?.observedGeneration === 1, 'first');
    await rig.createAt({ schedule, command: `echo "it's` }, 'refused');
    await rig.atWhen('refused', ({ status }) => status?.reason === 'InvalidCommand', 'refused');
    await rig.stopOperators();
    // Due since long, and seen by no leader.
    await rig.createAt({}, 'unseen');
    await rig.editAt({ command: 'echo mended' }, 'refused');
    await rig.client.delete(resourceQuotas, quota);
    await rig.setPod({ phase: 'Failed', reason: 'Evicted' }, 'disrupted-pod');
    const { options, advance } = await timeTravel(t);
    await rig.startOperator({ ...options, isStandby: true });
    await advance(60_000);
    const isLaunched = async () => {
      await advance(500);
      return !(await rig.isPodGone('first-pod'));
    };
    await eventually(isLaunched, { message: 'the first attempt is launched' });
    for (let looks = 0; looks < 6; looks += 1) await advance(500);
    const { items } = await rig.client.list(pods, { namespace: rig.namespace });
    assert.deepEqual(items.map(({ metadata }) => metadata.name).sort(), ['disrupted-pod', 'first-pod']);
  });
});

/** What becomes of an At so that it is not to be launched now. */
const changes: readonly ((t: TestContext, rig: AtRig, name: string) => Promise<unknown>)[] = [
  (_, rig, name) => rig.editAt({ suspend: true }, name),
  (_, rig, name) => rig.editAt({ cancel: true }, name),
  (_, rig, name) => rig.editAt({ schedule: '2100-01-01T00:00:00Z' }, name),
  (_, { client, namespace }, name) => client.delete(ats, { namespace, name }),
  async (t, rig, name) => {
    await rig.holdAt(t, name);
    await rig.client.delete(ats, { namespace: rig.namespace, name });
  },
];

describe('a standby that has not seen what became of Ats', () => {
  for (const [how, size] of [
    ['each alone', changes.length + 1],
    ['together', changes.length + 7],
  ] as const) {
    it(`reads them ${how}, and launches the others`, async (t) => {
      const watches = new Hold();
      const treat = ({ path, query }: Asked) =>
        query.has('watch') && path.endsWith('/ats') ? { through: watches.through() } : undefined;
      const { rig, proxy, advance, passAtRest } = await standbyBeside(t, {}, size, treat);
      const before = launchRequestsOf(proxy).length;
      watches.begin();
      await Promise.all(changes.map((change, index) => change(t, rig, `at-${index}`)));
      await advance(60_000);
      await passAtRest();
      const sent = launchRequestsOf(proxy).slice(before);
      watches.end();
      const names = Array.from({ length: size }, (_, index) => `at-${index}`);
      const { items } = await rig.client.list(pods, { namespace: rig.namespace });
      assert.deepEqual(
        items.map(({ metadata }) => metadata.name).sort(),
        names
          .slice(changes.length)
          .map((name) => `${name}-pod`)
          .sort(),
      );
      const path = `/apis/cnat.programming-kubernetes.info/v1alpha1/namespaces/${rig.namespace}/ats`;
      const reads = how === 'together' ? [path] : names.map((name) => `${path}/${name}`);
      for (const read of reads) assert.ok(sent.includes(`GET ${read}`), `${read} in ${sent.join()}`);
    });
  }
});

describe('the delay after which a standby launches', { concurrency: true }, () => {
  for (const [delayMs, what] of [
    [1000, '1 s'],
    [3000, '3 s'],
  ] as const) {
    it(`is ${what} of its own time at least, and a fifth more at most`, async (t) => {
      const standby = await standbyBeside(t, { failoverLaunchDelay: delayMs }, 4);
      const { options, creates, advanceAtRest, stopClock, startClock } = standby;
      stopClock();
      try {
        await advanceAtRest(0);
        assert.equal(creates(), 0, 'this machine was too slow to prepare the Ats in time');
        // From here on all are due. Less than after which it would not rely on what it knows.
        await advanceAtRest(65_000);
        const from = options.clock.monotonic();
        const waitedMs = () => options.clock.monotonic() - from;
        while (creates() === 0 && waitedMs() < 20_000) await advanceAtRest(20);
        t.diagnostic(`launched after ${waitedMs()} ms`);
        assert.ok(waitedMs() >= delayMs, `launched after ${waitedMs()} ms`);
        // Looks are 100 ms apart, and what the last step has begun may show in the next ones.
        assert.ok(waitedMs() <= 1.2 * delayMs + 300, `launched after ${waitedMs()} ms`);
      } finally {
        startClock();
      }
    });
  }
});
