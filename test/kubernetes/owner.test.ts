import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ats } from '../../src/api/resources.ts';
import type { Pod } from '../../src/kubernetes/objects.ts';
import { controllerRef, isControlledBy } from '../../src/kubernetes/owner.ts';

const at = { metadata: { name: 'nightly', namespace: 'ops', uid: 'uid-1' } };

function podWith(ownerReferences: Pod['metadata']['ownerReferences']): Pod {
  return {
    metadata: { name: 'nightly-pod', ...(ownerReferences && { ownerReferences }) },
    spec: { containers: [] },
  };
}

test('the reference names its owner as controller and blocks no deletion', () => {
  assert.deepEqual(controllerRef(ats, at), {
    apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
    kind: 'At',
    name: 'nightly',
    uid: 'uid-1',
    controller: true,
  });
});

test('an object that was never stored owns nothing', () => {
  assert.throws(() => controllerRef(ats, { metadata: { name: 'new' } }), TypeError);
});

test('the uid decides, and only of the controller', () => {
  const ours = controllerRef(ats, at);
  assert.equal(isControlledBy(podWith([ours]), 'uid-1'), true);
  assert.equal(isControlledBy(podWith([ours]), 'uid-of-a-re-created-at'), false);
  assert.equal(isControlledBy(podWith([{ ...ours, controller: false }]), 'uid-1'), false);
  assert.equal(isControlledBy(podWith(undefined), 'uid-1'), false);
});
