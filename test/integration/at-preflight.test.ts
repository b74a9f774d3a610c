/** Dry runs that are repeated while an At waits, on the real API server. */
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { before, describe, it } from 'node:test';
import type { At } from '../../src/api/at.generated.ts';
import { findCondition } from '../../src/kubernetes/conditions.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { resourceQuotas } from '../fixtures/cluster-resources.ts';
import { AtRig } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

const minute = 60_000;

before(() => applyCrds());

const admitted = ({ status }: At) => {
  const found = findCondition(status?.conditions, 'PodAdmitted');
  return found && `${found.status} ${found.reason}`;
};

/** No Pod fits from now on. Returns what removes the quota. */
async function fillQuota({ client, namespace }: AtRig): Promise<() => Promise<unknown>> {
  const key = { namespace, name: 'none' };
  await client.create(resourceQuotas, { metadata: key, spec: { hard: { pods: '0' } } });
  const inForce = async () => 'hard' in ((await client.get(resourceQuotas, key)).status ?? {});
  await eventually(inForce, { message: 'the quota is in force' });
  const probe = { metadata: { namespace, name: 'probe' }, spec: { containers: [{ name: 'a', image: 'a' }] } };
  // Admission has a memory of its own of what quotas there are.
  const isRefused = () =>
    client.create(pods, probe, { dryRun: true }).then(
      () => false,
      () => true,
    );
  await eventually(isRefused, { message: 'admission refuses Pods' });
  return async () => {
    await client.delete(resourceQuotas, key);
    await eventually(async () => !(await isRefused()), { message: 'admission takes Pods again' });
  };
}

describe('a dry run of the Pod', { concurrency: true }, () => {
  it('that was refused is repeated after an hour, and status says when it passes', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advance } = await timeTravel(t);
    const emptyQuota = await fillQuota(rig);
    await rig.startOperator(options);
    await rig.createAt({ schedule: '2100-01-01T00:00:00Z' });
    const refused = await rig.atWhen('refused', (at) => admitted(at) === 'False PodRejected');
    assert.equal(refused.status?.reason, 'PodRejected');
    await emptyQuota();
    await advance(70 * minute);
    const passed = await rig.atWhen('admitted', (at) => admitted(at) === 'True Armed');
    assert.equal(passed.status?.reason, 'Armed');
    const told = async () => (await rig.events()).length > 0 && rig.events();
    assert.deepEqual(await eventually(told, { message: 'its Event' }), ['PodRejected (W)']);
  });

  it('that was refused counts no more once the Pod is created', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advance } = await timeTravel(t);
    const emptyQuota = await fillQuota(rig);
    await rig.startOperator(options);
    await rig.createAt({ schedule: new Date(Date.now() + 10 * minute).toISOString() });
    await rig.atWhen('refused', (at) => admitted(at) === 'False PodRejected');
    await emptyQuota();
    await advance(11 * minute);
    assert.equal(admitted(await rig.inPhase('RUNNING')), 'True Launched');
  });

  it('that is old is repeated five minutes before the At is due, and tells what has come between', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advance, proxy } = await timeTravel(t);
    let dryRuns = 0;
    proxy.treat = ({ query }) =>
      query.get('dryRun') === 'All' ? { through: new PassThrough().on('end', () => dryRuns++) } : undefined;
    await rig.startOperator(options);
    await rig.createAt({ schedule: new Date(Date.now() + 120 * minute).toISOString() });
    await rig.atWhen('accepted', ({ status }) => status?.reason === 'Armed');
    await eventually(() => dryRuns === 1, { message: 'the first dry run' });
    await fillQuota(rig);
    await advance(110 * minute);
    assert.equal(admitted(await rig.at()), undefined);
    await advance(6 * minute);
    const refused = await rig.atWhen('refused', (at) => admitted(at) === 'False PodRejected');
    assert.deepEqual([refused.status?.phase, refused.status?.reason], ['PENDING', 'PodRejected']);
    assert.equal(dryRuns, 2);
    const told = async () => (await rig.events()).length > 0 && rig.events();
    assert.deepEqual(await eventually(told, { message: 'its Event' }), ['PodRejected (W)']);
  });
});
