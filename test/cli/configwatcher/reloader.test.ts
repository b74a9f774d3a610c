import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PresentSources } from '../../../src/annotated-workloads/plan/reloader.ts';
import { maxSources } from '../../../src/annotated-workloads/plan/watcher.ts';
import type { Workload } from '../../../src/annotated-workloads/plan/workload.ts';
import { type AnnotatedWorkload, fromReloader, fromWave } from '../../../src/cli/configwatcher/reloader.ts';
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
    { name: 'v', configMap: { name: 'config', optional: true } },
    { name: 't', projected: { sources: [{ secret: { name: 'tls' } }] } },
  ],
};

function workload(
  annotations: Record<string, string>,
  {
    templateAnnotations = {},
    selector = { matchLabels: { app: 'web' } },
    labels = { app: 'web' },
  }: {
    readonly templateAnnotations?: Record<string, string>;
    readonly selector?: NonNullable<Workload['spec']>['selector'];
    readonly labels?: Record<string, string>;
  } = {},
): AnnotatedWorkload {
  const template = { metadata: { labels, annotations: templateAnnotations }, spec: podSpec };
  return {
    kind: 'Deployment',
    workload: { metadata: { name: 'web', namespace: 'dev', annotations }, spec: { selector, template } },
  };
}

/** Those that exist, all of them ConfigMaps but `three`. */
function present(...names: readonly string[]): PresentSources {
  return {
    find: (_, name) => (names.includes(name) ? { match: false, ignore: false } : undefined),
    names: (kind) => names.filter((name) => (name === 'three') === (kind === 'Secret')),
  };
}

function sourcesOf(spec: object | undefined): readonly string[] {
  const read = readSpec(spec);
  if ('invalid' in read) throw new Error(read.invalid);
  return read.sources.map(({ kind, name, optional }) => `${kind} ${name}${optional ? '?' : ''}`);
}

describe('an annotation of Reloader', () => {
  const mounted = ['ConfigMap config?', 'ConfigMap init-config', 'ConfigMap maybe?', 'Secret password'];

  it('for everything that is referenced gives a ConfigWatcher that the CRD takes', () => {
    const { spec, remarks } = fromReloader(workload({ 'reloader.stakater.com/auto': 'true' }), present());
    assert.deepEqual(sourcesOf(spec), mounted);
    assert.deepEqual(remarks, ['it watches Secrets, for which the operator needs --secret-access']);
  });

  it('with names and patterns takes what exists', () => {
    const annotations = {
      'configmap.reloader.stakater.com/reload': 'one, two,one,cfg-.*',
      'secret.reloader.stakater.com/reload': 'three',
      'reloader.stakater.com/rollout-strategy': 'restart',
    };
    const { spec, remarks } = fromReloader(workload(annotations), present('one', 'cfg-1', 'other', 'three'));
    assert.deepEqual(sourcesOf(spec), ['ConfigMap cfg-1?', 'ConfigMap one?', 'Secret three?']);
    assert.deepEqual(spec?.strategy, { type: 'Evict' });
    assert.deepEqual(remarks, ['it watches Secrets, for which the operator needs --secret-access']);
  });

  it('on the Pod template counts, too', () => {
    const templateAnnotations = { 'reloader.stakater.com/auto': 'true' };
    assert.deepEqual(sourcesOf(fromReloader(workload({}, { templateAnnotations }), present()).spec), mounted);
    assert.deepEqual(fromReloader(workload({}), present()), { spec: undefined, remarks: [] });
  });

  it('with too many sources, or no labels to select by, says so', () => {
    const names = Array.from({ length: maxSources + 4 }, (_, index) => `c${index}`);
    const annotations = { 'configmap.reloader.stakater.com/reload': 'c.*' };
    const many = fromReloader(workload(annotations), present(...names));
    assert.equal(sourcesOf(many.spec).length, maxSources);
    assert.match(
      many.remarks[0] ?? '',
      new RegExp(`^it has ${names.length} sources, of which ${maxSources} are taken`),
    );
    const selector = { matchExpressions: [{ key: 'a', operator: 'DoesNotExist' }] };
    assert.deepEqual(fromReloader(workload(annotations, { selector, labels: {} }), present('c')), {
      spec: undefined,
      remarks: ['neither its selector nor its Pod template has a label, which a podSelector needs'],
    });
  });
});

describe('an annotation of wave', () => {
  const mountedOrNot = [
    'ConfigMap config?',
    'ConfigMap init-config',
    'ConfigMap maybe?',
    'Secret password',
    'Secret tls',
  ];

  it('gives a ConfigWatcher of what is referenced, and of the extras in this namespace', () => {
    const annotations = {
      'wave.pusher.com/update-on-config-change': 'true',
      'wave.pusher.com/extra-configmaps': 'more,other/elsewhere',
    };
    const { spec, remarks } = fromWave(workload(annotations));
    assert.deepEqual(sourcesOf(spec), [...mountedOrNot, 'ConfigMap more']);
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
