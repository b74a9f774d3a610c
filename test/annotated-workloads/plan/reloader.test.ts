import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decide } from '../../../src/annotated-workloads/decide/decide.ts';
import { concerns, remarkOnKind } from '../../../src/annotated-workloads/plan/reloader.ts';
import type { PodSpec } from '../../../src/kubernetes/objects.ts';
import { type FoundParts, found, sourcesText, usual, type WorkloadParts, workload } from '../workloads.ts';

const auto = 'reloader.stakater.com/auto';
const configMapAuto = 'configmap.reloader.stakater.com/auto';
const secretAuto = 'secret.reloader.stakater.com/auto';
const configMapList = 'configmap.reloader.stakater.com/reload';
const secretList = 'secret.reloader.stakater.com/reload';
const configMapsExcluded = 'configmaps.exclude.reloader.stakater.com/reload';
const secretsExcluded = 'secrets.exclude.reloader.stakater.com/reload';
const search = 'reloader.stakater.com/search';
const pausePeriod = 'deployment.reloader.stakater.com/pause-period';
const strategy = 'reloader.stakater.com/rollout-strategy';

/** What exists: the two that the usual template uses, and two others. */
const present = {
  'ConfigMap/config': {},
  'Secret/password': {},
  'ConfigMap/other': {},
  'ConfigMap/other-2': {},
};
const both = 'ConfigMap/config, Secret/password';

interface Row extends WorkloadParts {
  readonly found?: FoundParts;
  /** Undefined: no ConfigWatcher. */
  readonly sources: string | undefined;
  readonly remark?: RegExp;
  readonly more?: object;
}

function whole(kind: 'configMap' | 'secret', name: string): PodSpec {
  const volume = kind === 'secret' ? { secret: { secretName: name } } : { configMap: { name } };
  return {
    containers: [{ name: 'app', volumeMounts: [{ name: 'v' }] }],
    volumes: [{ name: 'v', ...volume }],
  };
}

const csi: PodSpec = {
  ...usual,
  volumes: [{ name: 'c', csi: { volumeAttributes: { secretProviderClass: 'vault' } } }],
};

