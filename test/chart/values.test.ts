/** Each value of the chart has its effect. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { describedValues } from '../../hack/generate/chart.ts';
import type { RuleFile } from '../manifests/queries.ts';
import { chart, find, helm, type Rendered, type Rendering, render, skip } from './helm.ts';
import { config, container, identity, image, type Look, names, pod, rightsOn } from './rendered.ts';

interface Row extends Rendering {
  /** What of the values it is about, as `--set` calls them. */
  readonly of: readonly string[];
  readonly look: Look;
  readonly expected: unknown;
}

const on = { enabled: true };
const digest = `sha256:${'0'.repeat(64)}`;
const bound = ['ClusterRole atwatch-operator-identity', 'ClusterRoleBinding atwatch-operator-identity'];
const cluster = [
  'ClusterRole atwatch-manager-role',
  'ClusterRole atwatch-workload-restarter-role',
  'ClusterRoleBinding atwatch-manager-rolebinding',
  'ClusterRoleBinding atwatch-workload-restarter-rolebinding',
];
const cds = ['CustomResourceDefinition'];
const toleration = { key: 'dedicated', operator: 'Equal', value: 'ops', effect: 'NoSchedule' };
const spread = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' };
const nodeAffinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } };

const rows: readonly Row[] = [
  {
    ...{ of: ['nameOverride'], values: { nameOverride: 'timer' }, release: 'blue' },
    ...{
      look: (objects) => names(objects, 'Deployment'),
      expected: ['Deployment atwatch-system/blue-timer-controller-manager'],
    },
  },
  {
    ...{ of: ['fullnameOverride'], values: { fullnameOverride: 'timer' } },
    ...{
      look: (objects) => names(objects, 'Deployment'),
      expected: ['Deployment atwatch-system/timer-controller-manager'],
    },
  },
  {
    ...{
      of: ['image.repository', 'image.tag'],
      values: { image: { repository: 'registry.example:5000/a/atwatch', tag: '1.2' } },
    },
    ...{ look: image, expected: 'registry.example:5000/a/atwatch:1.2' },
  },
  {
    ...{ of: ['image.digest'], values: { image: { tag: '1.2', digest } } },
    ...{ look: image, expected: `atwatch@${digest}` },
  },
  {
    ...{ of: ['image.pullPolicy'], values: { image: { pullPolicy: 'Always' } } },
    ...{ look: (objects) => container(objects).imagePullPolicy, expected: 'Always' },
  },
  {
    ...{ of: ['imagePullSecrets'], values: { imagePullSecrets: [{ name: 'registry' }] } },
    ...{ look: (objects) => pod(objects).spec.imagePullSecrets, expected: [{ name: 'registry' }] },
  },
  {
    ...{ of: ['replicas'], values: { replicas: 2 } },
    look: (objects) => [
      find(objects, 'Deployment').spec.replicas,
      pod(objects).spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution.length,
      find(objects, 'PodDisruptionBudget').spec.maxUnavailable,
    ],
    expected: [2, 2, 1],
  },
  {
    ...{
      of: ['podDisruptionBudget.maxUnavailable'],
      values: { replicas: 3, podDisruptionBudget: { maxUnavailable: '50%' } },
    },
    ...{ look: (objects) => find(objects, 'PodDisruptionBudget').spec.maxUnavailable, expected: '50%' },
  },
  {
    ...{
      of: ['podDisruptionBudget.enabled'],
      values: { replicas: 2, podDisruptionBudget: { enabled: false } },
    },
    look: (objects) => [find(objects, 'Deployment').spec.replicas, names(objects, 'PodDisruptionBudget')],
    expected: [2, []],
  },
  {
    ...{ of: ['leaderElection.enabled'], values: { leaderElection: { enabled: false } } },
    ...{ look: (objects) => config(objects)?.leaderElect, expected: false },
  },
  {
    ...{ of: ['namespaces'], values: { namespaces: ['a', 'b'] } },
    look: (objects) => [
      config(objects)?.namespaces,
      names(objects, 'Role', 'RoleBinding').filter((name) => name.includes('-manager-role')),
      names(objects, 'ClusterRoleBinding').filter((name) => !bound.includes(name)),
      find(objects, 'Role', 'atwatch-leader-election-role').metadata.namespace,
    ],
    expected: [
      ['a', 'b'],
      ['a', 'b']
        .map((one) => `Role ${one}/atwatch-manager-role`)
        .concat(['a', 'b'].map((one) => `RoleBinding ${one}/atwatch-manager-rolebinding`)),
      [],
      'atwatch-system',
    ],
  },
  {
    ...{ of: ['rolloutRestart'], values: { rolloutRestart: false } },
    look: (objects) => [
      ...['deployments', 'statefulsets', 'daemonsets'].map((one) => rightsOn(objects, 'apps', one)),
      names(objects, 'ClusterRoleBinding').filter((name) => name.includes('workload-restarter')),
    ],
    expected: [['get'], ['get'], ['get'], []],
  },
  {
    ...{ of: ['secretAccess'], values: { secretAccess: true } },
    look: (objects) => [config(objects)?.secretAccess, rightsOn(objects, '', 'secrets')],
    expected: [true, ['get', 'list', 'watch']],
  },
  {
    ...{ of: ['annotationController'], values: { annotationController: true } },
    look: (objects) => [config(objects)?.annotationController, rightsOn(objects, '', 'configmaps')],
    expected: [true, ['get', 'list', 'patch', 'watch']],
  },
  {
    ...{ of: ['annotatedWorkloads'], values: { annotatedWorkloads: true } },
    look: (objects) => [
      config(objects)?.annotatedWorkloads,
      rightsOn(objects, 'apps', 'daemonsets'),
      rightsOn(objects, 'k8spatterns.io', 'configwatchers'),
    ],
    expected: [
      true,
      ['get', 'list', 'watch'],
      ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
    ],
  },
  {
    ...{ of: ['reloaderAnnotations'], values: { reloaderAnnotations: true } },
    look: (objects) => [
      config(objects)?.annotatedWorkloads,
      config(objects)?.reloaderAnnotations,
      rightsOn(objects, 'batch', 'jobs'),
    ],
    expected: [true, true, ['list', 'watch']],
  },
  {
    ...{ of: ['autoReloadAll'], values: { autoReloadAll: true, reloaderAnnotations: true } },
    look: (objects) => config(objects)?.autoReloadAll,
    expected: true,
  },
  {
    ...{ of: ['authorCheck'], values: { authorCheck: true } },
    look: (objects) => [
      config(objects)?.authorCheck,
      names(objects, 'MutatingAdmissionPolicy', 'MutatingAdmissionPolicyBinding').length,
      rightsOn(objects, 'authorization.k8s.io', 'localsubjectaccessreviews'),
    ],
    expected: [true, 2, ['create']],
  },
  {
    ...{ of: ['failoverLaunchDelay'], values: { failoverLaunchDelay: '0' } },
    ...{ look: (objects) => config(objects)?.failoverLaunchDelay, expected: 0 },
  },
  {
    of: [
      'at.defaultImage',
      'at.defaultTtlSecondsAfterFinished',
      'at.defaultStartingDeadlineSeconds',
      'at.outputInStatus',
    ],
    values: {
      at: {
        defaultImage: 'registry.example/tools:1',
        defaultTtlSecondsAfterFinished: 0,
        defaultStartingDeadlineSeconds: 1_000_000_000,
        outputInStatus: false,
      },
    },
    look: (objects) => config(objects)?.atDefaults,
    expected: {
      image: 'registry.example/tools:1',
      ttlSecondsAfterFinished: 0,
      startingDeadlineSeconds: 1_000_000_000,
      outputInStatus: false,
    },
  },
  {
    ...{ of: ['secondGroup'], values: { secondGroup: true } },
    look: (objects) => [
      names(objects, ...cds).length,
      rightsOn(objects, 'k8spatterns.com', 'configwatchers/status'),
      ...['admin', 'edit', 'view'].map(
        (role) => find(objects, 'ClusterRole', `-${role}`).rules.at(-1).apiGroups,
      ),
    ],
    expected: [3, ['update'], ['k8spatterns.com'], ['k8spatterns.com'], ['k8spatterns.com']],
  },
  {
    of: ['logLevel', 'profiling.enabled', 'profiling.port'],
    values: { logLevel: 'debug', profiling: { enabled: true, port: 6061 } },
    look: (objects) => [config(objects)?.logLevel, config(objects)?.profilingBindAddress],
    expected: ['debug', '127.0.0.1:6061'],
  },
  {
    // A word that YAML would take for something else must come through as it is.
    ...{ of: ['extraArgs'], values: { extraArgs: ['--namespaces=1e3'] } },
    ...{ look: (objects) => config(objects)?.namespaces, expected: ['1e3'] },
  },
  {
    ...{ of: ['extraEnv'], values: { extraEnv: [{ name: 'HTTPS_PROXY', value: 'http://proxy' }] } },
    ...{
      look: (objects) => container(objects).env.at(-1),
      expected: { name: 'HTTPS_PROXY', value: 'http://proxy' },
    },
  },
  {
    ...{ of: ['crds.install'], values: { crds: { install: false } } },
    ...{ look: (objects) => names(objects, ...cds), expected: [] },
  },
  {
    ...{ of: ['crds.keep'], values: { crds: { keep: false } } },
    look: (objects) => objects.filter(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy']),
    expected: [],
  },
  {
    ...{ of: ['rbac.create'], values: { rbac: { create: false } } },
    look: (objects) => names(objects, 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'),
    expected: [...['admin', 'edit', 'view'].map((role) => `ClusterRole atwatch-${role}`), ...bound].sort(),
  },
  {
    ...{ of: ['rbac.aggregate'], values: { rbac: { aggregate: false } } },
    ...{
      look: (objects) => names(objects, 'ClusterRole', 'ClusterRoleBinding'),
      expected: [...cluster, ...bound].sort(),
    },
  },
  {
    ...{
      of: ['serviceAccount.create', 'serviceAccount.name'],
      values: { serviceAccount: { create: false, name: 'mine' } },
    },
    look: (objects) => [
      names(objects, 'ServiceAccount'),
      pod(objects).spec.serviceAccountName,
      find(objects, 'ClusterRoleBinding', '-manager-rolebinding').subjects[0].name,
      find(objects, 'RoleBinding').subjects[0].name,
      identity(objects).subjects,
    ],
    expected: [
      ...[[], 'mine', 'mine', 'mine'],
      [{ kind: 'ServiceAccount', name: 'mine', namespace: 'atwatch-system' }],
    ],
  },
  {
    ...{ of: ['serviceAccount.annotations'], values: { serviceAccount: { annotations: { a: 'b' } } } },
    ...{ look: (objects) => find(objects, 'ServiceAccount').metadata.annotations, expected: { a: 'b' } },
  },
  {
    ...{ of: ['admissionPolicies.enabled'], values: { admissionPolicies: { enabled: false } } },
    look: (objects) =>
      objects.filter(
        ({ kind = '', metadata: { name } }) => kind.startsWith('Validating') || name.includes('identity'),
      ),
    expected: [],
  },
  {
    of: ['admissionPolicies.allowedNamespaces'],
    values: { admissionPolicies: { allowedNamespaces: ['kube-system', '1e3'] } },
    look: (objects) => Object.values(identity(objects).metadata.annotations ?? {}),
    expected: ['kube-system,1e3'],
  },
  {
    ...{ of: ['networkPolicy.enabled'], values: { networkPolicy: { enabled: false } } },
    ...{ look: (objects) => names(objects, 'NetworkPolicy'), expected: [] },
  },
  {
    ...{ of: ['resources'], values: { resources: { requests: { cpu: 1 }, limits: { memory: '1Gi' } } } },
    look: (objects) => [
      container(objects).resources.requests.cpu,
      container(objects).resources.limits.memory,
    ],
    expected: [1, '1Gi'],
  },
  {
    ...{ of: ['nodeSelector'], values: { nodeSelector: { 'kubernetes.io/os': 'linux' } } },
    ...{ look: (objects) => pod(objects).spec.nodeSelector, expected: { 'kubernetes.io/os': 'linux' } },
  },
  {
    ...{ of: ['tolerations'], values: { tolerations: [toleration] } },
    ...{ look: (objects) => pod(objects).spec.tolerations, expected: [toleration] },
  },
  {
    ...{ of: ['affinity'], values: { affinity: nodeAffinity, replicas: 2 } },
    ...{ look: (objects) => pod(objects).spec.affinity, expected: nodeAffinity },
  },
  {
    ...{ of: ['topologySpreadConstraints'], values: { topologySpreadConstraints: [spread] } },
    ...{ look: (objects) => pod(objects).spec.topologySpreadConstraints, expected: [spread] },
  },
  {
    ...{ of: ['priorityClassName'], values: { priorityClassName: 'system-cluster-critical' } },
    ...{ look: (objects) => pod(objects).spec.priorityClassName, expected: 'system-cluster-critical' },
  },
  {
    ...{ of: ['podAnnotations'], values: { podAnnotations: { a: 'b' } } },
    ...{ look: (objects) => pod(objects).metadata.annotations.a, expected: 'b' },
  },
  {
    ...{ of: ['podLabels'], values: { podLabels: { team: 'ops' } } },
    look: (objects) => [
      pod(objects).metadata.labels.team,
      find(objects, 'Deployment').spec.selector.matchLabels.team,
    ],
    expected: ['ops', undefined],
  },
  {
    ...{ of: ['runAsUser', 'runAsGroup'], values: { runAsUser: null, runAsGroup: null } },
    look: (objects) => pod(objects).spec.securityContext,
    expected: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  },
  {
    of: ['metrics.secure', 'metrics.certificateSecret', 'serviceMonitor.tlsConfig'],
    values: {
      metrics: { enabled: true, secure: true, certificateSecret: 'metrics-tls' },
      serviceMonitor: { enabled: true, tlsConfig: { serverName: 'atwatch' } },
    },
    look: (objects) => [
      config(objects)?.secureMetrics,
      config(objects)?.metricsCertPath === container(objects).volumeMounts[0].mountPath,
      pod(objects).spec.volumes[0].secret.secretName,
      find(objects, 'ClusterRole', '-operator-identity').rules.map(({ resources }: Rendered) => resources[0]),
      find(objects, 'ClusterRole', '-metrics-reader').rules,
      find(objects, 'ServiceMonitor').spec.endpoints[0].scheme,
      find(objects, 'ServiceMonitor').spec.endpoints[0].tlsConfig,
    ],
    expected: [
      ...[true, true, 'metrics-tls', ['tokenreviews', 'subjectaccessreviews']],
      ...[[{ nonResourceURLs: ['/metrics'], verbs: ['get'] }], 'https', { serverName: 'atwatch' }],
    ],
  },
  {
    ...{ of: ['metrics.enabled', 'metrics.port'], values: { metrics: { enabled: true, port: 9090 } } },
    look: (objects) => [
      config(objects)?.metricsBindAddress,
      container(objects).ports[1],
      find(objects, 'Service').spec.ports,
      find(objects, 'NetworkPolicy').spec.ingress[1],
    ],
    expected: [
      ':9090',
      { name: 'metrics', containerPort: 9090 },
      [{ name: 'metrics', port: 9090, targetPort: 'metrics' }],
      {
        from: [{ namespaceSelector: { matchLabels: { metrics: 'enabled' } } }],
        ports: [{ protocol: 'TCP', port: 'metrics' }],
      },
    ],
  },
  {
    ...{ of: ['networkPolicy.metricsFrom'], values: { networkPolicy: { metricsFrom: [] }, metrics: on } },
    look: (objects) => find(objects, 'NetworkPolicy').spec.ingress[1],
    expected: { ports: [{ protocol: 'TCP', port: 'metrics' }] },
  },
  {
    of: ['serviceMonitor.enabled', 'serviceMonitor.labels', 'serviceMonitor.interval'],
    values: { metrics: on, serviceMonitor: { enabled: true, labels: { team: 'ops' }, interval: '5s' } },
    look: (objects) => {
      const { metadata, spec } = find(objects, 'ServiceMonitor');
      const service = find(objects, 'Service');
      const { port, interval } = spec.endpoints[0];
      const wanted = Object.entries(spec.selector.matchLabels);
      const selects = wanted.every(([key, value]) => service.metadata.labels?.[key] === value);
      return { team: metadata.labels?.team, interval, selects, port: port === service.spec.ports[0].name };
    },
    expected: { team: 'ops', interval: '5s', selects: true, port: true },
  },
  {
    of: ['prometheusRule.enabled', 'prometheusRule.labels'],
    values: { prometheusRule: { enabled: true, labels: { team: 'ops' } } },
    look: (objects) => {
      const { metadata, spec } = find(objects, 'PrometheusRule');
      return [metadata.labels?.team, spec.groups.length > 0];
    },
    expected: ['ops', true],
  },
  {
    of: ['prometheusRule.runbooks'],
    values: {
      prometheusRule: { enabled: true, runbooks: 'https://wiki.example/atwatch' },
      dashboard: { enabled: true },
    },
    look: (objects) => {
      const { groups } = find(objects, 'PrometheusRule').spec as RuleFile;
      const urls = groups.flatMap(({ rules }) => rules.map(({ annotations }) => annotations.runbook_url));
      const rest = JSON.stringify(find(objects, 'ConfigMap').data);
      return [
        urls.every((url) => /^https:\/\/wiki\.example\/atwatch#atwatch\w+$/.test(url ?? '')),
        rest.includes('https://wiki.example/atwatch'),
        rest.includes('atwatch.example'),
      ];
    },
    expected: [true, true, false],
  },
  {
    of: ['dashboard.enabled', 'dashboard.labels', 'dashboard.annotations'],
    values: { dashboard: { enabled: true, labels: { team: 'ops' }, annotations: { folder: 'Operators' } } },
    look: (objects) => {
      const { metadata, data } = find(objects, 'ConfigMap');
      const { team, grafana_dashboard: found } = metadata.labels ?? {};
      return [
        team,
        found,
        metadata.annotations,
        Object.keys(data),
        'panels' in JSON.parse(data['dashboard.json']),
      ];
    },
    expected: ['ops', '1', { folder: 'Operators' }, ['dashboard.json'], true],
  },
];

describe('values of the chart', { skip }, () => {
  it('are all tested here', async () => {
    const values = describedValues(await readFile('charts/atwatch/values.yaml', 'utf8'));
    assert.deepEqual(rows.flatMap(({ of }) => of).sort(), values.map(({ path }) => path).sort());
  });

  for (const { of, look, expected, ...rendering } of rows) {
    it(of.join(', '), async () => {
      assert.notDeepEqual(await presets(look), expected, 'it is so without the value, too');
      assert.deepEqual(look(await render(rendering)), expected);
    });
  }

  it('that YAML would take for numbers or truth come through as they are', async () => {
    const values = {
      ...{ namespaces: ['1e3'], fullnameOverride: '5', serviceAccount: { name: '1' } },
      ...{ priorityClassName: 'true', prometheusRule: on, metrics: on, serviceMonitor: on, dashboard: on },
    };
    const objects = await render({ release: 'true', namespace: '123', values });
    const instances = new Set<unknown>();
    for (const { kind, metadata } of objects) {
      assert.equal(typeof metadata.name, 'string', kind);
      assert.ok([undefined, '123', '1e3'].includes(metadata.namespace), kind);
      instances.add(metadata.labels?.['app.kubernetes.io/instance']);
    }
    assert.deepEqual([...instances], ['true']);
    assert.equal(
      find(objects, 'ServiceMonitor').spec.selector.matchLabels['app.kubernetes.io/instance'],
      'true',
    );
    const { serviceAccountName, priorityClassName } = pod(objects).spec;
    assert.deepEqual([serviceAccountName, priorityClassName], ['1', 'true']);
    assert.deepEqual(find(objects, 'RoleBinding', '-manager-rolebinding').subjects, [
      { kind: 'ServiceAccount', name: '1', namespace: '123' },
    ]);
  });

  it('keep large user numbers whole, such as OpenShift gives out', async () => {
    const input = JSON.stringify({ runAsUser: 1_000_650_000, runAsGroup: 1_000_660_000 });
    // The text: here 1.00065e+09 would be the same number, to the API server it is none for a user.
    const text = await helm(['template', 'atwatch', chart, '--values=-'], { input });
    assert.match(text, /runAsUser: 1000650000\n +runAsGroup: 1000660000\n/);
  });

  it('as they are, grant no right on Secrets and no right to change a workload', async () => {
    const objects = await defaults();
    const all = objects.filter(({ kind = '' }) => kind.endsWith('Role')).flatMap(({ rules: some }) => some);
    const touched = all.filter(({ resources }) => resources.includes('secrets'));
    assert.deepEqual(touched, []);
    assert.deepEqual(rightsOn(objects, 'apps', 'deployments'), ['get']);
  });

  it('as they are, follow the appVersion', async () => {
    const { appVersion } = parse(await readFile('charts/atwatch/Chart.yaml', 'utf8'));
    assert.equal(image(await defaults()), `atwatch:${appVersion}`);
  });
});

let rendered: Promise<readonly Rendered[]> | undefined;

/** What the chart renders without any value. */
function defaults(): Promise<readonly Rendered[]> {
  rendered ??= render({});
  return rendered;
}

async function presets(look: Look): Promise<unknown> {
  try {
    return look(await defaults());
  } catch {
    // There is no such object.
    return undefined;
  }
}
