/** The times of a run that status shows, and what counts from them, on a real API server. The kubelet's part is the test's. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { ats } from '../../src/api/resources.ts';
import { type ContainerState, type PodStatus, pods } from '../../src/kubernetes/objects.ts';
import { parseTime } from '../../src/kubernetes/time.ts';
import { AtRig, seconds } from './at-rig.ts';
import { applyCrds, eventually, isGone } from './support.ts';
import { timeTravel } from './time-travel.ts';

before(() => applyCrds());

const main = { name: 'busybox', image: 'busybox', imageID: '', ready: false };

/** Resolves when the operator has looked at everything that was there before. */
async function lookedAt(rig: AtRig, name = 'afterwards'): Promise<void> {
  await rig.createAt({ pendingTimeoutSeconds: 0 }, name);
  await rig.inPhase('RUNNING', name);
}

/** What status says of an instant of whole seconds. */
const asShown = (epochMs: number) => new Date(epochMs).toISOString();

function ended(startedAt: number): ContainerState {
  const time = seconds(startedAt);
  return { terminated: { exitCode: 0, reason: 'Completed', startedAt: time, finishedAt: time } };
}

/** When the Pod was created, epoch milliseconds. */
const creationOf = async (rig: AtRig, name: string) =>
  parseTime((await rig.pod(name)).metadata.creationTimestamp ?? '');

describe('launchTime', () => {
  it('is the creation of a Pod that is adopted, and one before the instant counts as no lateness', async (t) => {
    const rig = await AtRig.create(t);
    await rig.createAt({ schedule: '2100-01-01T00:00:00Z' });
    // By a replica that takes that for now.
    await rig.createPodOf();
    await rig.startOperator();
    const { status } = await rig.inPhase('RUNNING');
    assert.equal(status?.scheduledTime, '2100-01-01T00:00:00.000Z');
    assert.equal(status?.launchTime, asShown(await creationOf(rig, 'example-at-pod')));
    assert.equal(status?.latenessMilliseconds, 0);
  });
});

describe('startTime', { concurrency: true }, () => {
  it('is written before the end only where a deadline counts from it, or the start was more than 10 s after the launch', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advance } = await timeTravel(t);
    await rig.startOperator(options);
    const delays = { quick: 5000, slow: 60_000, limited: 5000 };
    const names = ['quick', 'slow', 'limited'] as const;
    for (const name of names) {
      const limit = name === 'limited' ? { activeDeadlineSeconds: 36_000 } : {};
      await rig.createAt({ pendingTimeoutSeconds: 0, ...limit }, name);
      await rig.inPhase('RUNNING', name);
    }
    // The starts below have then been.
    await advance(120_000);
    const starts = new Map<string, number>();
    for (const name of names) {
      const start = (await creationOf(rig, `${name}-pod`)) + delays[name];
      starts.set(name, start);
      const state = { running: { startedAt: seconds(start) } };
      await rig.setPod(
        {
          ...{ phase: 'Running', startTime: seconds(start) },
          containerStatuses: [{ ...main, restartCount: 0, state }],
        },
        `${name}-pod`,
      );
    }
    for (const name of ['slow', 'limited']) {
      const { status } = await rig.atWhen('started', (at) => at.status?.startTime !== undefined, name);
      assert.deepEqual([status?.phase, status?.startTime], ['RUNNING', asShown(starts.get(name) ?? 0)]);
    }
    await lookedAt(rig);
    const { status } = await rig.at('quick');
    assert.deepEqual([status?.phase, status?.startTime], ['RUNNING', undefined]);
    for (const name of names) {
      const start = starts.get(name) ?? 0;
      const containerStatuses = [{ ...main, restartCount: 0, state: ended(start) }];
      await rig.setPod({ phase: 'Succeeded', containerStatuses }, `${name}-pod`);
      assert.equal((await rig.inPhase('DONE', name)).status?.startTime, asShown(start), name);
    }
  });

  it('is the start of the Pod where the next operator cannot know better, else what was written', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advance } = await timeTravel(t);
    await rig.startOperator(options);
    await rig.createAt({ pendingTimeoutSeconds: 0 }, 'forgotten');
    await rig.createAt({ pendingTimeoutSeconds: 0, activeDeadlineSeconds: 36_000 }, 'written');
    const names = ['forgotten', 'written'];
    for (const name of names) await rig.inPhase('RUNNING', name);
    await advance(120_000);
    /** The Pod was taken 2 s after its creation, and its command started first 3 s after that. */
    const show = async (
      name: string,
      phase: NonNullable<PodStatus['phase']>,
      restartCount: number,
      state: ContainerState,
    ) => {
      const startTime = seconds((await creationOf(rig, name)) + 2000);
      const containerStatuses = [{ ...main, restartCount, state, lastState: {} }];
      await rig.setPod({ phase, startTime, containerStatuses }, name);
    };
    const start = (await creationOf(rig, 'written-pod')) + 5000;
    await show('written-pod', 'Running', 0, { running: { startedAt: seconds(start) } });
    await rig.atWhen('started', ({ status }) => status?.startTime === asShown(start), 'written');
    await rig.stopOperators();
    for (const name of names) {
      const again = (await creationOf(rig, `${name}-pod`)) + 60_000;
      await show(`${name}-pod`, 'Running', 3, { running: { startedAt: seconds(again) } });
    }
    await rig.startOperator(options);
    await lookedAt(rig);
    for (const name of names) {
      const again = (await creationOf(rig, `${name}-pod`)) + 60_000;
      await show(`${name}-pod`, 'Succeeded', 3, ended(again));
    }
    assert.equal((await rig.inPhase('DONE', 'written')).status?.startTime, asShown(start));
    const taken = (await creationOf(rig, 'forgotten-pod')) + 2000;
    assert.equal((await rig.inPhase('DONE', 'forgotten')).status?.startTime, asShown(taken));
  });
});

