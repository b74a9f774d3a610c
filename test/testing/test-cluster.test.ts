import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { configMaps, type KubernetesObject, type Resource } from '../../src/kubernetes/objects.ts';
import { controllerManagedBy } from '../../src/runtime/controller/builder.ts';
import { createManager } from '../../src/runtime/manager/create-manager.ts';
import { TestCluster } from '../../src/testing/test-cluster.ts';

interface Note extends KubernetesObject {
  readonly spec: { readonly text: string };
}
const notes: Resource<Note> = {
  ...{ group: 'example.com', version: 'v1', plural: 'notes', kind: 'Note', namespaced: true },
};
const crd = readFileSync('examples/notes/crd.yaml', 'utf8');
const metadata = { namespace: 'default', name: 'one' };

/** Reconciles Notes by `reconcile`. */
function run(cluster: TestCluster, reconcile: (name: string) => Promise<void>) {
  return cluster.run((options) => {
    const manager = createManager({ name: 'notes', ...options });
    controllerManagedBy(manager)
      .for(notes)
      .complete({
        reconcile: async ({ name }) => {
          await reconcile(name);
          return {};
        },
      });
    return manager;
  });
}

suite('TestCluster', () => {
  test('refuses what the schema of a CRD refuses', () => {
    const cluster = new TestCluster({ crds: [crd] });
    assert.throws(() => cluster.create(notes, { metadata, spec: { text: '' } }), /422.+spec\.text/);
    assert.equal(cluster.find(notes, metadata), undefined);
    assert.equal(cluster.create(notes, { metadata, spec: { text: 'a' } }).metadata.generation, 1);
  });

  test('has the user verbs', async () => {
    const cluster = new TestCluster({ namespaces: ['default', 'other'] });
    cluster.create(configMaps, { metadata, data: { a: '1' } });
    cluster.create(configMaps, { metadata: { ...metadata, namespace: 'other' } });
    assert.equal(cluster.patch(configMaps, metadata, { data: { a: '2' } }).data?.a, '2');
    assert.equal(cluster.list(configMaps).length, 2);
    cluster.delete(configMaps, metadata);
    assert.deepEqual(
      cluster.list(configMaps).map((object) => object.metadata.namespace),
      ['other'],
    );
    assert.throws(() => cluster.get(configMaps, metadata), /there is no ConfigMap one/);
  });

  test('says in a wait that failed what the operator has logged', async () => {
    const cluster = new TestCluster({ crds: [crd] });
    run(cluster, async () => {
      throw new Error('the reason');
    });
    cluster.create(notes, { metadata, spec: { text: 'a' } });
    await assert.rejects(
      cluster.until(() => false, 5000),
      /not within 5000 simulated ms.+reconcile failed.+the reason/s,
    );
  });

  test('gives the same story for the same seed, faults included', async () => {
    const story = async (seed: number) => {
      const cluster = new TestCluster({ seed, crds: [crd] });
      const seen: string[] = [];
      run(cluster, async (name) => {
        seen.push(`${cluster.now} ${name}`);
      });
      const calm = cluster.disturb();
      for (const name of ['a', 'b', 'c']) cluster.create(notes, { metadata: { name }, spec: { text: 'x' } });
      await cluster.pass(60_000);
      calm();
      await cluster.until(() => new Set(seen.map((line) => line.split(' ')[1])).size === 3);
      return { seen, hash: cluster.cluster.simulation.traceHash };
    };
    const first = await story(7);
    assert.deepEqual(await story(7), first);
    assert.notEqual((await story(8)).hash, first.hash);
  });

  test('runs Pods where there are nodes', async () => {
    const cluster = new TestCluster({ nodes: 1 });
    const pods: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };
    const spec = { containers: [{ name: 'main', image: 'busybox', command: ['sleep', 'infinity'] }] };
    cluster.create(pods, { metadata, ...{ spec } });
    const phase = () =>
      cluster.get<KubernetesObject & { status?: { phase?: string } }>(pods, metadata).status?.phase;
    await cluster.until(() => phase() === 'Running');
  });
});
