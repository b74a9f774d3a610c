/** At where a clock is wrong, the operator's or a node's, or zone data is: the API server's time counts, and today's zones. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { Registry } from '@prometheus-io/client';
import type { At } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { parseTime } from '../../src/kubernetes/time.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { AtRig, clockAhead, seconds } from './at-rig.ts';
import { applyCrds, eventually, isGone } from './support.ts';

const minute = 60_000;
const main = { name: 'busybox', image: 'busybox', imageID: '', ready: true, restartCount: 0 };

before(() => applyCrds());

/** Resolves when the operator has looked at everything that was there before. */
async function lookedAt(rig: AtRig): Promise<void> {
  await rig.createAt({}, 'afterwards');
  await rig.inPhase('RUNNING', 'afterwards');
}

/** An At that is due in a moment, when its Pod was seen, and the skew that the operator shows, in seconds. */
async function launchedWith(t: TestContext, aheadMs: number) {
  const rig = await AtRig.create(t);
  const registry = new Registry();
  await rig.startOperator({ registry, clock: clockAhead(aheadMs) });
  let seenAt = 0;
  await rig.watch(t, pods, () => {
    if (seenAt === 0) seenAt = Date.now();
  });
  const due = Math.ceil(Date.now() / 1000) * 1000 + 4000;
  await rig.createAt({ schedule: new Date(due).toISOString(), activeDeadlineSeconds: 600 });
  const { status } = await rig.inPhase('RUNNING');
  await eventually(() => seenAt > 0, { message: 'its Pod is seen' });
  assert.ok(seenAt >= due, `the Pod was created ${due - seenAt} ms early`);
  assert.ok(parseTime(status?.launchTime ?? '') >= due);
  const skew = /^atwatch_apiserver_clock_skew_seconds (\S+)$/m.exec(await registry.metrics())?.[1];
  return { rig, skew: Number(skew) };
}

describe('an operator whose clock is wrong by 20 minutes', { concurrency: true }, () => {
  it('ahead: launches nothing early, ends nothing early, and does not blame itself', async (t) => {
    const { rig, skew } = await launchedWith(t, 20 * minute);
    assert.ok(skew > 1190 && skew < 1210, `${skew} s`);
    await rig.start();
    await lookedAt(rig);
    assert.equal((await rig.at()).status?.phase, 'RUNNING');
    assert.notEqual((await rig.pod()).spec.activeDeadlineSeconds, 1);
    await rig.exit(0);
    const { status } = await rig.inPhase('DONE');
    assert.ok(parseTime(status?.completionTime ?? '') <= Date.now() + 1000);
    const told = () => rig.events();
    await eventually(async () => (await told()).includes('Completed'), { message: 'the last Event' });
    assert.deepEqual(await told(), ['Launched', 'Completed']);
  });

  it('behind: is not late', async (t) => {
    const { rig, skew } = await launchedWith(t, -20 * minute);
    assert.ok(skew < -1190 && skew > -1210, `${skew} s`);
    assert.ok(((await rig.at()).status?.latenessMilliseconds ?? minute) < minute);
  });

  for (const [what, aheadMs] of [
    ['ahead', 20 * minute],
    ['behind', -20 * minute],
  ] as const) {
    it(`${what}: deletes what has ended, and gives up what has not started, neither early nor late`, async (t) => {
      const rig = await AtRig.create(t);
      await rig.startOperator();
      for (const name of ['kept', 'expired']) {
        await rig.createAt({ cancel: true }, name);
        await rig.inPhase('DONE', name);
      }
      await rig.stopOperators();
      await rig.editAt({ ttlSecondsAfterFinished: 600 }, 'kept');
      await rig.editAt({ ttlSecondsAfterFinished: 1 }, 'expired');
      const schedule = seconds(Date.now() - 5 * minute);
      await rig.createAt({ schedule, startingDeadlineSeconds: 600 }, 'in-time');
      await rig.createAt({ schedule, startingDeadlineSeconds: 60 }, 'missed');
      await rig.startOperator({ clock: clockAhead(aheadMs) });
      assert.equal((await rig.inPhase('DONE', 'missed')).status?.outcome, 'Missed');
      await rig.inPhase('RUNNING', 'in-time');
      const isExpired = () => isGone(rig.client, ats, rig.namespace, 'expired');
      await eventually(isExpired, { message: 'the one whose time to live is over is gone' });
      assert.equal((await rig.at('kept')).metadata.deletionTimestamp, undefined);
      await rig.createAt({ pendingTimeoutSeconds: 600 }, 'pending');
      await rig.createAt({ pendingTimeoutSeconds: 1 }, 'given-up');
      await rig.inPhase('RUNNING', 'pending');
      const { status } = await rig.inPhase('DONE', 'given-up');
      assert.match(`${status?.outcome} ${status?.reason}`, /^Failed (Unschedulable|PendingTimeout)$/);
      await eventually(() => rig.isPodGone('given-up-pod'), { message: 'its Pod is gone' });
      assert.equal((await rig.pod('pending-pod')).metadata.deletionTimestamp, undefined);
      assert.equal((await rig.at('pending')).status?.phase, 'RUNNING');
    });
  }
});

