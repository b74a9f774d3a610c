/**
 * Conformance of writes: versions, uids, generation, status, patches, finalizers.
 */
import assert from 'node:assert/strict';
import { configMaps, type ManagedFieldsEntry } from '../../src/kubernetes/objects.ts';
import {
  ApiError,
  isAlreadyExists,
  isConflict,
  isInvalid,
  isNotFound,
} from '../../src/runtime/client/api-error.ts';
import { type ConformanceRow, eventually, keyOf, newWidget, type Widget, widgets } from './subject.ts';

const missing = { name: 'missing' };

function failsWith(is: (error: unknown) => boolean): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof ApiError, `an ApiError, not ${error}`);
    assert.ok(is(error), `${error.code} ${error.reason}: ${error.message}`);
    return true;
  };
}

export const writeRows: readonly ConformanceRow[] = [
  {
    title: 'create fills in uid, version, generation and creation time, and drops the status',
    async run({ client, namespace }) {
      const created = await client.create(widgets, newWidget(namespace, { status: { phase: 'Forged' } }));
      assert.match(created.metadata.uid ?? '', /^[0-9a-f-]{36}$/);
      assert.match(created.metadata.resourceVersion ?? '', /^\d+$/);
      assert.match(created.metadata.creationTimestamp ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      assert.equal(created.metadata.generation, 1);
      assert.equal(created.status, undefined);
      assert.equal(created.kind, 'Widget');
      assert.equal(created.apiVersion, 'conformance.example.com/v1');
    },
  },
  {
    title: 'create makes a name of generateName',
    async run({ client, namespace }) {
      const object = { metadata: { name: '', generateName: 'made-', namespace }, spec: { size: 1 } };
      const created = await client.create(widgets, object);
      assert.match(created.metadata.name, /^made-.{5}$/);
    },
  },
  {
    title: 'create without a name is invalid',
    async run({ client, namespace }) {
      const object = newWidget(namespace, { metadata: { name: '', namespace } });
      await assert.rejects(client.create(widgets, object), failsWith(isInvalid));
    },
  },
  {
    title: 'create of what exists is AlreadyExists, which is no Conflict',
    async run({ client, namespace }) {
      const created = await client.create(widgets, newWidget(namespace));
      const again = newWidget(namespace, { metadata: keyOf(created) });
      await assert.rejects(client.create(widgets, again), failsWith(isAlreadyExists));
      await assert.rejects(client.create(widgets, again), (error) => !isConflict(error));
    },
  },
  {
    title: 'a dry run changes nothing',
    async run({ client, namespace }) {
      const widget = newWidget(namespace);
      const answer = await client.create(widgets, widget, { dryRun: true });
      assert.equal(answer.metadata.name, widget.metadata.name);
      await assert.rejects(client.get(widgets, keyOf(widget)), failsWith(isNotFound));
      const created = await client.create(widgets, widget);
      await client.patch(
        widgets,
        keyOf(widget),
        { type: 'merge', body: { spec: { size: 9 } } },
        { dryRun: true },
      );
      await client.delete(widgets, keyOf(widget), { dryRun: true });
      const { metadata, spec } = await client.get(widgets, keyOf(widget));
      assert.equal(metadata.resourceVersion, created.metadata.resourceVersion);
      assert.equal(spec.size, 1);
    },
  },
  {
    title: 'update with the current version counts the generation, with a stale one it is a Conflict',
    async run({ client, namespace }) {
      const first = await client.create(widgets, newWidget(namespace));
      const second = await client.update(widgets, { ...first, spec: { size: 2 } });
      assert.equal(second.metadata.generation, 2);
      assert.notEqual(second.metadata.resourceVersion, first.metadata.resourceVersion);
      await assert.rejects(client.update(widgets, { ...first, spec: { size: 3 } }), failsWith(isConflict));
    },
  },
  {
    title: 'update of a custom resource needs a version, and one that is missing is NotFound',
    async run({ client, namespace }) {
      const widget = newWidget(namespace);
      await client.create(widgets, widget);
      await assert.rejects(client.update(widgets, widget), failsWith(isInvalid));
      const absent = newWidget(namespace, { metadata: { ...missing, namespace, resourceVersion: '1' } });
      await assert.rejects(client.update(widgets, absent), failsWith(isNotFound));
    },
  },
  {
    title: 'a write that changes nothing keeps the version',
    async run({ client, namespace }) {
      const created = await client.create(widgets, newWidget(namespace));
      const patched = await client.patch(widgets, keyOf(created), {
        type: 'merge',
        body: { spec: { size: 1 } },
      });
      assert.equal(patched.metadata.resourceVersion, created.metadata.resourceVersion);
    },
  },
  {
    title: 'labels do not count as a generation, the spec does',
    async run({ client, namespace }) {
      const key = keyOf(await client.create(widgets, newWidget(namespace)));
      const labels = { metadata: { labels: { a: 'b' } } };
      assert.equal(
        (await client.patch(widgets, key, { type: 'merge', body: labels })).metadata.generation,
        1,
      );
      const spec = { spec: { size: 2 } };
      assert.equal((await client.patch(widgets, key, { type: 'merge', body: spec })).metadata.generation, 2);
    },
  },
  {
    title: 'status writes leave spec and generation alone, other writes the status',
    async run({ client, namespace }) {
      const created = await client.create(widgets, newWidget(namespace));
      const body = { spec: { size: 7 }, status: { phase: 'Ready' } };
      const withStatus = await client.patchStatus(widgets, keyOf(created), { type: 'merge', body });
      assert.deepEqual([withStatus.spec.size, withStatus.metadata.generation], [1, 1]);
      assert.equal(withStatus.status?.phase, 'Ready');
      const forged = { spec: { size: 7 }, status: { phase: 'Forged' } };
      const withSpec = await client.patch(widgets, keyOf(created), { type: 'merge', body: forged });
      assert.deepEqual(
        [withSpec.spec.size, withSpec.metadata.generation, withSpec.status?.phase],
        [7, 2, 'Ready'],
      );
      const put = await client.updateStatus(widgets, {
        ...withSpec,
        spec: { size: 9 },
        status: { count: 3 },
      });
      assert.deepEqual([put.spec.size, put.metadata.generation, put.status], [7, 2, { count: 3 }]);
    },
  },
  {
    title: 'who has written spec and status is told, and when the spec was changed last',
    async run({ client, namespace }) {
      const key = keyOf(await client.create(widgets, newWidget(namespace)));
      const status = { type: 'merge', body: { status: { phase: 'Ready' } } } as const;
      await client.patchStatus(widgets, key, status);
      let [size, fields]: [number, readonly ManagedFieldsEntry[]] = [1, []];
      await eventually(async () => {
        const patch = { type: 'merge', body: { spec: { size: ++size } } } as const;
        const { managedFields = [], creationTimestamp = '' } = (await client.patch(widgets, key, patch))
          .metadata;
        fields = managedFields;
        const spec = managedFields.find(({ fieldsV1 = {} }) => 'f:spec' in fieldsV1);
        return (spec?.time ?? '') > creationTimestamp;
      });
      const written = fields.map(({ subresource = '', fieldsV1 = {} }) => {
        return [subresource, Object.keys(fieldsV1).filter((field) => field !== 'f:metadata')];
      });
      assert.deepEqual(written.sort(), [
        ['', ['f:spec']],
        ['status', ['f:status']],
      ]);
    },
  },
  {
    title: 'a merge patch with a stale version is a Conflict, for the status too',
    async run({ client, namespace }) {
      const created = await client.create(widgets, newWidget(namespace));
      const key = keyOf(created);
      await client.patch(widgets, key, { type: 'merge', body: { spec: { size: 2 } } });
      const { resourceVersion } = created.metadata;
      const stale = { type: 'merge', body: { metadata: { resourceVersion }, status: { count: 1 } } } as const;
      await assert.rejects(client.patch(widgets, key, stale), failsWith(isConflict));
      await assert.rejects(client.patchStatus(widgets, key, stale), failsWith(isConflict));
    },
  },
  {
    title: 'a merge patch removes with null and merges deeply',
    async run({ client, namespace }) {
      const created = await client.create(
        widgets,
        newWidget(namespace, { spec: { size: 1, text: 'x', tags: { a: '1' } } }),
      );
      const body = { spec: { text: null, tags: { b: '2' } } };
      const { spec } = await client.patch(widgets, keyOf(created), { type: 'merge', body });
      assert.deepEqual(spec, { size: 1, tags: { a: '1', b: '2' } });
    },
  },
  {
    title: 'a JSON patch tests, and what does not hold is Invalid and changes nothing',
    async run({ client, namespace }) {
      const created = await client.create(widgets, newWidget(namespace));
      const key = keyOf(created);
      const patch = (uid: string | undefined) =>
        client.patchStatus(widgets, key, {
          type: 'json',
          operations: [
            { op: 'test', path: '/metadata/uid', value: uid },
            { op: 'add', path: '/status', value: { phase: 'Ready' } },
          ],
        });
      await assert.rejects(patch('other'), failsWith(isInvalid));
      assert.equal((await client.get(widgets, key)).status, undefined);
      assert.equal((await patch(created.metadata.uid)).status?.phase, 'Ready');
      const operations = [{ op: 'remove', path: '/spec/nothing' }] as const;
      await assert.rejects(client.patch(widgets, key, { type: 'json', operations }), failsWith(isInvalid));
    },
  },
  {
    title: 'apply creates, owns its fields, removes them when left out, and conflicts unless forced',
    async run({ client, namespace }) {
      const { metadata } = newWidget(namespace);
      const apply = (fieldManager: string, spec: Widget['spec'], force = false) =>
        client.patch(widgets, keyOf({ metadata }), {
          type: 'apply',
          body: { apiVersion: 'conformance.example.com/v1', kind: 'Widget', metadata, spec },
          fieldManager,
          force,
        });
      assert.equal((await apply('one', { size: 1, text: 'x' })).metadata.generation, 1);
      assert.deepEqual((await apply('one', { size: 1 })).spec, { size: 1 });
      await assert.rejects(apply('two', { size: 2 }), failsWith(isConflict));
      assert.equal((await apply('two', { size: 1 })).spec.size, 1, 'the same value is no conflict');
      assert.equal((await apply('two', { size: 3 }, true)).spec.size, 3);
      await assert.rejects(apply('one', { size: 1 }), failsWith(isConflict));
    },
  },
  {
    title: 'delete holds to its uid and version, and is NotFound afterwards',
    async run({ client, namespace }) {
      const created = await client.create(widgets, newWidget(namespace));
      const key = keyOf(created);
      await assert.rejects(client.delete(widgets, key, { uid: 'other' }), failsWith(isConflict));
      await assert.rejects(client.delete(widgets, key, { resourceVersion: '1' }), failsWith(isConflict));
      const { uid = '', resourceVersion = '' } = created.metadata;
      await client.delete(widgets, key, { uid, resourceVersion });
      await assert.rejects(client.get(widgets, key), failsWith(isNotFound));
      await assert.rejects(client.delete(widgets, key), failsWith(isNotFound));
    },
  },
  {
    title: 'a finalizer holds a deleted object until it is taken off',
    async run({ client, namespace }) {
      const widget = newWidget(namespace);
      const metadata = { ...widget.metadata, finalizers: ['conformance.example.com/hold'] };
      await client.create(widgets, { ...widget, metadata });
      await client.delete(widgets, keyOf(widget));
      const held = await client.get(widgets, keyOf(widget));
      assert.ok(held.metadata.deletionTimestamp);
      assert.equal(held.metadata.generation, 2);
      const release = { metadata: { finalizers: null } };
      await client.patch(widgets, keyOf(widget), { type: 'merge', body: release });
      await assert.rejects(client.get(widgets, keyOf(widget)), failsWith(isNotFound));
    },
  },
  {
    title: 'a ConfigMap has no generation, and may be updated without a version',
    async run({ client, namespace }) {
      const metadata = { name: newWidget(namespace).metadata.name, namespace };
      const created = await client.create(configMaps, { metadata, data: { a: '1' } });
      assert.equal(created.metadata.generation, undefined);
      const updated = await client.update(configMaps, { metadata, data: { a: '2' } });
      assert.equal(updated.data?.a, '2');
    },
  },
];
