import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HiddenPods } from '../../../src/at/facts/hidden-pods.ts';
import { trackingFinalizer } from '../../../src/at/plan/pod.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import type { Informer, InformerHandler } from '../../../src/runtime/cache/informer.ts';
import { created, launched, ownedBy } from '../../fixtures/at.ts';

const request = { namespace: 'default', name: 'example-at' };
const at = launched();
const plain = ownedBy(created(at), at.metadata.uid ?? '');
const tracked: Pod = { ...plain, metadata: { ...plain.metadata, finalizers: [trackingFinalizer] } };

/** A watch that the test speaks for. */
function watch() {
  const pods = new Map<string, Pod>();
  let handler: InformerHandler<Pod> = {};
  const informer = {
    lister: { get: (_namespace: string, name: string) => pods.get(name) },
    addHandler: (one: InformerHandler<Pod>) => {
      handler = one;
    },
  };
  const hidden = new HiddenPods(informer as unknown as Informer<Pod>);
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
    hidden.letGo(tracked);
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
    hidden.letGo(tracked);
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
    hidden.letGo(tracked);
    shown(plain);
    shown(tracked);
    gone(tracked);
    assert.deepEqual(hidden.of(request), [tracked]);
  });

  it('are kept to a bound, the latest of them', () => {
    const { hidden, gone } = watch();
    const pods = Array.from({ length: 501 }, (_, index) => {
      return { ...tracked, metadata: { ...tracked.metadata, uid: `uid-${index}` } };
    });
    for (const pod of pods) gone(pod);
    assert.deepEqual(hidden.of(request), pods.slice(1));
  });
});
