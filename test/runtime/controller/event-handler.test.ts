import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject, OwnerReference, Resource } from '../../../src/kubernetes/objects.ts';
import {
  enqueueRequestForObject,
  enqueueRequestForOwner,
  enqueueRequestsFromMap,
} from '../../../src/runtime/controller/event-handler.ts';
import { gadgets, type Widget, widget, widgets } from './fixtures.ts';

const created = (object: KubernetesObject) => ({ type: 'create', object, initial: false }) as const;

describe('enqueueRequestForObject', () => {
  const request = { namespace: 'default', name: 'a' };
  it('gives the object for every event', () => {
    const object = widget('a');
    assert.deepEqual(enqueueRequestForObject(created(object)), [request]);
    assert.deepEqual(enqueueRequestForObject({ type: 'update', previous: object, object }), [request]);
    assert.deepEqual(enqueueRequestForObject({ type: 'delete', object }), [request]);
  });

  it('gives cluster-scoped objects an empty namespace', () => {
    assert.deepEqual(enqueueRequestForObject(created({ metadata: { name: 'node-1' } })), [
      { namespace: '', name: 'node-1' },
    ]);
  });
});

describe('enqueueRequestForOwner', () => {
  const reference: OwnerReference = {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    name: 'owner',
    uid: 'uid-owner',
    controller: true,
  };
  const owned = (changes: Partial<OwnerReference>, namespace: string | undefined = 'default') => ({
    metadata: {
      name: 'pod',
      ...(namespace && { namespace }),
      ownerReferences: [{ ...reference, ...changes }],
    },
  });
  const clusterWidgets: Resource = { ...widgets, namespaced: false };
  const owner = { namespace: 'default', name: 'owner' };

  const rows = [
    { name: 'its controller owner', object: owned({}), requests: [owner] },
    {
      name: 'another version of the same kind',
      object: owned({ apiVersion: 'example.com/v1beta1' }),
      requests: [owner],
    },
    { name: 'no owner', object: widget('a'), requests: [] },
    { name: 'an owner that is not the controller', object: owned({ controller: false }), requests: [] },
    { name: 'another kind', object: owned({ kind: 'Gadget' }), requests: [] },
    { name: 'the same kind of another group', object: owned({ apiVersion: 'other.com/v1' }), requests: [] },
    { name: 'the same kind of the core group', object: owned({ apiVersion: 'v1' }), requests: [] },
    { name: 'cluster-scoped dependent of a namespaced kind', object: owned({}, ''), requests: [] },
  ];
  for (const { name, object, requests } of rows) {
    it(name, () => assert.deepEqual(enqueueRequestForOwner(widgets)(created(object)), requests));
  }

  it('a cluster-scoped owner has no namespace', () => {
    assert.deepEqual(enqueueRequestForOwner(clusterWidgets)(created(owned({}))), [
      { namespace: '', name: 'owner' },
    ]);
  });

  it('an owner of the core group', () => {
    const object = owned({ apiVersion: 'v1', kind: 'Gadget' });
    assert.deepEqual(enqueueRequestForOwner(gadgets)(created(object)), [owner]);
  });

  it('an update that moves the object to another owner wakes both', () => {
    const requests = enqueueRequestForOwner(widgets)({
      type: 'update',
      previous: owned({ name: 'old' }),
      object: owned({ name: 'new' }),
    });
    assert.deepEqual(
      requests.map(({ name }) => name),
      ['old', 'new'],
    );
  });
});

describe('enqueueRequestsFromMap', () => {
  const handler = enqueueRequestsFromMap<Widget>(({ metadata }) =>
    Object.keys(metadata.labels ?? {}).map((name) => ({ namespace: 'default', name })),
  );

  it('maps the object of a create and of a delete', () => {
    const object = widget('a', { labels: { x: '', y: '' } });
    assert.deepEqual(
      handler(created(object)).map(({ name }) => name),
      ['x', 'y'],
    );
    assert.deepEqual(
      handler({ type: 'delete', object }).map(({ name }) => name),
      ['x', 'y'],
    );
  });

  it('maps both states of an update: what is no longer pointed to matters too', () => {
    const previous = widget('a', { labels: { old: '' } });
    const object = widget('a', { labels: { new: '' } });
    assert.deepEqual(
      handler({ type: 'update', previous, object }).map(({ name }) => name),
      ['old', 'new'],
    );
  });

  it('gives no key twice for one event: a worker that waits would begin with the first', () => {
    const previous = widget('a', { labels: { stays: '', old: '' } });
    const object = widget('a', { labels: { stays: '', new: '' } });
    assert.deepEqual(
      handler({ type: 'update', previous, object }).map(({ name }) => name),
      ['stays', 'old', 'new'],
    );
    const twice = enqueueRequestsFromMap<Widget>(() => [
      { namespace: 'x', name: 'a' },
      { namespace: 'y', name: 'a' },
      { namespace: 'x', name: 'a' },
    ]);
    assert.equal(twice(created(object) as never).length, 2);
  });
});