describe('an operator whose clock is set while an At waits', { concurrency: true }, () => {
  for (const [what, stepMs] of [
    ['forward by 20 minutes', 20 * minute],
    ['back by 20 minutes', -20 * minute],
  ] as const) {
    it(`${what}: launches it neither early nor late`, async (t) => {
      const rig = await AtRig.create(t);
      let step = 0;
      await rig.startOperator({ clock: { ...systemClock, now: () => systemClock.now() + step } });
      // By the name of the Pod: a slow machine tries several Ats.
      const seen = new Map<string, number>();
      await rig.watch(t, pods, (type, { metadata }) => {
        if (type === 'ADDED') seen.set(metadata.name, Date.now());
      });
      const { name, due } = await rig.createWaiting(
        () => {
          step = stepMs;
        },
        () => {
          step = 0;
        },
      );
      const { status } = await rig.inPhase('RUNNING', name);
      const seenAt = await eventually(() => seen.get(`${name}-pod`), { message: 'its Pod is seen' });
      assert.ok(seenAt >= due, `the Pod was created ${due - seenAt} ms early`);
      assert.ok((status?.latenessMilliseconds ?? minute) < minute, `${status?.latenessMilliseconds} ms late`);
    });
  }
});

describe('a node whose clock is 2 minutes behind', () => {
  it('does not have the command stopped after a second', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    await rig.createAt({ activeDeadlineSeconds: 60 });
    await rig.inPhase('RUNNING');
    const startedAt = seconds(Date.now() - 2 * minute);
    const pod = await rig.pod();
    const containerStatuses = [{ ...main, state: { running: { startedAt } } }];
    await rig.setPod({ phase: 'Running', startTime: startedAt, containerStatuses });
    const { status } = await rig.atWhen('started', (at) => at.status?.startTime !== undefined);
    assert.ok(parseTime(status?.startTime ?? '') >= parseTime(pod.metadata.creationTimestamp ?? ''));
    await lookedAt(rig);
    assert.notEqual((await rig.pod()).spec.activeDeadlineSeconds, 1);
  });
});

describe('a node whose clock is 2 minutes ahead', { concurrency: true }, () => {
  /** Its kubelet has started the command. */
  async function started(t: TestContext, activeDeadlineSeconds: number): Promise<AtRig> {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    await rig.createAt({ activeDeadlineSeconds });
    await rig.inPhase('RUNNING');
    const startedAt = seconds(Date.now() + 2 * minute);
    const containerStatuses = [{ ...main, state: { running: { startedAt } } }];
    await rig.setPod({ phase: 'Running', startTime: startedAt, containerStatuses });
    const { status } = await rig.atWhen('started', (at) => at.status?.startTime !== undefined);
    assert.ok(parseTime(status?.startTime ?? '') <= Date.now(), status?.startTime);
    return rig;
  }

  it('ends nothing early', async (t) => {
    const rig = await started(t, 60);
    await lookedAt(rig);
    assert.notEqual((await rig.pod()).spec.activeDeadlineSeconds, 1);
  });

  it('gives no command more time than its deadline', async (t) => {
    const rig = await started(t, 1);
    await eventually(async () => (await rig.pod()).spec.activeDeadlineSeconds === 1, {
      message: 'it is stopped',
    });
  });
});

describe('what the zone data of an earlier operator made of a schedule', () => {
  it('does not count: the instant is resolved again', async (t) => {
    const rig = await AtRig.create(t);
    const past = '2019-07-01T09:00:00';
    const future = '2100-07-01T09:00:00';
    const acceptBefore = async (name: string, schedule: string, scheduledTime: string) => {
      await rig.createAt({ schedule, timeZone: 'Europe/Berlin' }, name);
      const lastTransitionTime = seconds(Date.now());
      const accepted = {
        type: 'Accepted',
        status: 'True',
        reason: 'Armed',
        message: '',
        lastTransitionTime,
      } as const;
      const conditions = [{ ...accepted, observedGeneration: 1 }];
      const body = { status: { observedGeneration: 1, reason: 'Armed', scheduledTime, conditions } };
      await rig.client.patchStatus(ats, { namespace: rig.namespace, name }, { type: 'merge', body });
    };
    await acceptBefore('past', past, `${future}.000Z`);
    await acceptBefore('future', future, `${past}.000Z`);
    await rig.startOperator();
    const launched = await rig.inPhase('RUNNING', 'past');
    assert.equal(launched.status?.scheduledTime, '2019-07-01T07:00:00.000Z');
    const corrected = ({ status }: At) => status?.scheduledTime === '2100-07-01T07:00:00.000Z';
    const waiting = await rig.atWhen('corrected', corrected, 'future');
    assert.equal(waiting.status?.phase, 'PENDING');
  });
});
