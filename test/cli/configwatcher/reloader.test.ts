import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type AnnotatedWorkload,
  fromReloader,
  fromWave,
  referencedBy,
} from '../../../src/cli/configwatcher/reloader.ts';
import { readSpec } from '../../../src/configwatcher/plan/spec.ts';

const podSpec = {
  initContainers: [{ name: 'init', envFrom: [{ configMapRef: { name: 'init-config' } }] }],
  containers: [
    {
      name: 'app',
      env: [
        { name: 'A', valueFrom: { configMapKeyRef: { name: 'config', key: 'a', optional: true } } },
        { name: 'B', valueFrom: { secretKeyRef: { name: 'password', key: 'b' } } },
        { name: 'C', value: 'c' },
      ],
      envFrom: [{ configMapRef: { name: 'maybe', optional: true } }],
    },
  ],
  volumes: [
    { name: 'v', configMap: { name: 'config' } },
    { name: 't', projected: { sources: [{ secret: { name: 'tls' } }] } },
  ],
};

function workload(
  annotations: Record<string, string>,
  more: Partial<AnnotatedWorkload> = {},
): AnnotatedWorkload {
  const selector = { matchLabels: { app: 'web' } };
  return {
    kind: 'Deployment',
    name: 'web',
    namespace: 'dev',
    annotations,
    selector,
    template: { spec: podSpec },
    ...more,
  };
}

function sourcesOf(spec: object | undefined): readonly string[] {
  const read = readSpec(spec);
  if ('invalid' in read) throw new Error(read.invalid);
  return read.sources.map(({ kind, name, optional }) => `${kind} ${name}${optional ? '?' : ''}`);
}

it('what a Pod references is found in every place, and is optional where every reference is', () => {
  assert.deepEqual(referencedBy(podSpec), [
    { kind: 'ConfigMap', name: 'config' },
    { kind: 'Secret', name: 'password' },
    { kind: 'ConfigMap', name: 'init-config' },
    { kind: 'ConfigMap', name: 'maybe', optional: true },
    { kind: 'Secret', name: 'tls' },
  ]);
});

describe('an annotation of Reloader', () => {
  it('for everything that is referenced gives a ConfigWatcher that the CRD takes', () => {
    const { spec, remarks } = fromReloader(workload({ 'reloader.stakater.com/auto': 'true' }));
    assert.deepEqual(sourcesOf(spec), [
      'ConfigMap config',
      'Secret password',
      'ConfigMap init-config',
      'ConfigMap maybe?',
      'Secret tls',
    ]);
    assert.deepEqual(remarks, ['it watches Secrets, for which the operator needs --secret-access']);
  });

  it('for one kind takes that alone, without what is excluded', () => {
    const annotations = {
      'configmap.reloader.stakater.com/auto': 'true',
      'configmaps.exclude.reloader.stakater.com/reload': 'maybe, init-config',
    };
    assert.deepEqual(sourcesOf(fromReloader(workload(annotations)).spec), ['ConfigMap config']);
  });

  it('with names takes those, each once, and says which are patterns', () => {
    const annotations = {
      'configmap.reloader.stakater.com/reload': 'one, two,one,cfg-.*',
      'secret.reloader.stakater.com/reload': 'three',
      'reloader.stakater.com/rollout-strategy': 'restart',
    };
    const { spec, remarks } = fromReloader(workload(annotations));
    assert.deepEqual(sourcesOf(spec), ['ConfigMap one', 'ConfigMap two', 'Secret three']);
    assert.deepEqual(remarks.slice(0, 2), [
      '"cfg-.*" is a pattern: name the sources that it means in spec.sources',
      'reloader.stakater.com/rollout-strategy is not taken over: see spec.strategy.type',
    ]);
  });

  it('on the Pod template counts, too, and "ignore" wins', () => {
    const template = { metadata: { annotations: { 'reloader.stakater.com/auto': 'true' } }, spec: podSpec };
    assert.equal(sourcesOf(fromReloader(workload({}, { template })).spec).length, 5);
    const ignored = workload({ 'reloader.stakater.com/ignore': 'true' }, { template });
    assert.deepEqual(fromReloader(ignored), { spec: undefined, remarks: [] });
    assert.deepEqual(fromReloader(workload({})), { spec: undefined, remarks: [] });
  });

  it('with too many sources, or no labels to select by, says so', () => {
    const names = Array.from({ length: 20 }, (_, index) => `c${index}`).join(',');
    const many = fromReloader(workload({ 'configmap.reloader.stakater.com/reload': names }));
    assert.equal(sourcesOf(many.spec).length, 16);
    assert.match(many.remarks[0] ?? '', /^it has 20 sources, of which 16 are taken/);
    const selector = { matchExpressions: [{ key: 'a', operator: 'Exists' as const }] };
    const unlabelled = fromReloader(
      workload({ 'configmap.reloader.stakater.com/reload': 'c' }, { selector }),
    );
    assert.deepEqual(unlabelled, {
      spec: undefined,
      remarks: ['its selector has no matchLabels, which a podSelector needs'],
    });
  });
});

describe('an annotation of wave', () => {
  it('gives a ConfigWatcher of what is referenced, and of the extras in this namespace', () => {
    const annotations = {
      'wave.pusher.com/update-on-config-change': 'true',
      'wave.pusher.com/extra-configmaps': 'more,other/elsewhere',
    };
    const { spec, remarks } = fromWave(workload(annotations));
    assert.equal(sourcesOf(spec)[0], 'ConfigMap more');
    assert.equal(sourcesOf(spec).length, 6);
    assert.equal(
      remarks[0],
      'other/elsewhere is of another namespace: a ConfigWatcher watches its own alone',
    );
    assert.deepEqual(fromWave(workload({ 'wave.pusher.com/update-on-config-change': 'false' })), {
      spec: undefined,
      remarks: [],
    });
  });
});
