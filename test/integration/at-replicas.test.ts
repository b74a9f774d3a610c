/** At with three operators at work at the same time and no election: each runs once (B11). */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { AtSpec } from '../../src/api/at.generated.ts';
import { AtRig, seconds } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';

before(() => applyCrds());

const guarantees: readonly Partial<AtSpec>[] = [
  {},
  { launchGuarantee: 'ExactlyOnce' },
  { disruptionPolicy: 'Retry' },
];
/** Enough for each operator to meet the others at most of them. */
const atsOfEach = 8;

/** Ats of each sort, with these words in their specs. Returns their names. */
async function createAts(rig: AtRig, what: string, spec: Partial<AtSpec>): Promise<string[]> {
  const names = guarantees.flatMap((guarantee, sort) =>
    Array.from({ length: atsOfEach }, (_, index) => ({ name: `${what}-${sort}-${index}`, guarantee })),
  );
  await Promise.all(names.map(({ name, guarantee }) => rig.createAt({ ...guarantee, ...spec }, name)));
  return names.map(({ name }) => name);
}

async function startThree(rig: AtRig): Promise<void> {
  await Promise.all([rig.startOperator(), rig.startOperator(), rig.startOperator()]);
}

/** All of them run, each in the one Pod that there ever was. */
async function assertOnce(rig: AtRig, names: readonly string[], created: ReadonlySet<string>): Promise<void> {
  for (const name of names) {
    const { status } = await rig.atWhen('launched', (at) => at.status?.podUID !== undefined, name, 60_000);
    assert.equal(status?.phase, 'RUNNING', name);
    assert.equal(status?.podUID, (await rig.pod(`${name}-pod`)).metadata.uid, name);
    assert.equal(status?.attempts, 1, name);
  }
  await eventually(() => created.size >= names.length, { message: 'every Pod has been seen' });
  assert.equal(created.size, names.length, 'one Pod each');
}

describe('At with three operators', { concurrency: true }, () => {
  it('runs once when it becomes due under their eyes', async (t) => {
    const rig = await AtRig.create(t);
    const created = await rig.watchPods(t);
    await startThree(rig);
    const names = await createAts(rig, 'fresh', { schedule: seconds(Date.now() + 4000) });
    await assertOnce(rig, names, created);
  });

  it('runs once when they find it overdue', async (t) => {
    const rig = await AtRig.create(t);
    const created = await rig.watchPods(t);
    const names = await createAts(rig, 'overdue', {});
    await startThree(rig);
    await assertOnce(rig, names, created);
  });

  it('is tried again once when its Pod is evicted under their eyes, and not at all without Retry', async (t) => {
    const rig = await AtRig.create(t);
    const created = await rig.watchPods(t);
    await startThree(rig);
    const names = await createAts(rig, 'evicted', {});
    await assertOnce(rig, names, created);
    for (const name of names) await rig.setPod({ phase: 'Failed', reason: 'Evicted' }, `${name}-pod`);
    const retried = names.filter((name) => name.startsWith('evicted-2-'));
    for (const name of names) {
      if (retried.includes(name)) {
        const again = await rig.atWhen('tried again', (at) => at.status?.attempts === 2, name, 60_000);
        assert.equal(again.status?.podUID, (await rig.pod(`${name}-pod-2`)).metadata.uid, name);
      } else {
        assert.equal((await rig.inPhase('DONE', name, 60_000)).status?.reason, 'Evicted', name);
      }
    }
    const all = names.length + retried.length;
    await eventually(() => created.size >= all, { message: 'every Pod has been seen' });
    assert.equal(created.size, all, 'one Pod for each attempt');
  });
});
