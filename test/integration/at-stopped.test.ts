/** At, when its operator is stopped (SIGSTOP: a debugger, a frozen container) over the time at which it is due. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { startOperator } from '../../hack/operator-process.ts';
import { AtRig } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';

before(() => applyCrds());

test('a process that was stopped over the due time launches once, late, and says so', async (t) => {
  const rig = await AtRig.create(t);
  const directory = await mkdtemp(join(tmpdir(), 'atwatch-stopped-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const log = join(directory, 'operator.log');
  const operator = await startOperator(process.env.KUBECONFIG ?? '', log, [`--namespaces=${rig.namespace}`]);
  t.after(() => operator.stop());
  const due = Math.ceil(Date.now() / 1000) * 1000 + 4000;
  await rig.createAt({ schedule: new Date(due).toISOString() });
  await rig.atWhen('accepted', ({ status }) => status?.observedGeneration === 1);
  operator.process.kill('SIGSTOP');
  // A stopped process cannot end: whatever happens, it goes on before the test waits for its end.
  t.after(() => operator.process.kill('SIGCONT'));
  await eventually(() => Date.now() > due + 6000, { timeout: 30_000, message: 'the At is overdue' });
  assert.equal(await rig.isPodGone(), true);
  operator.process.kill('SIGCONT');
  const { status } = await rig.inPhase('RUNNING', undefined, 30_000);
  assert.ok((status?.latenessMilliseconds ?? 0) >= 6000);
  assert.equal(status?.podUID, (await rig.pod()).metadata.uid);
  const told = async () => (await rig.events()).includes('LaunchedLate (W)');
  await eventually(told, { message: 'the Event of a late launch' });
});
