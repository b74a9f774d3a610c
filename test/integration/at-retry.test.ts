/** At with disruptionPolicy Retry on a real API server: what is tried again, when, and what never is. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import type { At, AtSpec } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import { type PodStatus, pods } from '../../src/kubernetes/objects.ts';
import { parseTime } from '../../src/kubernetes/time.ts';
import { AtRig, isGated, seconds } from './at-rig.ts';
import { HostileProxy } from './hostile-proxy.ts';
import { applyCrds, eventually } from './support.ts';
import { startTime, stopTime, type TimeTravel, timeTravel } from './time-travel.ts';

const retry = { disruptionPolicy: 'Retry' } as const;

before(() => applyCrds());

const main = { name: 'busybox', image: 'busybox', imageID: '', ready: false, restartCount: 0 };

/** The main container after so many restarts. */
function ended(restartCount: number) {
  const time = seconds(Date.now());
  const terminated = { exitCode: 1, reason: 'Error', startedAt: time, finishedAt: time };
  return { ...main, restartCount, state: { terminated } };
}

/** Resolves once it is so. However slow the machine is, no more than two seconds of stopped time pass meanwhile. */
function hardlyAnyTimeUntil(
  { advanceUntil }: TimeTravel,
  message: string,
  isSo: () => Promise<boolean>,
): Promise<void> {
  return advanceUntil(isSo, { limitMs: 2000, stepMs: 10, message });
}

/** Resolves when the operator has looked at everything that was there before. */
async function lookedAt(rig: AtRig, travel: TimeTravel): Promise<void> {
  await rig.createAt({}, 'meanwhile');
  const isRunning = async () => (await rig.at('meanwhile')).status?.phase === 'RUNNING';
  await hardlyAnyTimeUntil(travel, 'an At that came later runs', isRunning);
}

/** A Pod that is in this state for more than a minute is stopped for that reason. */
const stops: readonly {
  readonly reason: string;
  readonly spec: Partial<AtSpec>;
  readonly status: () => PodStatus;
}[] = [
  {
    reason: 'DeadlineExceeded',
    spec: { activeDeadlineSeconds: 60 },
    status: () => {
      const startedAt = seconds(Date.now());
      const containerStatuses = [{ ...main, state: { running: { startedAt } } }];
      return { phase: 'Running', startTime: startedAt, containerStatuses };
    },
  },
  {
    reason: 'ImagePullBackOff',
    spec: { pendingTimeoutSeconds: 60 },
    status: () => {
      const containerStatuses = [{ ...main, state: { waiting: { reason: 'ImagePullBackOff' } } }];
      return { phase: 'Pending', startTime: seconds(Date.now()), containerStatuses };
    },
  },
  {
    reason: 'PendingTimeout',
    spec: { pendingTimeoutSeconds: 60 },
    status: () => {
      const containerStatuses = [{ ...main, state: { waiting: { reason: 'ContainerCreating' } } }];
      return { phase: 'Pending', startTime: seconds(Date.now()), containerStatuses };
    },
  },
  {
    reason: 'BackoffLimitExceeded',
    spec: { backoffLimit: 1 },
    status: () => {
      const { state: lastState } = ended(1);
      const state = { waiting: { reason: 'CrashLoopBackOff' } };
      const containerStatuses = [{ ...main, restartCount: 1, state, lastState }];
      return { phase: 'Running', startTime: seconds(Date.now()), containerStatuses };
    },
  },
  {
    reason: 'CommandFailed',
    spec: {
      ...{ backoffLimit: 0, command: 'false' },
      template: { spec: { containers: [{}, { name: 'helper', image: 'busybox' }] } },
    },
    status: () => {
      const startedAt = seconds(Date.now());
      const helper = { ...main, name: 'helper', state: { running: { startedAt } } };
      return { phase: 'Running', startTime: startedAt, containerStatuses: [ended(0), helper] };
    },
  },
];

