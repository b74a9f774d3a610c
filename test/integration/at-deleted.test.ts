/** An At that is deleted while it waits for its time, on a real API server: nothing of it runs. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { ats } from '../../src/api/resources.ts';
import type { Pod } from '../../src/kubernetes/objects.ts';
import { AtRig } from './at-rig.ts';
import { Hold } from './hostile-proxy.ts';
import { applyCrds, eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

before(() => applyCrds());

const minute = 60_000;

function namesOf(pods: ReadonlyMap<string, Pod>): string[] {
  return [...pods.values()].map(({ metadata }) => metadata.name);
}

/** Two accepted Ats that fall due in a minute, the one to be deleted before the other, and all Pods. */
async function armed(t: TestContext, launchGuarantee: 'AtLeastOnce' | 'ExactlyOnce') {
  const rig = await AtRig.create(t);
  const { proxy, options, advance } = await timeTravel(t);
  const hold = new Hold();
  proxy.treat = ({ path, query }) =>
    path.endsWith('/ats') && query.has('watch') ? { through: hold.through() } : undefined;
  const { created, released } = await rig.watchReleases(t);
  await rig.startOperator(options);
  const due = Date.now() + minute;
  for (const [name, time] of [
    ['deleted', due],
    ['probe', due + 1000],
  ] as const) {
    await rig.createAt({ schedule: new Date(time).toISOString(), launchGuarantee }, name);
    await rig.atWhen('accepted', ({ status }) => status?.reason === 'Armed', name);
  }
  const deleteIt = () => rig.client.delete(ats, { namespace: rig.namespace, name: 'deleted' });
  /** Resolves when the time of both has passed, and the Pod of the other could be had by a node. */
  const passTime = async () => {
    await advance(minute);
    await eventually(() => namesOf(released).includes('probe-pod'), { message: 'the later At runs' });
  };
  return { rig, hold, created, released, deleteIt, passTime };
}

describe('an At that is deleted before its time', { concurrency: true }, () => {
  for (const launchGuarantee of ['AtLeastOnce', 'ExactlyOnce'] as const) {
    it(`runs nothing (${launchGuarantee})`, async (t) => {
      const { rig, created, deleteIt, passTime } = await armed(t, launchGuarantee);
      await deleteIt();
      // By the time it accepts an At that was created after that, the operator has seen the deletion.
      await rig.createAt({ schedule: '2100-01-01T00:00:00Z' }, 'later');
      await rig.atWhen('accepted', ({ status }) => status?.reason === 'Armed', 'later');
      await passTime();
      assert.deepEqual(namesOf(created), ['probe-pod']);
    });
  }

  it('runs nothing where the operator does not see that (ExactlyOnce)', async (t) => {
    const { rig, hold, released, deleteIt, passTime } = await armed(t, 'ExactlyOnce');
    hold.begin();
    await deleteIt();
    await passTime();
    // The Pod may be created: that starts nothing.
    assert.deepEqual(namesOf(released), ['probe-pod']);
    hold.end();
    // The garbage collector deletes it, which may take that a while to learn of a new kind.
    const isFree = async () =>
      (await rig.isPodGone('deleted-pod')) ||
      (await rig.pod('deleted-pod')).metadata.finalizers === undefined;
    await eventually(isFree, { message: 'nothing holds the Pod' });
    assert.deepEqual(namesOf(released), ['probe-pod']);
  });
});
