/** What the operator was started with for fields that an At leaves open, on the real API server. */
import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { At } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import { AtRig } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';

before(() => applyCrds());

const defaults = {
  image: 'registry.example/tools:1',
  startingDeadlineSeconds: 3600,
  ttlSecondsAfterFinished: 1,
  outputInStatus: false,
};

it('fills what an At leaves open, and status says which default has applied', async (t) => {
  const rig = await AtRig.create(t);
  const deleted: At[] = [];
  const watching = () =>
    rig.watch(t, ats, (type, at) => type === 'DELETED' && deleted.push(at)).then(() => true);
  // The API server goes over to a changed CRD.
  await eventually(watching, { message: 'Ats can be watched' });
  await rig.startOperator({ defaults });
  const schedule = new Date().toISOString();
  await rig.createAt({ schedule, ttlSecondsAfterFinished: 600 }, 'failing');
  await rig.createAt({}, 'late');
  await rig.inPhase('RUNNING', 'failing');
  assert.equal((await rig.pod('failing-pod')).spec.containers[0]?.image, defaults.image);
  await rig.exit(3, 'failing-pod', 'the password is x');
  const failing = await rig.inPhase('DONE', 'failing');
  const { image, outputInStatus } = defaults;
  assert.deepEqual(failing.status?.operatorDefaults, { image, outputInStatus });
  assert.doesNotMatch(JSON.stringify(failing.status), /password/);
  assert.deepEqual([failing.spec.image, failing.spec.outputInStatus], [undefined, undefined]);

  await eventually(() => deleted.some(({ metadata }) => metadata.name === 'late'), {
    message: 'the missed At is deleted after the default time to live',
  });
  const [missed] = deleted;
  assert.equal(missed?.status?.outcome, 'Missed');
  const { startingDeadlineSeconds, ttlSecondsAfterFinished } = defaults;
  assert.deepEqual(missed.status.operatorDefaults, { startingDeadlineSeconds, ttlSecondsAfterFinished });
  assert.equal((await rig.at('failing')).status?.phase, 'DONE');
});
