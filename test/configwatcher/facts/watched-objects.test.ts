import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcher } from '../../../src/api/configwatcher.generated.ts';
import {
  changeRecorded,
  sourcesOf,
  specOf,
  transformPod,
  transformSource,
} from '../../../src/configwatcher/facts/watched-objects.ts';
import type { KubernetesObject } from '../../../src/kubernetes/objects.ts';
import { watching } from '../../fixtures/configwatcher.ts';

const applied: KubernetesObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: 'a',
    namespace: 'shop',
    uid: 'u',
    resourceVersion: '5',
    labels: { app: 'webapp' },
    annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"x":"canary"}}' },
    managedFields: [{ manager: 'kubectl', fieldsV1: { 'f:data': {} } }],
    ownerReferences: [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'x' }],
  },
};

describe('what is kept of watched objects', () => {
  it('of a ConfigMap is its identity and version: annotations hold whole contents', () => {
    assert.deepEqual(transformSource(applied), {
      metadata: { name: 'a', namespace: 'shop', uid: 'u', resourceVersion: '5' },
    });
  });

  it('of an annotated ConfigMap are the annotations that are meant for us, too', () => {
    const { annotations: foreign } = applied.metadata;
    const annotations = { 'k8spatterns.io/podDeleteSelector': 'app=webapp', 'k8spatterns.io/observed': '{}' };
    const metadata = { ...applied.metadata, annotations: { ...foreign, ...annotations } };
    assert.deepEqual(transformSource({ metadata }).metadata.annotations, annotations);
  });

  it('of a Pod is what selects and counts it', () => {
    const { annotations, managedFields, ownerReferences, ...metadata } = applied.metadata;
    assert.deepEqual(transformPod(applied), { metadata });
  });

  it('of the Pods of one controller is one reference to it', () => {
    const of = (name: string) => ({
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      name,
      uid: name,
      controller: true,
    });
    const keptOwnersOf = (name: string) => {
      const owners = [...(applied.metadata.ownerReferences ?? []), { ...of(name), blockOwnerDeletion: true }];
      return transformPod({ metadata: { ...applied.metadata, ownerReferences: owners } }).metadata
        .ownerReferences;
    };
    const [first, second, third] = [keptOwnersOf('web-1'), keptOwnersOf('web-1'), keptOwnersOf('web-2')];
    assert.deepEqual([first, third], [[of('web-1')], [of('web-2')]]);
    assert.equal(first, second);
  });
});

describe('a status that another process has written', () => {
  const written = (status: ConfigWatcher['status']) => ({ ...watching(), ...(status && { status }) });
  const pending = { hash: 'v1:b', since: '2030-01-01T00:00:00Z', reason: 'Debounce' } as const;
  const isLookedAt = (before: ConfigWatcher['status'], after: ConfigWatcher['status']) =>
    changeRecorded({ type: 'update', object: written(after), previous: written(before) });

  it('has the watcher looked at where it tells of another change, or that one is applied', () => {
    const applied = { appliedHash: 'v1:a' };
    assert.equal(isLookedAt(applied, { ...applied, pending }), true);
    assert.equal(isLookedAt({ ...applied, pending }, { appliedHash: 'v1:b' }), true);
    assert.equal(isLookedAt({ ...applied, pending }, applied), true, 'the Pods are counted again');
    assert.equal(isLookedAt(applied, { appliedHash: 'v1:b' }), true);
    assert.equal(isLookedAt(applied, { ...applied, matchedPods: 3 }), false);
    assert.equal(
      isLookedAt({ ...applied, pending }, { ...applied, pending: { ...pending, total: 2 } }),
      false,
    );
  });
});

describe('the watchers of a source', () => {
  it('are found by every object they name', () => {
    const watcher = watching({ sources: [{ kind: 'Secret', name: 's' }] });
    assert.deepEqual(sourcesOf(watcher), ['ConfigMap/shop/webapp-config', 'Secret/shop/s']);
  });

  it('are not those with a bad spec', () => {
    assert.deepEqual(sourcesOf(watching({ podSelector: {} })), []);
  });

  it('have their spec read once', () => {
    const watcher = watching();
    assert.equal(specOf(watcher), specOf(watcher));
    assert.equal(specOf(watcher), specOf(structuredClone(watcher)), 'for all versions of the object');
    assert.notEqual(specOf(watcher), specOf(watching({ suspend: true })));
  });
});