const rows: Readonly<Record<string, Row>> = {
  'auto: "true"': { annotations: { [auto]: 'true' }, sources: both },
  'auto: "1", as Go reads booleans': { annotations: { [auto]: '1' }, sources: both },
  'auto: "T"': { annotations: { [auto]: 'T' }, sources: both },
  'auto: "yes", which Go reads as no boolean': { annotations: { [auto]: 'yes' }, sources: undefined },
  'auto: "false"': { annotations: { [auto]: 'false' }, sources: undefined },
  'auto with a source that does not exist': {
    annotations: { [auto]: 'true' },
    found: { present: {} },
    sources: both,
  },
  'auto with keys': {
    annotations: { [auto]: 'true' },
    podSpec: {
      containers: [
        {
          name: 'app',
          env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'config', key: 'animal' } } }],
        },
      ],
    },
    sources: 'ConfigMap/config[animal]',
  },
  'auto with a volume': {
    annotations: { [auto]: 'true' },
    podSpec: whole('secret', 'tls'),
    sources: 'Secret/tls',
  },
  'auto with a volume that no container mounts': {
    annotations: { [auto]: 'true' },
    podSpec: { ...whole('configMap', 'config'), containers: [{ name: 'app' }] },
    sources: undefined,
  },
  'configmap auto: "true"': { annotations: { [configMapAuto]: 'true' }, sources: 'ConfigMap/config' },
  'secret auto: "true"': { annotations: { [secretAuto]: 'true' }, sources: 'Secret/password' },
  'auto: "false" beside configmap auto: "true"': {
    annotations: { [auto]: 'false', [configMapAuto]: 'true' },
    sources: 'ConfigMap/config',
  },
  'auto on the Pod template': { templateAnnotations: { [auto]: 'true' }, sources: both },
  'auto: "false" on the workload before the Pod template': {
    annotations: { [auto]: 'false' },
    templateAnnotations: { [auto]: 'true' },
    sources: undefined,
  },
  'the Pod template for the kind that the workload says nothing of': {
    annotations: { [configMapList]: 'other' },
    templateAnnotations: { [secretAuto]: 'true', [configMapAuto]: 'true' },
    sources: 'ConfigMap/other?, Secret/password',
  },
  'configmap reload with a name': { annotations: { [configMapList]: 'other' }, sources: 'ConfigMap/other?' },
  'configmap reload with names and spaces': {
    annotations: { [configMapList]: ' other , config ,, other' },
    sources: 'ConfigMap/config?, ConfigMap/other?',
  },
  'configmap reload with a pattern': {
    annotations: { [configMapList]: 'other.*' },
    sources: 'ConfigMap/other?, ConfigMap/other-2?',
  },
  'configmap reload with what does not exist': {
    annotations: { [configMapList]: 'none' },
    sources: undefined,
  },
  'configmap reload on the Pod template': {
    templateAnnotations: { [configMapList]: 'other' },
    sources: 'ConfigMap/other?',
  },
  'configmap reload with a bad pattern beside a name': {
    annotations: { [configMapList]: '(other, other' },
    ...{ sources: 'ConfigMap/other?', remark: /reload has "\(other", which is no pattern/ },
  },
  'configmap reload that is too long': {
    annotations: { [configMapList]: 'a'.repeat(3000) },
    ...{ sources: undefined, remark: /more than 2048 characters/ },
  },
  'secret reload with a name': { annotations: { [secretList]: 'password' }, sources: 'Secret/password?' },
  'configmap reload of what auto has with a key': {
    annotations: { [auto]: 'true', [configMapList]: 'config' },
    podSpec: {
      containers: [
        { name: 'app', env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'config', key: 'k' } } }] },
      ],
    },
    sources: 'ConfigMap/config?',
  },
  'configmap reload beside auto: "false"': {
    annotations: { [auto]: 'false', [configMapList]: 'other' },
    sources: 'ConfigMap/other?',
  },
  'configmaps exclude with auto': {
    annotations: { [auto]: 'true', [configMapsExcluded]: 'none, config' },
    sources: 'Secret/password',
  },
  'configmaps exclude with a pattern, which it does not read as one': {
    annotations: { [auto]: 'true', [configMapsExcluded]: 'conf.*' },
    sources: both,
  },
  'configmaps exclude before a list': {
    annotations: { [configMapList]: 'other.*', [configMapsExcluded]: 'other' },
    sources: 'ConfigMap/other-2?',
  },
  'secrets exclude with auto': {
    annotations: { [auto]: 'true', [secretsExcluded]: 'password' },
    sources: 'ConfigMap/config',
  },
  'exclude on the Pod template, where Reloader does not read it': {
    templateAnnotations: { [auto]: 'true', [configMapsExcluded]: 'config' },
    sources: both,
  },
  'search with match on a source that is referenced': {
    annotations: { [search]: 'true' },
    found: {
      present: {
        'ConfigMap/config': { match: true },
        'ConfigMap/other': { match: true },
        'Secret/password': {},
      },
    },
    sources: 'ConfigMap/config',
  },
  'search: "1", which is not "true"': {
    annotations: { [search]: '1' },
    found: { present: { 'ConfigMap/config': { match: true } } },
    sources: undefined,
  },
  'search beside auto: "false"': {
    annotations: { [search]: 'true', [auto]: 'false' },
    found: { present: { 'Secret/password': { match: true } } },
    sources: 'Secret/password',
  },
  'search beside auto: "true", which takes everything': {
    annotations: { [search]: 'true', [auto]: 'true' },
    sources: both,
  },
  'search on the Pod template': {
    templateAnnotations: { [search]: 'true' },
    found: { present: { 'Secret/password': { match: true } } },
    sources: 'Secret/password',
  },
  'ignore on a source with auto': {
    annotations: { [auto]: 'true' },
    found: { present: { ...present, 'ConfigMap/config': { ignore: true } } },
    sources: 'Secret/password',
  },
  'ignore on a source that is listed': {
    annotations: { [configMapList]: 'other.*' },
    found: { present: { ...present, 'ConfigMap/other': { ignore: true } } },
    sources: 'ConfigMap/other-2?',
  },
  'ignore on a source with match': {
    annotations: { [search]: 'true' },
    found: { present: { 'ConfigMap/config': { match: true, ignore: true } } },
    sources: undefined,
  },
  'ignore on a workload, where Reloader does not read it': {
    annotations: { [auto]: 'true', 'reloader.stakater.com/ignore': 'true' },
    sources: both,
  },
  '--auto-reload-all': { found: { present, autoReloadAll: true }, sources: both },
  '--auto-reload-all with auto: "false"': {
    annotations: { [auto]: 'false' },
    ...{ found: { present, autoReloadAll: true }, sources: undefined },
  },
  '--auto-reload-all with auto: "no"': {
    annotations: { [auto]: 'no' },
    ...{ found: { present, autoReloadAll: true }, sources: undefined },
  },
  '--auto-reload-all with configmap auto: "true"': {
    annotations: { [configMapAuto]: 'true' },
    ...{ found: { present, autoReloadAll: true }, sources: both },
  },
  '--auto-reload-all with configmap auto: "false"': {
    annotations: { [configMapAuto]: 'false' },
    ...{ found: { present, autoReloadAll: true }, sources: 'Secret/password' },
  },
  '--auto-reload-all without references': {
    podSpec: { containers: [{ name: 'app' }] },
    ...{ found: { autoReloadAll: true }, sources: undefined },
  },
  'auto without access to Secrets': {
    annotations: { [auto]: 'true' },
    found: { present, secretAccess: false },
    ...{
      sources: 'ConfigMap/config',
      remark: /Secrets are not watched: install the operator with --secret-access/,
    },
  },
  'secret reload without access to Secrets': {
    annotations: { [secretList]: 'pass.*' },
    found: { present: {}, secretAccess: false },
    ...{ sources: undefined, remark: /--secret-access/ },
  },
  'rollout-strategy: restart': {
    annotations: { [auto]: 'true', [strategy]: 'restart' },
    ...{ sources: both, more: { strategy: { type: 'Evict' } } },
  },
  'rollout-strategy: rollout': { annotations: { [auto]: 'true', [strategy]: 'rollout' }, sources: both },
  'pause-period as cooldown': {
    annotations: { [auto]: 'true', [pausePeriod]: '5m' },
    ...{ sources: both, more: { cooldown: { base: '5m', max: '5m' } } },
  },
  'pause-period of hours and minutes': {
    annotations: { [auto]: 'true', [pausePeriod]: '1h30m' },
    ...{ sources: both, more: { cooldown: { base: '1h30m', max: '1h30m' } } },
  },
  'pause-period that is none': {
    annotations: { [auto]: 'true', [pausePeriod]: '5 minutes' },
    ...{ sources: both, remark: /pause-period is no positive duration: write one such as 5m/ },
  },
  'pause-period: 0s': {
    annotations: { [auto]: 'true', [pausePeriod]: '0s' },
    ...{ sources: both, remark: /no positive duration/ },
  },
  'pause-period on a StatefulSet': {
    annotations: { [auto]: 'true', [pausePeriod]: '5m' },
    found: {
      present,
      resource: {
        group: 'apps',
        version: 'v1',
        plural: 'statefulsets',
        kind: 'StatefulSet',
        namespaced: true,
      },
    },
    ...{ sources: both, remark: /for Deployments alone/ },
  },
  'a Deployment that Reloader has paused': {
    annotations: { [auto]: 'true', 'deployment.reloader.stakater.com/paused-at': '2026-01-01T00:00:00Z' },
    ...{ paused: true, sources: both, remark: /Reloader has paused this Deployment: kubectl rollout resume/ },
  },
  'a Deployment that has been resumed': {
    annotations: { [auto]: 'true', 'deployment.reloader.stakater.com/paused-at': '2026-01-01T00:00:00Z' },
    sources: both,
  },
  'secretproviderclass auto': {
    annotations: { 'secretproviderclass.reloader.stakater.com/auto': 'true' },
    ...{ sources: undefined, remark: /a SecretProviderClass is not watched: have the driver sync it/ },
  },
  'secretproviderclass reload beside auto': {
    annotations: { [auto]: 'true', 'secretproviderclass.reloader.stakater.com/reload': 'vault' },
    ...{ sources: both, remark: /SecretProviderClass/ },
  },
  'auto with a volume of a SecretProviderClass': {
    annotations: { [auto]: 'true' },
    ...{ podSpec: csi, sources: both, remark: /SecretProviderClass/ },
  },
  "alerts, on Reloader's own Deployment": {
    podSpec: { containers: [{ name: 'reloader', env: [{ name: 'ALERT_ON_RELOAD', value: 'true' }] }] },
    ...{ sources: undefined, remark: /alerts of Reloader are not sent any more/ },
  },
  'what Reloader has written into a template': {
    templateAnnotations: { 'reloader.stakater.com/last-reloaded-from': '{}' },
    sources: undefined,
  },
  nothing: { sources: undefined },
};