describe('At with Retry', { concurrency: true }, () => {
  it('waits longer and longer where one Pod after the other is deleted, and tells each in its history', async (t) => {
    const rig = await AtRig.create(t);
    const travel = await timeTravel(t);
    const { clock } = travel.options;
    await rig.startOperator(travel.options);
    await rig.createAt(retry);
    await rig.inPhase('RUNNING');
    const deletePod = (name: string) =>
      rig.client.delete(pods, { namespace: rig.namespace, name }, { gracePeriodSeconds: 0 });
    const statusIs = (holds: (status: At['status']) => boolean) => async () => holds((await rig.at()).status);
    stopTime(travel);
    try {
      await deletePod('example-at-pod');
      const isSecond = statusIs((status) => status?.attempts === 2);
      await hardlyAnyTimeUntil(travel, 'it is in its second attempt', isSecond);
      const { launchTime = '' } = (await rig.at()).status ?? {};
      await deletePod('example-at-pod-2');
      const isTold = statusIs((status) => status?.history?.length === 2);
      await hardlyAnyTimeUntil(travel, 'the second loss is told', isTold);
      const { phase, reason, message = '' } = (await rig.at()).status ?? {};
      assert.deepEqual([phase, reason], ['RUNNING', 'PodLost']);
      const [, instant = ''] = /^attempt 3 of 10 follows at (\S+Z): the Pod is gone$/.exec(message) ?? [];
      const follows = parseTime(instant);
      assert.ok(follows >= parseTime(launchTime) + 10_000, `10 s between two launches: ${message}`);
      assert.ok(await rig.isPodGone('example-at-pod-3'));
      const isThird = statusIs((status) => status?.attempts === 3);
      await travel.advanceUntil(isThird, {
        ...{ limitMs: follows + 3000 - clock.now(), stepMs: 500, atRest: true },
        message: 'it is in its third attempt',
      });
      assert.ok(clock.now() >= follows, `${follows - clock.now()} ms early`);
      assert.equal((await rig.at()).status?.message, 'attempt 3 of 10');
    } finally {
      startTime(travel);
    }
    const { status } = await rig.at();
    assert.deepEqual(
      status?.history?.map(({ attempt, podName, reason }) => [attempt, podName, reason]),
      [
        [1, 'example-at-pod', 'PodLost'],
        [2, 'example-at-pod-2', 'PodLost'],
      ],
    );
    const told = async () => (await rig.events()).length === 5 && rig.events();
    assert.deepEqual(await eventually(told, { message: 'all Events' }), [
      ...['Launched', 'Disrupted (W)', 'Launched', 'Disrupted (W)', 'Launched'],
    ]);
  });

  it('is tried again after its starting deadline, which is about the first attempt alone', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advance } = await timeTravel(t);
    await rig.startOperator(options);
    // Not in the past: a machine may need more than a moment for the first launch.
    const schedule = new Date(Date.now()).toISOString();
    await rig.createAt({ ...retry, schedule, startingDeadlineSeconds: 600, pendingTimeoutSeconds: 0 });
    await rig.inPhase('RUNNING');
    await advance(1_200_000);
    for (const attempt of [1, 2]) {
      const name = attempt === 1 ? 'example-at-pod' : `example-at-pod-${attempt}`;
      await rig.setPod({ phase: 'Failed', reason: 'Evicted' }, name);
      await rig.atWhen('told of the loss', ({ status }) => status?.history?.length === attempt);
      await advance(60_000);
      await rig.atWhen('tried again', ({ status }) => status?.attempts === attempt + 1);
    }
    await rig.exit(0, 'example-at-pod-3');
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
  });

  it('tries ten times at most, and fails then for the last reason', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advanceAtRest } = await timeTravel(t);
    const created = await rig.watchPods(t);
    await rig.startOperator(options);
    // The API server's own times stay behind: the Pods look older than they are.
    await rig.createAt({ ...retry, pendingTimeoutSeconds: 0 });
    for (let attempt = 1; attempt <= 10; attempt += 1) {
      const name = attempt === 1 ? 'example-at-pod' : `example-at-pod-${attempt}`;
      await rig.atWhen(`in attempt ${attempt}`, ({ status }) => status?.podName === name);
      if (attempt === 10) await rig.setPod({ phase: 'Failed', reason: 'Evicted' }, name);
      else await rig.client.delete(pods, { namespace: rig.namespace, name }, { gracePeriodSeconds: 0 });
      await rig.atWhen('told of the loss', ({ status }) => status?.history?.length === attempt);
      // Set forward before the answer to that status is here, the time limit of the write would be over.
      await advanceAtRest(360_000);
    }
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual([status?.outcome, status?.reason, status?.attempts], ['Failed', 'Evicted', 10]);
    assert.deepEqual(new Set(status?.history?.slice(0, 9).map(({ reason }) => reason)), new Set(['PodLost']));
    const isDisrupted = (event: string) => event === 'Disrupted (W)';
    const told = async () => (await rig.events()).filter(isDisrupted).length === 10;
    await eventually(told, { message: 'each lost attempt has its Event' });
    await rig.createAt({ pendingTimeoutSeconds: 0 }, 'afterwards');
    await rig.inPhase('RUNNING', 'afterwards');
    await eventually(() => created.size >= 11, { message: 'the Pod afterwards is seen' });
    assert.equal(created.size, 11, 'ten, and that of the At afterwards');
  });

  it('does not run again what ended by itself and was deleted before status could tell it', async (t) => {
    const rig = await AtRig.create(t);
    const proxy = await HostileProxy.start(t);
    const created = await rig.watchPods(t);
    await rig.startOperator({ kubeConfig: proxy.kubeConfig });
    const names = ['a', 'b', 'c'];
    const exitCodes: Record<string, number> = { c: 1 };
    for (const name of names) await rig.createAt({ ...retry, backoffLimit: 0 }, name);
    for (const name of names) await rig.inPhase('RUNNING', name);
    proxy.treat = ({ method, path }) =>
      method === 'PATCH' && path.endsWith('/status') ? { code: 503, body: 'busy' } : undefined;
    for (const name of names) {
      await rig.exit(exitCodes[name] ?? 0, `${name}-pod`);
      await rig.client.delete(pods, { namespace: rig.namespace, name: `${name}-pod` });
    }
    const deletedAt = proxy.asked.length;
    const triedAgain = async () =>
      names.every((name) =>
        proxy.asked.slice(deletedAt).some(({ path }) => path.endsWith(`/${name}/status`)),
      );
    await eventually(triedAgain, { message: 'no status is taken, although the Pods are gone' });
    proxy.treat = () => undefined;
    for (const name of names) {
      const { status } = await rig.inPhase('DONE', name, 60_000);
      assert.equal(status?.reason, exitCodes[name] === undefined ? 'Succeeded' : 'CommandFailed', name);
    }
    assert.equal(created.size, names.length, 'one Pod each');
  });

  it('adds up the restarts of all attempts, and tells each in its history', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    await rig.createAt(retry);
    await rig.inPhase('RUNNING');
    await rig.setPod({ phase: 'Failed', reason: 'Evicted', containerStatuses: [ended(2)] });
    const { status } = await rig.atWhen('in its second attempt', (at) => at.status?.attempts === 2);
    assert.equal(status?.restarts, 2);
    await rig.setPod({ phase: 'Failed', containerStatuses: [ended(3)] }, 'example-at-pod-2');
    const done = (await rig.inPhase('DONE')).status;
    assert.deepEqual([done?.reason, done?.restarts], ['CommandFailed', 5]);
    assert.deepEqual(
      done?.history?.map(({ reason, restarts }) => [reason, restarts]),
      [
        ['Evicted', 2],
        ['CommandFailed', 3],
      ],
    );
  });

  it('tells of an attempt that was lost in its history which Pod it was, when it ran and how it ended', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advance } = await timeTravel(t);
    await rig.startOperator(options);
    await rig.createAt({ ...retry, pendingTimeoutSeconds: 0 });
    const first = await rig.inPhase('RUNNING');
    const { creationTimestamp = '', uid } = (await rig.pod()).metadata;
    const after = (second: number) => parseTime(creationTimestamp) + second * 1000;
    const end = (exitCode: number, from: number, to: number) => {
      const times = { startedAt: seconds(after(from)), finishedAt: seconds(after(to)) };
      return { terminated: { exitCode, reason: 'Error', ...times } };
    };
    await advance(600_000);
    const states = { state: end(137, 40, 70), lastState: end(1, 20, 30) };
    await rig.setPod({
      ...{ phase: 'Failed', reason: 'Evicted', startTime: seconds(after(10)) },
      containerStatuses: [{ ...main, restartCount: 1, ...states }],
    });
    const { status } = await rig.atWhen('in its second attempt', (at) => at.status?.attempts === 2);
    assert.deepEqual(status?.history, [
      {
        ...{ attempt: 1, podName: 'example-at-pod', podUID: uid },
        launchTime: first.status?.launchTime,
        startTime: new Date(after(20)).toISOString(),
        completionTime: new Date(after(70)).toISOString(),
        ...{ reason: 'Evicted', exitCode: 137, restarts: 1 },
      },
    ]);
  });

  for (const { reason, spec, status } of stops) {
    /** Its Pod is on a node, and was told to stop. */
    const stopping = async (t: TestContext) => {
      const rig = await AtRig.create(t);
      const { options, advance } = await timeTravel(t);
      const created = await rig.watchPods(t);
      await rig.startOperator(options);
      await rig.createAt({ ...retry, ...spec });
      await rig.inPhase('RUNNING');
      await rig.bind(t);
      await rig.setPod(status());
      await advance(61_000);
      await rig.stopped();
      const assertOver = async () => {
        const { status } = await rig.inPhase('DONE');
        assert.deepEqual([status?.outcome, status?.reason, status?.attempts], ['Failed', reason, 1]);
        assert.equal(created.size, 1);
      };
      return { rig, key: { namespace: rig.namespace, name: 'example-at-pod' }, assertOver };
    };

    it(`does not run again what was stopped for ${reason}, and deleted before it had ended`, async (t) => {
      const { rig, key, assertOver } = await stopping(t);
      await rig.client.delete(pods, key, { gracePeriodSeconds: 0 });
      await assertOver();
    });

    it(`does not run again what was stopped for ${reason}, and drained before it had ended`, async (t) => {
      const { rig, key, assertOver } = await stopping(t);
      await rig.client.evict(key, {});
      const { metadata, status } = await rig.pod();
      assert.ok(metadata.deletionTimestamp, 'it has a grace period');
      assert.ok(status?.conditions?.some(({ type }) => type === 'DisruptionTarget'));
      await rig.setPod({ phase: 'Failed', containerStatuses: [ended(0)] });
      await rig.client.delete(pods, key, { gracePeriodSeconds: 0 });
      await assertOver();
    });
  }

  it('does not run again what failed more often than backoffLimit allows, and is drained as it is stopped', async (t) => {
    const rig = await AtRig.create(t);
    const created = await rig.watchPods(t);
    await rig.startOperator();
    await rig.createAt({ ...retry, backoffLimit: 1 });
    await rig.inPhase('RUNNING');
    const time = seconds(Date.now());
    const terminated = { exitCode: 7, reason: 'Error', startedAt: time, finishedAt: time };
    const state = { waiting: { reason: 'CrashLoopBackOff' } };
    const containerStatuses = [{ ...main, restartCount: 1, state, lastState: { terminated } }];
    await rig.setPod({ phase: 'Running', startTime: time, containerStatuses });
    await rig.stopped();
    await rig.client.evict({ namespace: rig.namespace, name: 'example-at-pod' }, {});
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual(
      [status?.outcome, status?.reason, status?.exitCode],
      ['Failed', 'BackoffLimitExceeded', 7],
    );
    assert.equal(created.size, 1);
  });

  it('waits for a Pod on a node that does not answer, says so after a minute, once, and a cancel ends it', async (t) => {
    const rig = await AtRig.create(t);
    const travel = await timeTravel(t);
    const { options, advance } = travel;
    await rig.startOperator(options);
    await rig.createAt(retry);
    await rig.inPhase('RUNNING');
    await rig.bind(t);
    await rig.start();
    const key = { namespace: rig.namespace, name: 'example-at-pod' };
    await rig.client.delete(pods, key, { gracePeriodSeconds: 1 });
    const ends = parseTime((await rig.pod()).metadata.deletionTimestamp ?? '');
    stopTime(travel);
    try {
      await advance(ends + 50_000 - options.clock.now());
      await lookedAt(rig, travel);
      assert.ok(options.clock.now() < ends + 59_000);
      assert.notEqual((await rig.at()).status?.reason, 'PodUnreachable', 'before a minute is over');
      await advance(ends + 62_000 - options.clock.now());
    } finally {
      startTime(travel);
    }
    const stuck = await rig.atWhen('unreachable', ({ status }) => status?.reason === 'PodUnreachable');
    assert.equal(stuck.status?.phase, 'RUNNING');
    await rig.createAt({}, 'afterwards');
    await rig.inPhase('RUNNING', 'afterwards');
    assert.ok(await rig.isPodGone('example-at-pod-2'));
    await rig.editAt({ cancel: true });
    const { status } = await rig.inPhase('DONE');
    assert.equal(status?.outcome, 'Canceled');
    assert.match(status?.message ?? '', /its node does not answer, and the command may still run there/);
    const told = async () => (await rig.events()).includes('Canceled') && rig.events();
    assert.deepEqual(await eventually(told, { message: 'the last Event' }), [
      ...['Launched', 'PodStuck (W)', 'Canceled'],
    ]);
    assert.equal((await rig.client.get(ats, { ...key, name: 'example-at' })).status?.attempts, 1);
  });

  it('is over when its deadline passes on a node that does not answer', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advance } = await timeTravel(t);
    await rig.startOperator(options);
    await rig.createAt({ ...retry, activeDeadlineSeconds: 40 });
    await rig.inPhase('RUNNING');
    await rig.bind(t);
    await rig.start();
    await rig.client.delete(
      pods,
      { namespace: rig.namespace, name: 'example-at-pod' },
      { gracePeriodSeconds: 1 },
    );
    await advance(90_000);
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual([status?.outcome, status?.reason], ['Failed', 'DeadlineExceeded']);
    assert.match(status?.message ?? '', /its node does not answer, and the command may still run there/);
    assert.ok(await rig.isPodGone('example-at-pod-2'));
  });
});

