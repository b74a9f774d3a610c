/** What the whole life of an At costs, by the account of the API server: its audit log. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ats } from '../../src/api/resources.ts';
import { loadKubeConfig } from '../../src/runtime/client/load-kubeconfig.ts';
import { countByKind, requestsOf } from '../bench/at-audit.ts';
import { BenchApiServer } from '../bench/bench-api-server.ts';
import { AtRig } from './at-rig.ts';
import { eventually } from './support.ts';

let server: BenchApiServer;

before(async () => {
  server = await BenchApiServer.start();
  await eventually(() => server.client.list(ats), { message: 'Ats are served' });
});
after(() => server?.stop());

/** What is asked for the sake of one At, Events aside, which are sent when nothing else waits. */
async function requestsFor(namespace: string): Promise<readonly string[]> {
  const all = await requestsOf(server.plane.auditLog ?? '', /^atwatch-test/);
  const own = all.filter((one) => one.namespace === namespace && one.name.startsWith('example-at'));
  const counts = countByKind(own.filter(({ what }) => !what.endsWith(' events')));
  return [...counts].map(([what, count]) => `${count} ${what}`).sort();
}

const once = ['1 create pods', '1 create pods (dry run)', '3 patch ats/status'];

describe('a life from the acceptance to the end', { concurrency: true }, () => {
  for (const [launchGuarantee, expected] of [
    ['AtLeastOnce', once],
    ['ExactlyOnce', [...once.slice(0, 2), '2 patch pods', ...once.slice(2)]],
  ] as const) {
    const counts = expected.map((what) => Number.parseInt(what, 10));
    const count = counts.reduce((sum, one) => sum + one, 0);
    it(`costs ${count} requests with ${launchGuarantee}, and none of them reads`, async (t) => {
      const namespace = await server.namespace(launchGuarantee.toLowerCase());
      const kubeConfig = loadKubeConfig({ env: { KUBECONFIG: server.plane.kubeconfig } });
      const rig = new AtRig(server.client, kubeConfig, namespace);
      t.after(() => rig.stopOperators());
      await rig.startOperator();
      // Long enough ahead for its Pod to be tried before.
      await rig.createAt({ schedule: new Date(Date.now() + 20_000).toISOString(), launchGuarantee });
      await rig.inPhase('RUNNING', undefined, 60_000);
      const isReleased = async () => ((await rig.pod()).spec.schedulingGates ?? []).length === 0;
      await eventually(isReleased, { message: 'nothing keeps the Pod from its start' });
      await rig.start();
      await rig.exit(0);
      await rig.inPhase('DONE');
      const isLetGo = async () => ((await rig.pod()).metadata.finalizers ?? []).length === 0;
      await eventually(isLetGo, { message: 'nothing holds the Pod' });
      await rig.stopOperators();
      assert.deepEqual(await requestsFor(namespace), expected);
    });
  }
});
