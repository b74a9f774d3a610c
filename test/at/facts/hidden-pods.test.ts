import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HiddenPods } from '../../../src/at/facts/hidden-pods.ts';
import { trackingFinalizer } from '../../../src/at/plan/pod.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import type { InformerHandler } from '../../../src/runtime/cache/informer.ts';
import { created, launched, ownedBy } from '../../fixtures/at.ts';

const request = { namespace: 'default', name: 'example-at' };
const at = launched();
const plain = ownedBy(created(at), at.metadata.uid ?? '');
const tracked: Pod = { ...plain, metadata: { ...plain.metadata, finalizers: [trackingFinalizer] } };

function trackedFor(name: string): Pod {
  const [owner] = tracked.metadata.ownerReferences ?? [];
  assert.ok(owner);
  const metadata = { ...tracked.metadata, uid: `pod-of-${name}`, ownerReferences: [{ ...owner, name }] };
  return { ...tracked, metadata };
}

/** A watch that the test speaks for. */
function watch() {
  const pods = new Map<string, Pod>();
  let handler: InformerHandler<Pod> = {};
  const hidden = new HiddenPods({
    addHandler(one) {
      handler = one;
      return () => {};
    },
  });
  const shown = (pod: Pod) => {
    const before = pods.get(pod.metadata.name);
    pods.set(pod.metadata.name, pod);
    if (before === undefined) handler.onAdd?.(pod, false);
    else handler.onUpdate?.(before, pod);
  };
  const gone = (pod: Pod) => {
    pods.delete(pod.metadata.name);
    handler.onDelete?.(pod);
  };
  return { hidden, shown, gone };
}

describe('the Pods that went out of sight while the finalizer held them', () => {
  it('are kept for their At until they are let go', () => {
    const { hidden, shown, gone } = watch();
    shown(tracked);
    gone(tracked);
    assert.deepEqual(hidden.of(request), [tracked]);
    assert.deepEqual(hidden.of({ ...request, name: 'other' }), []);
    hidden.released(tracked);
    assert.deepEqual(hidden.of(request), []);
  });

  it('are those that the finalizer held', () => {
    const { hidden, shown, gone } = watch();
    shown(plain);
    gone(plain);
    assert.deepEqual(hidden.of(request), []);
  });

  it('are not those that go because they were let go', () => {
    const { hidden, shown, gone } = watch();
    shown(tracked);
    hidden.released(tracked);
    gone(tracked);
    assert.deepEqual(hidden.of(request), []);
  });

  it('are forgotten once they are in sight again', () => {
    const { hidden, shown, gone } = watch();
    shown(tracked);
    gone(tracked);
    shown(tracked);
    assert.deepEqual(hidden.of(request), []);
  });

  it('are kept also where one was let go, shown so, and held again', () => {
    const { hidden, shown, gone } = watch();
    shown(tracked);
    hidden.released(tracked);
    shown(plain);
    shown(tracked);
    gone(tracked);
    assert.deepEqual(hidden.of(request), [tracked]);
  });

  it('are not those that were seen going before that was known', () => {
    const { hidden, shown, gone } = watch();
    shown(tracked);
    gone(tracked);
    hidden.released(tracked);
    assert.deepEqual(hidden.of(request), []);
  });

  it('are kept of a number of Ats, of the latest', () => {
    const { hidden, gone } = watch();
    const nameOf = (index: number) => `at-${index}`;
    for (let index = 0; index <= 500; index++) gone(trackedFor(nameOf(index)));
    assert.deepEqual(hidden.of({ ...request, name: nameOf(0) }), []);
    assert.deepEqual(hidden.of({ ...request, name: nameOf(1) }), [trackedFor(nameOf(1))]);
  });
});