describe('At with Retry and ExactlyOnce', () => {
  it('lets a lost Pod go while the next attempt waits', async (t) => {
    const rig = await AtRig.create(t);
    const travel = await timeTravel(t);
    await rig.startOperator(travel.options);
    await rig.createAt({ ...retry, launchGuarantee: 'ExactlyOnce' });
    const isReleased = (name: string) => async () => {
      const { items } = await rig.client.list(pods, { namespace: rig.namespace });
      return items.some((pod) => pod.metadata.name === name && !isGated(pod));
    };
    await eventually(isReleased('example-at-pod'), { message: 'Pod 1 is released' });
    stopTime(travel);
    try {
      for (const [attempt, name] of [
        [1, 'example-at-pod'],
        [2, 'example-at-pod-2'],
      ] as const) {
        await hardlyAnyTimeUntil(travel, `Pod ${attempt} is released`, isReleased(name));
        await rig.client.delete(pods, { namespace: rig.namespace, name });
        const isTold = async () => (await rig.at()).status?.history?.length === attempt;
        await hardlyAnyTimeUntil(travel, `loss ${attempt} is told`, isTold);
      }
      await hardlyAnyTimeUntil(travel, 'Pod 2 is gone', () => rig.isPodGone('example-at-pod-2'));
      const { status } = await rig.at();
      assert.deepEqual([status?.attempts, status?.history?.length], [2, 2]);
      const isThird = async () => (await rig.at()).status?.attempts === 3;
      await travel.advanceUntil(isThird, {
        ...{ limitMs: 60_000, stepMs: 500, atRest: true, message: 'it is in its third attempt' },
      });
    } finally {
      startTime(travel);
    }
  });
});

