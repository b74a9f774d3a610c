/** What the client offers for writing, on a real API server. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import {
  type ConfigMap,
  configMaps,
  type KubernetesObject,
  pods,
  type Resource,
} from '../../src/kubernetes/objects.ts';
import { isConflict, isInvalid } from '../../src/runtime/client/api-error.ts';
import { finalizerPatch } from '../../src/runtime/client/finalizer.ts';
import { statusPatch } from '../../src/runtime/client/patch.ts';
import { widgets, widgetsDefinition } from '../conformance/subject.ts';
import { applyCrd, connectToTestCluster, eventually, withNamespace } from './support.ts';

interface Deployment extends KubernetesObject {
  readonly spec: object;
}

const deployments: Resource<Deployment> = {
  ...{ group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment', namespaced: true },
};
const serviceAccounts: Resource = {
  ...{ group: '', version: 'v1', plural: 'serviceaccounts', kind: 'ServiceAccount', namespaced: true },
};

const { client } = connectToTestCluster();
before(() => applyCrd(client, widgetsDefinition));

test('apply needs neither apiVersion nor kind, and tells of the fields of others', async (t) => {
  const namespace = await withNamespace(t);
  const metadata = { namespace, name: 'a' };
  const made = await client.apply(configMaps, { metadata, data: { a: '1', b: '1' } });
  assert.deepEqual(made.data, { a: '1', b: '1' });
  assert.deepEqual((await client.apply(configMaps, { metadata, data: { a: '2' } })).data, { a: '2' });
  const theirs = { metadata, data: { a: '3' } };
  await assert.rejects(client.apply(configMaps, theirs, { fieldManager: 'other' }), isConflict);
  const taken = await client.apply(configMaps, theirs, { fieldManager: 'other', force: true });
  assert.deepEqual(taken.data, { a: '3' });
  const body = { metadata, data: { c: '1' } };
  const patched = await client.patch(configMaps, metadata, { type: 'apply', fieldManager: 'third', body });
  assert.deepEqual(patched.data, { a: '3', c: '1' });
});

test('apply of the status leaves the spec alone', async (t) => {
  const namespace = await withNamespace(t);
  const metadata = { namespace, name: 'a' };
  await client.apply(widgets, { metadata, spec: { size: 1 } });
  const applied = await client.apply(widgets, { metadata, status: { count: 2 } }, { subresource: 'status' });
  assert.deepEqual([applied.spec, applied.status], [{ size: 1 }, { count: 2 }]);
});

test('status and finalizer patches are refused once the object has changed', async (t) => {
  const namespace = await withNamespace(t);
  const key = { namespace, name: 'a' };
  const widget = await client.create(widgets, { metadata: key, spec: { size: 1 } });
  const written = await client.patchStatus(widgets, key, statusPatch(widget, { count: 1 }));
  assert.equal(written.status?.count, 1);
  await assert.rejects(client.patchStatus(widgets, key, statusPatch(widget, { count: 2 })), isConflict);
  const name = 'conformance.example.com/f';
  const stale = finalizerPatch(widget, name, 'present');
  const fresh = finalizerPatch(written, name, 'present');
  assert.ok(stale && fresh);
  await assert.rejects(client.patch(widgets, key, stale), isInvalid);
  const held = await client.patch(widgets, key, fresh);
  assert.deepEqual(held.metadata.finalizers, [name]);
  const removal = finalizerPatch(held, name, 'absent');
  assert.ok(removal);
  assert.equal((await client.patch(widgets, key, removal)).metadata.finalizers, undefined);
});

test('the server makes a name of generateName; pages hold each object once; a collection is deleted', async (t) => {
  const namespace = await withNamespace(t);
  const names: string[] = [];
  for (let i = 0; i < 5; i++) {
    const metadata = { namespace, generateName: 'page-', labels: { of: 'pages' } };
    const { metadata: made } = await client.create(configMaps, { metadata });
    assert.match(made.name, /^page-.+/);
    names.push(made.name);
  }
  await client.create(configMaps, { metadata: { namespace, name: 'other' } });
  const found: ConfigMap[][] = [];
  const options = { namespace, labelSelector: 'of=pages', limit: 2 };
  for await (const { items } of client.pages(configMaps, options)) found.push(items);
  assert.deepEqual(
    found.map(({ length }) => length),
    [2, 2, 1],
  );
  assert.deepEqual(
    found
      .flat()
      .map(({ metadata }) => metadata.name)
      .sort(),
    names.sort(),
  );
  assert.equal(found[0]?.[0]?.kind, 'ConfigMap');

  await assert.rejects(async () => client.deleteCollection(configMaps, {}), /a namespace is needed/);
  await client.deleteCollection(configMaps, { namespace, labelSelector: 'of=pages', dryRun: true });
  assert.equal((await client.list(configMaps, { namespace, labelSelector: 'of=pages' })).items.length, 5);
  await client.deleteCollection(configMaps, { namespace, labelSelector: 'of=pages' });
  assert.equal((await client.list(configMaps, { namespace, labelSelector: 'of=pages' })).items.length, 0);
  assert.ok(await client.get(configMaps, { namespace, name: 'other' }));
});

test('subresources: scale, token, eviction', async (t) => {
  const namespace = await withNamespace(t);
  const key = { namespace, name: 'a' };
  const labels = { app: 'a' };
  const containers = [{ name: 'main', image: 'busybox' }];
  const template = { metadata: { labels }, spec: { containers } };
  await client.create(deployments, {
    metadata: key,
    spec: { replicas: 2, selector: { matchLabels: labels }, template },
  });
  const scale = client.subresource(deployments, key, 'scale');
  const current = await scale.get();
  assert.deepEqual([current.kind, current.spec?.replicas], ['Scale', 2]);
  // The Deployment's controller writes to it as well.
  const updated = await eventually(async () =>
    scale.update({ ...(await scale.get()), spec: { replicas: 3 } }),
  );
  assert.equal(updated.spec?.replicas, 3);
  assert.equal((await scale.patch({ type: 'merge', body: { spec: { replicas: 4 } } })).spec?.replicas, 4);
  await assert.rejects(scale.update({ ...current, spec: { replicas: 5 } }), isConflict);

  await client.create(serviceAccounts, { metadata: key });
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 600 },
  };
  const token = client.subresource<typeof request & { status?: { token: string } }>(
    serviceAccounts,
    key,
    'token',
  );
  assert.match((await token.create(request)).status?.token ?? '', /^ey/);

  const pod = { metadata: key, spec: { containers } };
  await eventually(async () => (await client.create(pods, pod)) && true, { message: 'the Pod is created' });
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: key };
  await client.subresource(pods, key, 'eviction').create(eviction);
  await assert.rejects(client.get(pods, key), { code: 404 });
});
