import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ats } from '../../src/api/resources.ts';
import type { KubernetesObject, Pod } from '../../src/kubernetes/objects.ts';
import {
  AlreadyOwnedError,
  controllerRef,
  isControlledBy,
  setControllerReference,
} from '../../src/kubernetes/owner.ts';

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

test('an object gets one controller, in its own namespace, once', () => {
  const pod: KubernetesObject = { metadata: { name: 'p', namespace: 'ops' } };
  const owned = setControllerReference(pod, ats, at);
  assert.deepEqual(owned.metadata.ownerReferences, [controllerRef(ats, at)]);
  assert.deepEqual(pod, { metadata: { name: 'p', namespace: 'ops' } });
  assert.equal(setControllerReference(owned, ats, at), owned);
  const other = { metadata: { ...at.metadata, name: 'other', uid: 'uid-2' } };
  assert.throws(
    () => setControllerReference(owned, ats, other),
    (error) => {
      assert.ok(error instanceof AlreadyOwnedError);
      assert.equal(error.message, 'p is controlled by At nightly, and cannot be by At other');
      return true;
    },
  );
  const elsewhere = { metadata: { name: 'p', namespace: 'dev' } };
  assert.throws(
    () => setControllerReference(elsewhere, ats, at),
    /At ops\/nightly cannot own objects of namespace dev/,
  );
  assert.throws(
    () => setControllerReference({ metadata: { name: 'node' } }, ats, at),
    /cannot own an object without/,
  );
});

test('an owner without control becomes the controller, and stays one reference', () => {
  const { controller: _, ...plain } = controllerRef(ats, at);
  const pod = { metadata: { name: 'p', namespace: 'ops', ownerReferences: [plain] } };
  assert.deepEqual(setControllerReference(pod, ats, at).metadata.ownerReferences, [controllerRef(ats, at)]);
});
