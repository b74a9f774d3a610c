import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { podFactsOf, slimListedPod } from '../../../src/configwatcher/decide/pod-facts.ts';
import type { Pod, PodSpec } from '../../../src/kubernetes/objects.ts';

const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1', uid: 'rs' };

function running(overrides: Partial<Pod['metadata']> = {}, spec: Partial<PodSpec> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'web-1-x',
      namespace: 'shop',
      uid: 'uid-1',
      creationTimestamp: '2024-06-01T12:00:00Z',
      ownerReferences: [{ ...owner, controller: true }],
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': 'everything' },
      ...overrides,
    },
    spec: { containers: [{ name: 'app', image: 'web' }], ...spec },
    status: {
      phase: 'Running',
      conditions: [
        { type: 'Initialized', status: 'True' },
        { type: 'Ready', status: 'True' },
      ],
    },
  };
}

const env = (name: string) => ({ name: 'X', valueFrom: { configMapKeyRef: { name, key: 'k' } } });

describe('podFactsOf', () => {
  it('keeps what a restart has to know', () => {
    assert.deepEqual(podFactsOf(running()), {
      uid: 'uid-1',
      name: 'web-1-x',
      controller: { ...owner, controller: true },
      created: Date.UTC(2024, 5, 1, 12),
      terminating: false,
      finished: false,
      ready: true,
      references: [],
    });
  });

  it('has no controller when no owner is one', () => {
    assert.equal(podFactsOf(running({ ownerReferences: [owner] })).controller, undefined);
  });

  const references: [string, Partial<PodSpec>, string[]][] = [
    ['env', { containers: [{ name: 'a', env: [env('c')] }] }, ['ConfigMap/c']],
    ['an init container', { initContainers: [{ name: 'i', env: [env('c')] }] }, ['ConfigMap/c']],
    [
      'envFrom',
      {
        containers: [{ name: 'a', envFrom: [{ configMapRef: { name: 'c' } }, { secretRef: { name: 's' } }] }],
      },
      ['ConfigMap/c', 'Secret/s'],
    ],
    ['a volume', { volumes: [{ name: 'v', configMap: { name: 'c' } }] }, ['ConfigMap/c']],
    ['a Secret volume', { volumes: [{ name: 'v', secret: { secretName: 's' } }] }, ['Secret/s']],
    [
      'a projected volume',
      {
        volumes: [
          { name: 'v', projected: { sources: [{ secret: { name: 's' } }, { configMap: { name: 'c' } }] } },
        ],
      },
      ['Secret/s', 'ConfigMap/c'],
    ],
    ['nothing by an empty name', { volumes: [{ name: 'v', configMap: { name: '' } }] }, []],
  ];
  for (const [what, spec, expected] of references) {
    it(`sees a reference in ${what}`, () => {
      const { references: found } = podFactsOf(running({}, spec));
      assert.deepEqual(new Set(found), new Set(expected));
    });
  }
});

describe('slimListedPod', () => {
  it('loses no fact, and everything else', () => {
    const pod = running(
      { deletionTimestamp: '2024-06-01T12:01:00Z' },
      { containers: [{ name: 'a', env: [env('c')], envFrom: [{ secretRef: { name: 's' } }] }] },
    );
    const slim = slimListedPod(pod);
    assert.deepEqual(podFactsOf(slim), podFactsOf(pod));
    assert.ok(!JSON.stringify(slim).includes('everything'));
  });
});
