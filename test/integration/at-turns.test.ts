/** Ats that wait for their turn to be created, where a quota refuses all of a namespace: on a real API server. */
import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { ats } from '../../src/api/resources.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { resourceQuotas } from '../fixtures/cluster-resources.ts';
import { AtRig } from './at-rig.ts';
import { imposeQuota } from './quota.ts';
import { applyCrds, eventually } from './support.ts';

before(() => applyCrds());

/** Enough that one of them asks for all. */
const refused = 20;
const wanted = ['at-17', 'at-18', 'at-19'];

for (const [what, edit] of [
  ['rescheduled', { schedule: new Date(Date.now() + 86_400_000).toISOString() }],
  ['suspended', { suspend: true }],
  ['canceled', { cancel: true }],
] as const) {
  it(`Ats that are ${what} while a quota refuses them hold up none of the others`, async (t) => {
    const rig = await AtRig.create(t);
    const { client, namespace } = rig;
    const quota = await imposeQuota(rig, { pods: '0' });
    await rig.startOperator();
    const names = Array.from({ length: refused }, (_, index) => `at-${index}`);
    await Promise.all(names.map((name) => rig.createAt({}, name)));
    const isRefused = ({ status }: { status?: { reason?: string } }) => status?.reason === 'PodRejected';
    await Promise.all(names.map((name) => rig.atWhen('refused', isRefused, name)));
    const others = names.filter((name) => !wanted.includes(name));
    const body = { spec: edit };
    await Promise.all(others.map((name) => client.patch(ats, { namespace, name }, { type: 'merge', body })));
    const isSeen = ({ status }: { status?: { observedGeneration?: number } }) =>
      status?.observedGeneration === 2;
    await Promise.all(others.map((name) => rig.atWhen('its edit is seen', isSeen, name)));
    await client.delete(resourceQuotas, quota);
    const made = async () => {
      const { items } = await client.list(pods, { namespace });
      return items.map(({ metadata }) => metadata.name.replace(/-pod$/, '')).sort();
    };
    await eventually(async () => (await made()).length === wanted.length, {
      timeout: 25_000,
      message: 'the others run',
    });
    assert.deepEqual(await made(), wanted);
  });
}