describe('At with Retry whose Pod was evicted', { concurrency: true }, () => {
  for (const [how, finish] of Object.entries({
    'has ended as it was told': (rig: AtRig) =>
      rig.setPod({ phase: 'Failed', containerStatuses: [ended(0)] }),
    'is gone without an end': () => {},
  })) {
    it(`is canceled for good while its evicted Pod is still there, which ${how}`, async (t) => {
      const rig = await AtRig.create(t);
      const { options, advance } = await timeTravel(t);
      const created = await rig.watchPods(t);
      await rig.startOperator(options);
      await rig.createAt({ ...retry, pendingTimeoutSeconds: 0 });
      await rig.inPhase('RUNNING');
      await rig.bind(t);
      await rig.start();
      const key = { namespace: rig.namespace, name: 'example-at-pod' };
      await rig.client.evict(key, {});
      await rig.atWhen('evicted', ({ status }) => status?.reason === 'Evicted');
      await rig.editAt({ cancel: true });
      const leaving = await rig.atWhen('canceled', ({ status }) => status?.reason === 'Canceled');
      assert.equal(leaving.status?.phase, 'RUNNING', 'its Pod is still there');
      await finish(rig);
      await rig.client.delete(pods, key, { gracePeriodSeconds: 0 });
      const { status } = await rig.inPhase('DONE');
      assert.deepEqual([status?.outcome, status?.reason, status?.attempts], ['Canceled', 'Canceled', 1]);
      // Longer than any attempt waits for its turn.
      await advance(600_000);
      await rig.createAt({ pendingTimeoutSeconds: 0 }, 'afterwards');
      await rig.inPhase('RUNNING', 'afterwards');
      await eventually(() => created.size >= 2, { message: 'the Pod afterwards is seen' });
      assert.equal(created.size, 2, 'its own, and that of the At afterwards');
    });
  }
});

describe('the name of a further attempt', () => {
  it('that a stranger has is told, and is used once it is free', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    await rig.createAt({ disruptionPolicy: 'Retry' });
    await rig.inPhase('RUNNING');
    const metadata = { namespace: rig.namespace, name: 'example-at-pod-2' };
    const stranger = await rig.client.create(pods, {
      metadata,
      spec: { containers: [{ name: 'main', image: 'busybox' }] },
    });
    await rig.client.delete(pods, { namespace: rig.namespace, name: 'example-at-pod' });
    await rig.atWhen('held', ({ status }) => status?.reason === 'PodNameConflict');
    await eventually(async () => (await rig.events()).includes('PodNameConflict (W)'), {
      message: 'the Event',
    });
    assert.equal((await rig.pod('example-at-pod-2')).metadata.uid, stranger.metadata.uid);
    await rig.client.delete(pods, metadata);
    const { status } = await rig.atWhen('run again', (at) => at.status?.attempts === 2);
    const { uid } = (await rig.pod('example-at-pod-2')).metadata;
    assert.deepEqual([status?.podUID, uid === stranger.metadata.uid], [uid, false]);
  });
});
