/** Dry runs that are repeated while an At waits, on the real API server. */
import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { At } from '../../src/api/at.generated.ts';
import { findCondition } from '../../src/kubernetes/conditions.ts';
import { type Clock, systemClock } from '../../src/runtime/clock.ts';
import { resourceQuotas } from '../fixtures/cluster-resources.ts';
import { AtRig } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';

const hour = 3_600_000;

before(() => applyCrds());

/** The system's clock, of which the monotonic time can be set forward. */
class Ahead implements Clock {
  aheadMs = 0;
  readonly now = systemClock.now;
  readonly setTimer = systemClock.setTimer;
  readonly turn = systemClock.turn;

  monotonic(): number {
    return systemClock.monotonic() + this.aheadMs;
  }
}

const admitted = ({ status }: At) => {
  const found = findCondition(status?.conditions, 'PodAdmitted');
  return found && `${found.status} ${found.reason}`;
};

it('a refused dry run is repeated after an hour, and status says when it passes', async (t) => {
  const rig = await AtRig.create(t);
  const { client, namespace } = rig;
  const key = { namespace, name: 'none' };
  const hard = { pods: '0' };
  await client.create(resourceQuotas, { metadata: key, spec: { hard } });
  const inForce = async () => 'hard' in ((await client.get(resourceQuotas, key)).status ?? {});
  await eventually(inForce, { message: 'the quota is in force' });
  const clock = new Ahead();
  await rig.startOperator({ clock });
  await rig.createAt({ schedule: '2100-01-01T00:00:00Z' });
  const refused = await rig.atWhen('refused', (at) => admitted(at) === 'False PodRejected');
  assert.equal(refused.status?.reason, 'PodRejected');
  await client.delete(resourceQuotas, key);
  clock.aheadMs += 1.2 * hour;
  const passed = await rig.atWhen('admitted', (at) => admitted(at) === 'True Armed', undefined, 90_000);
  assert.equal(passed.status?.reason, 'Armed');
  assert.deepEqual(await rig.events(), ['PodRejected (W)']);
});
