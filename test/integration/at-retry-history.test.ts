/** When Retry follows up, by the history in status alone: no Pod of an earlier attempt is there any more. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { AtStatus } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { AtRig } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

before(() => applyCrds());

/** By the attempts that were made: how long after the last launch the next one follows, in seconds. */
const waits: Readonly<Record<number, number>> = {
  2: 10,
  3: 20,
  4: 40,
  5: 80,
  6: 160,
  7: 320,
  8: 360,
  9: 360,
};

/** Far enough that no machine is so slow that a wait is over before it is looked at. */
const aheadMs = 36_000_000;

const podName = (at: string, attempt: number) => (attempt === 1 ? `${at}-pod` : `${at}-pod-${attempt}`);

/** An At whose attempts were launched at that instant, and whose Pods are gone. The last loss was not recorded. */
async function attempted(rig: AtRig, name: string, attempts: number, launch: number): Promise<void> {
  await rig.createAt({ disruptionPolicy: 'Retry', pendingTimeoutSeconds: 0 }, name);
  const launchTime = new Date(launch).toISOString();
  const history = Array.from({ length: attempts - 1 }, (_, index) => ({
    ...{ attempt: index + 1, podName: podName(name, index + 1), podUID: `uid-${index + 1}` },
    ...{ launchTime, completionTime: launchTime, reason: 'Evicted', restarts: 0 },
  }));
  const status: AtStatus = {
    ...{ phase: 'RUNNING', attempts, podName: podName(name, attempts), podUID: `uid-${attempts}` },
    ...{ launchTime, history, observedGeneration: 1 },
  };
  await rig.client.patchStatus(ats, { namespace: rig.namespace, name }, { type: 'merge', body: { status } });
}

describe('the next attempt of an At with Retry', { concurrency: true }, () => {
  it('follows 10 s after the launch before, then twice as long each time, 6 minutes at the most', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advance } = await timeTravel(t);
    const launch = Date.now() + aheadMs;
    for (const attempts of Object.keys(waits)) {
      await attempted(rig, `at-${attempts}`, Number(attempts), launch);
    }
    const seenAt = new Map<string, number>();
    await rig.watch(t, pods, (_, { metadata: { name } }) => {
      if (!seenAt.has(name)) seenAt.set(name, options.clock.now());
    });
    await rig.startOperator(options);
    for (const [attempts, wait] of Object.entries(waits)) {
      const next = Number(attempts) + 1;
      const { status } = await rig.atWhen(
        'waiting',
        (at) => at.status?.history?.length === Number(attempts),
        `at-${attempts}`,
      );
      const follows = new Date(launch + wait * 1000).toISOString();
      assert.equal(status?.message, `attempt ${next} of 10 follows at ${follows}: the Pod is gone`);
      assert.deepEqual([status?.phase, status?.reason, status?.attempts], ['RUNNING', 'PodLost', next - 1]);
      assert.ok(await rig.isPodGone(podName(`at-${attempts}`, next)));
    }
    let passed = 0;
    await advance(aheadMs);
    for (const [attempts, wait] of Object.entries(waits)) {
      const next = Number(attempts) + 1;
      await advance(Math.max(0, wait * 1000 + 1 - passed));
      passed = wait * 1000 + 1;
      const { status } = await rig.atWhen(
        'in its next attempt',
        (at) => at.status?.attempts === next,
        `at-${attempts}`,
      );
      const name = podName(`at-${attempts}`, next);
      assert.equal(status?.podUID, (await rig.pod(name)).metadata.uid);
      const waited = (seenAt.get(name) ?? 0) - launch;
      assert.ok(waited >= wait * 1000, `attempt ${next} follows after ${waited} ms`);
    }
  });

  it('follows at once when it is the second', async (t) => {
    const rig = await AtRig.create(t);
    const { options, stopClock, startClock } = await timeTravel(t);
    const created = await rig.watchPods(t);
    await rig.startOperator(options);
    await rig.createAt({ disruptionPolicy: 'Retry' });
    await rig.inPhase('RUNNING');
    // From here on no wait of the operator is ever over.
    stopClock();
    const stoppedAt = options.clock.now();
    try {
      await rig.setPod({ phase: 'Failed', reason: 'Evicted' });
      const { status } = await rig.atWhen('in its second attempt', (at) => at.status?.attempts === 2);
      const { uid } = (await rig.pod('example-at-pod-2')).metadata;
      assert.deepEqual([status?.phase, status?.podUID], ['RUNNING', uid]);
      assert.equal(options.clock.now(), stoppedAt);
    } finally {
      startClock();
    }
    assert.equal(created.size, 2);
  });

  it('follows never once the At is being deleted', async (t) => {
    const rig = await AtRig.create(t);
    const created = await rig.watchPods(t);
    await attempted(rig, 'example-at', 3, Date.now() + aheadMs);
    await rig.startOperator();
    await rig.atWhen('waiting', ({ status }) => status?.reason === 'PodLost');
    await rig.holdAt(t);
    await rig.client.delete(ats, { namespace: rig.namespace, name: 'example-at' });
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual([status?.outcome, status?.reason, status?.attempts], ['Failed', 'PodLost', 3]);
    await rig.createAt({}, 'afterwards');
    await rig.inPhase('RUNNING', 'afterwards');
    await eventually(() => created.size > 0, { message: 'the Pod afterwards is seen' });
    assert.equal(created.size, 1);
  });

  it('follows never once the At is canceled', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advance } = await timeTravel(t);
    const created = await rig.watchPods(t);
    await attempted(rig, 'example-at', 3, Date.now() + aheadMs);
    await rig.startOperator(options);
    await rig.atWhen('waiting', ({ status }) => status?.reason === 'PodLost');
    await rig.editAt({ cancel: true });
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual([status?.outcome, status?.reason, status?.attempts], ['Canceled', 'Canceled', 3]);
    await advance(2 * aheadMs);
    await rig.createAt({ pendingTimeoutSeconds: 0 }, 'afterwards');
    await rig.inPhase('RUNNING', 'afterwards');
    await eventually(() => created.size > 0, { message: 'the Pod afterwards is seen' });
    assert.equal(created.size, 1);
  });
});
