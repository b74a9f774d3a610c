/** What counts as a disruption of a run, on a real API server. The kubelet's part is the test's. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { AtStatus } from '../../src/api/at.generated.ts';
import { type PodStatus, pods } from '../../src/kubernetes/objects.ts';
import { AtRig, seconds } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

before(() => applyCrds());

const ended = (exitCode: number): PodStatus => {
  const time = seconds(Date.now());
  const terminated = { exitCode, reason: 'Error', startedAt: time, finishedAt: time };
  const main = { name: 'busybox', image: 'busybox', imageID: '', ready: false, restartCount: 0 };
  return { phase: 'Failed', startTime: time, containerStatuses: [{ ...main, state: { terminated } }] };
};
const targeted = { conditions: [{ type: 'DisruptionTarget', status: 'True' }] } as const;

/** By name of the At: what its Pod says, and the outcome and reason that follow. */
const rows: Readonly<Record<string, readonly [PodStatus, string]>> = {
  ...Object.fromEntries(
    [
      ...['Evicted', 'Preempting', 'NodeLost', 'Terminated', 'NodeAffinity'],
      ...['UnexpectedAdmissionError', 'OutOfcpu', 'OutOfephemeral-storage'],
    ].map((reason) => [reason.toLowerCase(), [{ phase: 'Failed', reason }, 'Failed Evicted']]),
  ),
  target: [{ ...ended(143), ...targeted }, 'Failed Evicted'],
  'target-done': [{ ...ended(0), ...targeted }, 'Succeeded Succeeded'],
  'evicted-done': [{ ...ended(0), reason: 'Evicted' }, 'Succeeded Succeeded'],
  other: [{ ...ended(143), reason: 'SomethingElse' }, 'Failed CommandFailed'],
};

const endOf = ({ outcome, reason }: AtStatus = {}) => `${outcome} ${reason}`;

describe('the end of a Pod', { concurrency: true }, () => {
  it('is a disruption for each reason of a kubelet, a scheduler or a node controller, but with exit code 0', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    await Promise.all(
      Object.entries(rows).map(async ([name, [podStatus, end]]) => {
        await rig.createAt({}, name);
        await rig.inPhase('RUNNING', name);
        await rig.setPod(podStatus, `${name}-pod`);
        const { status } = await rig.inPhase('DONE', name);
        assert.equal(endOf(status), end, name);
      }),
    );
  });

  it('is a loss where the Pod failed after it was deleted', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    await rig.createAt();
    await rig.inPhase('RUNNING');
    await rig.bind(t);
    await rig.start();
    await rig.client.delete(pods, { namespace: rig.namespace, name: 'example-at-pod' });
    await rig.exit(143);
    assert.equal(endOf((await rig.inPhase('DONE')).status), 'Failed PodLost');
  });

  it('is awaited for 60 s after a deletion by force, where the finalizer holds the Pod', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advance } = await timeTravel(t);
    await rig.startOperator(options);
    const key = (name: string) => ({ namespace: rig.namespace, name: `${name}-pod` });
    for (const name of ['told', 'lost']) {
      await rig.createAt({ launchGuarantee: 'ExactlyOnce' }, name);
      await eventually(async () => (await rig.pod(`${name}-pod`)).spec.schedulingGates === undefined, {
        message: 'the Pod is released',
      });
      await rig.bind(t, `${name}-pod`);
      await rig.start(`${name}-pod`);
      await rig.client.delete(pods, key(name), { gracePeriodSeconds: 0 });
      assert.equal((await rig.pod(`${name}-pod`)).metadata.deletionGracePeriodSeconds, 0);
    }
    await rig.exit(0, 'told-pod');
    assert.equal(endOf((await rig.inPhase('DONE', 'told')).status), 'Succeeded Succeeded');
    await advance(30_000);
    // It is looked at, and the rest has been done before a later At is launched.
    await rig.editAt({ ttlSecondsAfterFinished: 3600 }, 'lost');
    await rig.atWhen('seen', ({ status }) => status?.observedGeneration === 2, 'lost');
    assert.equal((await rig.at('lost')).status?.phase, 'RUNNING');
    await advance(31_000);
    assert.equal(endOf((await rig.inPhase('DONE', 'lost')).status), 'Failed PodLost');
    await eventually(() => rig.isPodGone('lost-pod'), { message: 'the Pod is let go' });
  });
});