describe("Reloader's annotations", () => {
  for (const [
    title,
    { found: more = { present }, sources, remark, more: fields = {}, ...parts },
  ] of Object.entries(rows)) {
    it(`${title}: ${sources ?? 'no ConfigWatcher'}`, () => {
      const { action, warning } = decide(workload(parts), found({ reloaderAnnotations: true, ...more }));
      assert.equal(action && sourcesText(action.watcher.spec), sources);
      if (remark) assert.match(warning?.message ?? '', remark);
      else assert.equal(warning, undefined);
      if (!action) return;
      const { spec } = action.watcher;
      const { cooldown = { base: '30s', max: '10m' } }: { readonly cooldown?: object } = fields;
      assert.deepEqual(spec.cooldown, cooldown);
      if ('strategy' in fields) assert.equal(spec.strategy?.type, 'Evict');
    });
  }

  it('mean nothing without their flag', () => {
    const parts = { annotations: { [auto]: 'true', [configMapList]: 'other' } };
    assert.deepEqual(decide(workload(parts), found({ present })), {});
  });

  it('mean nothing where our own annotation speaks', () => {
    const annotations = { [auto]: 'true', 'k8spatterns.io/restart-on-change': 'configmap/other' };
    const { action } = decide(workload({ annotations }), found({ present, reloaderAnnotations: true }));
    assert.deepEqual([action && sourcesText(action.watcher.spec)], ['ConfigMap/other']);
  });

  it('take restart-options as well', () => {
    const annotations = {
      [auto]: 'true',
      [pausePeriod]: '5m',
      'k8spatterns.io/restart-options': '{"dryRun": true}',
    };
    const { action } = decide(workload({ annotations }), found({ present, reloaderAnnotations: true }));
    assert.deepEqual([[action?.watcher.spec.dryRun, action?.watcher.spec.cooldown?.base]], [[true, '5m']]);
  });
});

