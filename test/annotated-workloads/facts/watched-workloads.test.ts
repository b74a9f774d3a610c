import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  changesPresence,
  presentSources,
  subjectOf,
  transformOther,
  workloadsOf,
} from '../../../src/annotated-workloads/facts/watched-workloads.ts';
import type { KubernetesObject } from '../../../src/kubernetes/objects.ts';
import type { Lister } from '../../../src/runtime/cache/lister.ts';

const spec = { podSelector: { app: 'web' } };
const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'u', controller: true };

describe('an event of a ConfigWatcher', () => {
  for (const [title, metadata, expected] of [
    ['is for the workload that controls it', { name: 'any', ownerReferences: [owner] }, ['Deployment/web']],
    [
      'is for no workload under another owner',
      { name: 'web', ownerReferences: [{ ...owner, kind: 'Other' }] },
      [],
    ],
    [
      'without an owner is for the workload whose name it takes',
      { name: 'statefulset-a-b' },
      ['StatefulSet/a-b'],
    ],
    ['of a name of its own is for no workload', { name: 'webapp-config-watcher' }, []],
  ] as const) {
    it(title, () => {
      const requests = workloadsOf({ metadata: { namespace: 'shop', ...metadata }, spec });
      assert.deepEqual(
        requests.map(({ name }) => name),
        expected,
      );
    });
  }

  it('gives a request that tells kind and name apart', () => {
    assert.deepEqual(subjectOf({ namespace: 'shop', name: 'Deployment/web' }), {
      kind: 'Deployment',
      name: 'web',
    });
  });
});

describe('an event of a source', () => {
  const source = (annotations: Record<string, string> = {}): KubernetesObject => ({
    metadata: { name: 'a', annotations },
  });
  const match = { 'reloader.stakater.com/match': 'true' };
  for (const [title, event, expected] of [
    ['of the first list', { type: 'create', object: source(), initial: true }, false],
    ['that appears', { type: 'create', object: source(), initial: false }, true],
    ['that goes', { type: 'delete', object: source() }, true],
    ['that is edited', { type: 'update', previous: source(), object: source() }, false],
    ['that is tagged', { type: 'update', previous: source(), object: source(match) }, true],
    [
      'that is ignored no more',
      { type: 'update', previous: source({ 'reloader.stakater.com/ignore': 'true' }), object: source() },
      true,
    ],
  ] as const) {
    it(`${title} ${expected ? 'counts' : 'does not count'}`, () =>
      assert.equal(changesPresence(event), expected));
  }

  it('is found by what it says of itself', () => {
    const object = source(match);
    const lister = { get: () => object, list: () => [object] } as Partial<
      Lister<KubernetesObject>
    > as Lister<KubernetesObject>;
    const present = presentSources({ ConfigMap: lister }, 'shop');
    assert.deepEqual(present.find('ConfigMap', 'a'), { match: true, ignore: false });
    assert.deepEqual([present.names('ConfigMap'), present.names('Secret')], [['a'], []]);
    assert.equal(present.find('Secret', 'a'), undefined);
  });
});

describe('of a kind without a ConfigWatcher', () => {
  const annotations = { 'reloader.stakater.com/auto': 'true', note: 'x' };
  it('the annotations of Reloader are kept, and nothing else', () => {
    const { metadata } = transformOther({ metadata: { name: 'a', labels: { b: 'c' }, annotations } });
    assert.deepEqual(metadata, { name: 'a', annotations: { 'reloader.stakater.com/auto': 'true' } });
  });
  it('a Job that a CronJob has made says nothing', () => {
    const made = { ...owner, apiVersion: 'batch/v1', kind: 'CronJob' };
    assert.deepEqual(transformOther({ metadata: { name: 'a', annotations, ownerReferences: [made] } }), {
      metadata: { name: 'a' },
    });
  });
});
