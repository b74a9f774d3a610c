import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject, Resource } from '../../../src/kubernetes/objects.ts';
import { isEnded, writtenByDelete } from '../../../src/runtime/client/written.ts';

const services: Resource = {
  group: '',
  version: 'v1',
  plural: 'services',
  kind: 'Service',
  namespaced: true,
};
const key = { namespace: 'default', name: 'a' };
const deletionTimestamp = '2024-01-01T00:00:00Z';

function object(metadata: object, rest: object = {}): KubernetesObject {
  return { metadata: { ...key, uid: 'uid-a', ...metadata }, ...rest };
}

function byDelete(answer: unknown, uid?: string) {
  return writtenByDelete(services, key, answer as KubernetesObject, uid);
}

describe('the answer to a delete', () => {
  const gone = { ...key, deleted: true };

  it('that is a Status says that the object is gone, and which one', () => {
    assert.deepEqual(byDelete({ kind: 'Status', details: { uid: 'uid-a' } }), { ...gone, uid: 'uid-a' });
    assert.deepEqual(byDelete({ kind: 'Status' }, 'uid-b'), { ...gone, uid: 'uid-b' });
    assert.deepEqual(byDelete({ kind: 'Status' }), gone);
  });

  it('that is the object without a deletionTimestamp says so, too', () => {
    assert.deepEqual(byDelete(object({})), { ...gone, uid: 'uid-a' });
  });

  for (const [what, answer] of [
    ['a finalizer', object({ deletionTimestamp, finalizers: ['example.com/hold'] })],
    ['a grace period', object({ deletionTimestamp, deletionGracePeriodSeconds: 30 })],
    ['a finalizer in its spec', object({ deletionTimestamp }, { spec: { finalizers: ['kubernetes'] } })],
  ] as const) {
    it(`that is the object with ${what} is the object as it is now`, () => {
      assert.deepEqual(byDelete(answer), { ...answer, apiVersion: 'v1', kind: 'Service' });
    });
  }

  it('says nothing certain when a finalizer contradicts it, or when it is no answer', () => {
    for (const answer of [object({ finalizers: ['x'] }), {}, null, 'gone', { metadata: null }]) {
      assert.deepEqual(byDelete(answer), gone, JSON.stringify(answer));
    }
  });
});

describe('a written object', () => {
  it('has ended when nothing holds what is being deleted', () => {
    assert.equal(isEnded(object({ deletionTimestamp, deletionGracePeriodSeconds: 0, finalizers: [] })), true);
    assert.equal(isEnded(object({ deletionTimestamp })), true);
  });

  it('has not while something holds it, or nothing deletes it', () => {
    assert.equal(isEnded(object({})), false);
    assert.equal(isEnded(object({ deletionTimestamp, deletionGracePeriodSeconds: 1 })), false);
    assert.equal(isEnded(object({ deletionTimestamp, finalizers: ['x'] })), false);
    assert.equal(isEnded(object({ deletionTimestamp }, { spec: { finalizers: ['kubernetes'] } })), false);
  });
});
