/** What the whole life of an At costs, and what many cost together, by the account of the API server: its audit log. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { ats } from '../../src/api/resources.ts';
import { loadKubeConfig } from '../../src/runtime/client/load-kubeconfig.ts';
import { countByKind, requestsOf } from '../bench/at-audit.ts';
import { BenchApiServer } from '../bench/bench-api-server.ts';
import { inParallel } from '../fixtures/in-parallel.ts';
import { AtRig } from './at-rig.ts';
import { eventually } from './support.ts';

let server: BenchApiServer;

before(async () => {
  server = await BenchApiServer.start();
  await eventually(() => server.client.list(ats), { message: 'Ats are served' });
});
after(() => server?.stop());

/** A namespace of the audited API server, and no operator in it yet. */
async function audited(t: TestContext, name: string): Promise<AtRig> {
  const namespace = await server.namespace(name);
  const kubeConfig = loadKubeConfig({ env: { KUBECONFIG: server.plane.kubeconfig } });
  const rig = new AtRig(server.client, kubeConfig, namespace);
  t.after(() => rig.stopOperators());
  return rig;
}

/** What is asked for the sake of one At, Events aside, which are sent when nothing else waits. */
async function requestsFor(namespace: string): Promise<readonly string[]> {
  const all = await requestsOf(server.plane.auditLog ?? '', /^atwatch-test/);
  const own = all.filter((one) => one.namespace === namespace && one.name.startsWith('example-at'));
  const counts = countByKind(own.filter(({ what }) => !what.endsWith(' events')));
  return [...counts].map(([what, count]) => `${count} ${what}`).sort();
}

/** The API server may tell of a request only after its effect can be seen. */
async function assertRequests(namespace: string, expected: readonly string[]): Promise<void> {
  const areAll = async () => {
    assert.deepEqual(await requestsFor(namespace), expected);
    return true;
  };
  await eventually(areAll, { message: 'the requests are as expected' });
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
      const rig = await audited(t, launchGuarantee.toLowerCase());
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
      await assertRequests(rig.namespace, expected);
    });
  }

  it('costs three requests when the At is due at its creation: no dry run, and no acceptance', async (t) => {
    const rig = await audited(t, 'due');
    await rig.startOperator();
    await rig.createAt();
    await rig.inPhase('RUNNING');
    await rig.start();
    await rig.exit(0);
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
    await rig.stopOperators();
    await assertRequests(rig.namespace, ['1 create pods', '2 patch ats/status']);
  });

  it('costs one request when the Pod has ended before its launch could be recorded', async (t) => {
    const rig = await audited(t, 'ended');
    const phases = new Set<string | undefined>();
    await rig.watch(t, ats, (_, { status }) => phases.add(status?.phase));
    // An operator has created the Pod, and was gone before it could write RUNNING.
    await rig.createAt();
    await rig.createPodOf();
    await rig.exit(0);
    await rig.startOperator();
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual([status?.outcome, status?.podName], ['Succeeded', 'example-at-pod']);
    await eventually(() => phases.has('DONE'), { message: 'the watch shows the end' });
    await rig.stopOperators();
    assert.deepEqual([...phases], ['PENDING', 'DONE']);
    await assertRequests(rig.namespace, ['1 patch ats/status']);
  });
});

/** Ats looked at at the same time: so many creates can be on their way when the first status is sent. */
const workers = 32;
const crowd = 200;
const crowdNames = Array.from({ length: crowd }, (_, index) => `example-at-${index}`);

/** How they come to be due together, in a namespace that has none yet. */
const crowds: Readonly<Record<string, (rig: AtRig) => Promise<unknown>>> = {
  'fall due at one instant': async (rig) => {
    await rig.startOperator();
    const areAccepted = async (generation: number) =>
      eventually(
        async () =>
          (await rig.client.list(ats, { namespace: rig.namespace })).items.every(
            ({ status }) => status?.observedGeneration === generation,
          ),
        { timeout: 60_000, message: 'all are accepted' },
      );
    const begun = performance.now();
    await inParallel(crowd, 24, (index) =>
      rig.createAt({ schedule: '2100-01-01T00:00:00Z' }, crowdNames[index]),
    );
    await areAccepted(1);
    const due = Math.ceil(Date.now() + 10_000 + 3 * (performance.now() - begun));
    const schedule = new Date(due).toISOString();
    await inParallel(crowd, 24, (index) => rig.editAt({ schedule }, crowdNames[index]));
    await areAccepted(2);
    assert.ok(Date.now() < due, 'this machine is too slow to prepare the Ats in time');
  },
  'are found due by a new process': async (rig) => {
    await inParallel(crowd, 24, (index) => rig.createAt({}, crowdNames[index]));
    await rig.startOperator();
  },
};

it('each create of a Pod asks for an answer within 4 s', async (t) => {
  const rig = await audited(t, 'timeout');
  await rig.startOperator();
  for (const launchGuarantee of ['AtLeastOnce', 'ExactlyOnce'] as const) {
    await rig.createAt({ launchGuarantee }, launchGuarantee.toLowerCase());
    await rig.inPhase('RUNNING', launchGuarantee.toLowerCase());
  }
  await rig.stopOperators();
  const timeouts = async () => {
    const all = await requestsOf(server.plane.auditLog ?? '', /^atwatch-test/);
    const creates = all.filter(
      ({ what, namespace }) => what === 'create pods' && namespace === rig.namespace,
    );
    return creates.length === 2 && creates.map(({ timeout }) => timeout);
  };
  const asked = await eventually(timeouts, { message: 'both creates are in the audit log' });
  assert.deepEqual(asked, ['4s', '4s']);
});

describe('two hundred Ats', { concurrency: true }, () => {
  for (const [how, prepare] of Object.entries(crowds)) {
    it(`that ${how} have all their Pods created before a status says that one runs`, async (t) => {
      const rig = await audited(t, how.replaceAll(' ', '-'));
      await prepare(rig);
      for (const name of crowdNames) await rig.inPhase('RUNNING', name, 90_000);
      await rig.stopOperators();
      const all = await requestsOf(server.plane.auditLog ?? '', /^atwatch-test/);
      const own = all.filter(({ namespace }) => namespace === rig.namespace);
      const creates = own.filter(({ what }) => what === 'create pods').map(({ received }) => received);
      assert.equal(creates.length, crowd);
      const first = Math.min(...creates);
      // What accepts them comes before.
      const statuses = own.filter(({ what, received }) => what === 'patch ats/status' && received > first);
      const told = Math.min(...statuses.map(({ received }) => received));
      const later = creates.filter((received) => received > told).length;
      t.diagnostic(`${later} of ${crowd} Pods were created after the first status`);
      assert.ok(later <= workers, `${later} of ${crowd} Pods were created after the first status`);
    });
  }
});
