/** What the operator was started with for fields that an At leaves open, on the real API server. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { before, it, type TestContext } from 'node:test';
import { spawnOperator } from '../../hack/operator-process.ts';
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

/** The built program, until the end of the test. */
function operate(t: TestContext, namespace: string): void {
  const { image, startingDeadlineSeconds, ttlSecondsAfterFinished, outputInStatus } = defaults;
  const flags = [
    `--namespaces=${namespace}`,
    `--at-default-image=${image}`,
    `--at-default-starting-deadline-seconds=${startingDeadlineSeconds}`,
    `--at-default-ttl-seconds-after-finished=${ttlSecondsAfterFinished}`,
    `--at-output-in-status=${outputInStatus}`,
  ];
  const operator = spawnOperator(process.env.KUBECONFIG ?? '', { flags });
  for (const stream of [operator.stdout, operator.stderr]) stream.resume();
  const closed = once(operator, 'close');
  t.after(async () => {
    operator.kill('SIGKILL');
    await closed;
  });
}

it('fills what an At leaves open by its flags, and status says which default has applied', async (t) => {
  const rig = await AtRig.create(t);
  const deleted: At[] = [];
  const watching = () =>
    rig.watch(t, ats, (type, at) => type === 'DELETED' && deleted.push(at)).then(() => true);
  // The API server goes over to a changed CRD.
  await eventually(watching, { message: 'Ats can be watched' });
  operate(t, rig.namespace);
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
  const open = ({ spec }: At) => [spec.image, spec.outputInStatus, spec.startingDeadlineSeconds];
  assert.deepEqual(open(failing), [undefined, undefined, undefined]);

  const own = { image: 'busybox:1', startingDeadlineSeconds: 7200, outputInStatus: true };
  await rig.createAt({ schedule, ttlSecondsAfterFinished: 600, backoffLimit: 0, ...own }, 'own');
  await rig.inPhase('RUNNING', 'own');
  assert.equal((await rig.pod('own-pod')).spec.containers[0]?.image, own.image);
  await rig.exit(3, 'own-pod', 'the password is x');
  const { status } = await rig.inPhase('DONE', 'own');
  assert.deepEqual([status?.operatorDefaults, status?.message], [undefined, 'the password is x']);

  await eventually(() => deleted.some(({ metadata }) => metadata.name === 'late'), {
    message: 'the missed At is deleted after the default time to live',
  });
  const [missed] = deleted;
  assert.equal(missed?.status?.outcome, 'Missed');
  assert.deepEqual([...open(missed), missed.spec.ttlSecondsAfterFinished], Array(4).fill(undefined));
  const { startingDeadlineSeconds, ttlSecondsAfterFinished } = defaults;
  assert.deepEqual(missed.status.operatorDefaults, { startingDeadlineSeconds, ttlSecondsAfterFinished });
  assert.equal((await rig.at('failing')).status?.phase, 'DONE');
});