describe('a source that comes, goes or is annotated', () => {
  for (const [title, annotations, kind, name, expected] of [
    ['that is referenced', { [auto]: 'true' }, 'ConfigMap', 'config', true],
    ['that is not referenced', { [auto]: 'true' }, 'ConfigMap', 'other', false],
    ['of another kind', { [configMapAuto]: 'true' }, 'Secret', 'password', false],
    ['that a pattern means', { [configMapList]: 'o.*' }, 'ConfigMap', 'other', true],
    ['that a pattern does not mean', { [configMapList]: 'x.*' }, 'ConfigMap', 'other', false],
    ['that may be matched', { [search]: 'true' }, 'Secret', 'password', true],
  ] as const) {
    it(`${title} ${expected ? 'concerns' : 'does not concern'} the workload`, () => {
      assert.equal(concerns(workload({ annotations }), kind, name, false), expected);
    });
  }
});

describe('a kind that gets no ConfigWatcher', () => {
  for (const [kind, remark] of [
    ['CronJob', /its next Job reads the new content by itself/],
    ['Job', /create it again/],
    ['Rollout', /a Rollout gets no ConfigWatcher of its own: write one/],
  ] as const) {
    it(`${kind} is told what to write instead`, () => {
      assert.match(remarkOnKind(kind, { [auto]: 'true' }) ?? '', remark);
      assert.equal(remarkOnKind(kind, { 'example.com/auto': 'true' }), undefined);
    });
  }
});