/** How a command ends, and what runs beside it. */
interface End {
  readonly exitCode: number;
  readonly helper?: 'ends sooner' | 'ends later';
  readonly isCanceled?: true;
}

const ends: Readonly<Record<string, End>> = {
  'that succeeds': { exitCode: 0 },
  'that fails': { exitCode: 3 },
  'that is canceled': { exitCode: 143, isCanceled: true },
  'beside a helper that ends sooner': { exitCode: 0, helper: 'ends sooner' },
  'beside a helper that ends later': { exitCode: 3, helper: 'ends later' },
};

/** An At whose Pod was created five minutes ago, and was stopped a moment ago where it is canceled. */
async function launchedBefore(t: TestContext, { helper, isCanceled }: End): Promise<AtRig> {
  const rig = await AtRig.create(t);
  const { options, advance } = await timeTravel(t);
  await rig.startOperator(options);
  const containers = [{}, ...(helper === undefined ? [] : [{ name: 'helper', image: 'busybox' }])];
  const spec = { pendingTimeoutSeconds: 0, backoffLimit: 0, command: 'true' };
  await rig.createAt({ ...spec, template: { spec: { containers } } });
  await rig.inPhase('RUNNING');
  await advance(300_000);
  if (isCanceled) {
    await rig.start();
    await rig.editAt({ cancel: true });
    await rig.stopped();
  }
  return rig;
}

/** When helpers end, in milliseconds from the creation of the Pod. */
const helperEnds = { 'ends sooner': 30_000, 'ends later': 120_000 };
const commandEnds = 50_000;

describe('completionTime', { concurrency: true }, () => {
  for (const [what, end] of Object.entries(ends)) {
    it(`is when the container of a command ${what} finished, however much later that is seen`, async (t) => {
      const rig = await launchedBefore(t, end);
      const created = await creationOf(rig, 'example-at-pod');
      const endedAfter = (exitCode: number, ms: number) => {
        const times = { startedAt: seconds(created + 20_000), finishedAt: seconds(created + ms) };
        return { restartCount: 0, state: { terminated: { exitCode, reason: 'Error', ...times } } };
      };
      const { exitCode, helper } = end;
      const beside = helper && { ...main, name: 'helper', ...endedAfter(0, helperEnds[helper]) };
      await rig.setPod({
        ...{ phase: exitCode === 0 ? 'Succeeded' : 'Failed', startTime: seconds(created + 2000) },
        containerStatuses: [
          { ...main, ...endedAfter(exitCode, commandEnds) },
          ...(beside === undefined ? [] : [beside]),
        ],
      });
      assert.equal((await rig.inPhase('DONE')).status?.completionTime, asShown(created + commandEnds));
    });
  }

  it('is when the end was decided where no container finished', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advance } = await timeTravel(t);
    await rig.startOperator(options);
    await rig.createAt({ pendingTimeoutSeconds: 0 });
    await rig.inPhase('RUNNING');
    await advance(300_000);
    const from = options.clock.now();
    await rig.client.delete(pods, { namespace: rig.namespace, name: 'example-at-pod' });
    const { status } = await rig.inPhase('DONE');
    assert.equal(status?.reason, 'PodLost');
    const completed = parseTime(status?.completionTime ?? '');
    // By the time of the API server, which is known to the second.
    assert.ok(completed >= from - 1000 && completed <= options.clock.now() + 1000, status?.completionTime);
  });
});

describe('ttlSecondsAfterFinished', () => {
  it('counts from the status that shows the end where that was written long after it', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advance } = await timeTravel(t);
    await rig.startOperator(options);
    await rig.createAt({ ttlSecondsAfterFinished: 3600 });
    await rig.inPhase('RUNNING');
    await rig.stopOperators();
    await rig.exit(0);
    await advance(36_000_000);
    await rig.startOperator(options);
    const { status } = await rig.inPhase('DONE');
    assert.ok(parseTime(status?.completionTime ?? '') < Date.now() + 3_600_000, 'it ended long ago');
    await lookedAt(rig);
    // Long enough before its time that a slow machine does not pass over it.
    await advance(3_000_000);
    await lookedAt(rig, 'later');
    assert.equal((await rig.at()).metadata.deletionTimestamp, undefined);
    await advance(601_000);
    await eventually(() => isGone(rig.client, ats, rig.namespace, 'example-at'), {
      message: 'the At is gone',
    });
  });
});
