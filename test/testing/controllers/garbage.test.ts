/** What the garbage collector decides about one object. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configMaps, type KubernetesObject, type OwnerReference } from '../../../src/kubernetes/objects.ts';
import { type Dependent, garbageDecision, type Owner } from '../../../src/testing/controllers/garbage.ts';
import type { Write } from '../../../src/testing/controllers/write.ts';

function reference(uid: string, block = false): OwnerReference {
  return { apiVersion: 'v1', kind: 'ConfigMap', name: uid, uid, ...(block && { blockOwnerDeletion: true }) };
}

function object(name: string, owners: readonly OwnerReference[], fields: object = {}): KubernetesObject {
  return { metadata: { name, namespace: 'test', uid: name, ownerReferences: owners, ...fields } };
}

const dying = { deletionTimestamp: '2030-01-01T00:00:00Z' };
const foreground = { ...dying, finalizers: ['foregroundDeletion'] };

function decide(
  subject: KubernetesObject,
  owners: Readonly<Record<string, Owner>> = {},
  dependents: readonly KubernetesObject[] = [],
) {
  return garbageDecision({
    resource: configMaps,
    object: subject,
    ownerOf: ({ uid }) => owners[uid] ?? 'gone',
    dependents: dependents.map((dependent): Dependent => ({ resource: configMaps, object: dependent })),
  });
}

function told(writes: readonly Write[]): readonly string[] {
  return writes.map((write) => {
    const { name } = write.object.metadata;
    switch (write.verb) {
      case 'delete':
        return `delete ${name} ${write.propagationPolicy}`;
      case 'patch': {
        const { metadata } = write.patch as { metadata: KubernetesObject['metadata'] };
        const { ownerReferences, finalizers } = metadata;
        return `patch ${name} ${JSON.stringify(ownerReferences?.map(({ uid }) => uid) ?? finalizers ?? null)}`;
      }
      default:
        return `${write.verb} ${name}`;
    }
  });
}

describe('The garbage collector', () => {
  const alive = { found: object('owner', []) };
  const waiting = { found: object('owner', [], foreground) };

  it('keeps what has an owner, and what never had one', () => {
    assert.deepEqual(decide(object('a', [reference('owner')]), { owner: alive }).writes, []);
    assert.deepEqual(decide(object('a', [])).writes, []);
  });

  it('deletes what has none left', () => {
    assert.deepEqual(told(decide(object('a', [reference('gone')])).writes), ['delete a Background']);
  });

  it('takes the references to what is gone off where an owner is left', () => {
    const subject = object('a', [reference('owner'), reference('gone')]);
    assert.deepEqual(told(decide(subject, { owner: alive }).writes), ['patch a ["owner"]']);
  });

  it('decides nothing while it cannot know', () => {
    const decision = decide(object('a', [reference('owner')]), { owner: 'unknown' });
    assert.deepEqual(decision, { writes: [], retry: true });
  });

  it('deletes in the foreground what its owner waits for and what has dependants itself', () => {
    const subject = object('a', [reference('owner', true)]);
    const child = object('b', [reference('a', true)]);
    assert.deepEqual(told(decide(subject, { owner: waiting }, [child]).writes), ['delete a Foreground']);
    assert.deepEqual(told(decide(subject, { owner: waiting }).writes), ['delete a Background']);
  });

  it('lets an owner go once nothing holds it any more', () => {
    const subject = object('owner', [], foreground);
    assert.deepEqual(told(decide(subject, {}, [object('a', [reference('owner', true)])]).writes), []);
    assert.deepEqual(told(decide(subject, {}, [object('a', [reference('owner')])]).writes), [
      'patch owner null',
    ]);
    assert.deepEqual(told(decide(subject).writes), ['patch owner null']);
  });

  it('orphans what an owner leaves behind', () => {
    const subject = object('owner', [], { ...dying, finalizers: ['orphan', 'other'] });
    const child = object('a', [reference('owner'), reference('second')]);
    assert.deepEqual(told(decide(subject, {}, [child]).writes), [
      'patch a ["second"]',
      'patch owner ["other"]',
    ]);
  });
});
