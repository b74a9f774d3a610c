/** What simulations have found: each row is a plan that broke a promise, as small as it can be, with its story. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startsAt } from './plan/draw-ats.ts';
import type { Deed, FaultPlan, Plan } from './plan/plan.ts';
import { runPlan } from './run/run.ts';
import { Story } from './story.ts';

interface Regression {
  readonly sentence: string;
  /** The promise that it broke. */
  readonly promise: string;
  readonly plan: Partial<Plan>;
}

const minute = 60_000;
const metadata = (name: string) => ({ name, namespace: 'shop' });

function at(name: string, spec: object, when = 1): Deed {
  const past = '2019-04-12T10:12:00Z';
  const object = {
    apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
    kind: 'At',
    metadata: metadata(name),
    spec: { schedule: past, command: 'job --for=1000', ...spec },
  };
  return { at: when, do: 'create', resource: 'ats', name, object };
}

function pod(name: string, when = 1): Deed {
  const spec = { containers: [{ name: 'main', image: 'busybox', command: ['serve'] }] };
  const object = { apiVersion: 'v1', kind: 'Pod', metadata: metadata(name), spec };
  return { at: when, do: 'create', resource: 'pods', name, object };
}

/** A DaemonSet with its ConfigMap and its watcher. */
function app(spec: object): Deed[] {
  const create = (resource: string, apiVersion: string, kind: string, rest: object): Deed => {
    const object = { apiVersion, kind, metadata: { ...metadata('app'), labels: { app: 'app' } }, ...rest };
    return { at: 0, do: 'create', resource, name: 'app', object };
  };
  const container = {
    ...{ name: 'main', image: 'shop', command: ['serve', '--ready-after=500'], readinessProbe: {} },
    envFrom: [{ configMapRef: { name: 'app' } }],
  };
  const template = {
    metadata: { labels: { app: 'app' } },
    spec: { containers: [container], terminationGracePeriodSeconds: 1 },
  };
  const selector = { matchLabels: { app: 'app' } };
  const watcher = {
    ...{ configMap: 'app', podSelector: { app: 'app' }, strategy: { maxUnavailable: '50%' } },
    ...{ cooldown: { base: '0s', max: '0s' }, ...spec },
  };
  return [
    create('configmaps', 'v1', 'ConfigMap', { data: { message: 'one', other: 'one' } }),
    create('daemonsets', 'apps/v1', 'DaemonSet', { spec: { selector, template } }),
    create('configwatchers', 'k8spatterns.io/v1', 'ConfigWatcher', { spec: watcher }),
  ];
}

/** A Deployment whose ConfigMap names the Pods itself. */
function annotatedApp(): Deed[] {
  const annotations = { 'k8spatterns.io/podDeleteSelector': 'app=app' };
  const deeds: Deed[] = [];
  for (const deed of app({})) {
    if (deed.do !== 'create' || deed.resource === 'configwatchers') continue;
    const { spec } = deed.object as { readonly spec?: object };
    const object =
      deed.resource === 'configmaps'
        ? { ...deed.object, metadata: { ...metadata('app'), annotations } }
        : { ...deed.object, kind: 'Deployment', spec: { ...spec, replicas: 3 } };
    deeds.push({ ...deed, resource: deed.resource.replace('daemonsets', 'deployments'), object });
  }
  return deeds;
}

function configMap(name: string, data: object, when: number): Deed {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata(name), data };
  return { at: when, do: 'create', resource: 'configmaps', name, object };
}

/** The first Pod of the At `at-0` meets that. */
function podMeets(when: number, what: 'force-delete' | 'strip-owner'): Deed {
  return { at: when, do: 'pod', label: ['app', 'at-0'], index: 0, what };
}

function edit(when: number, data: object): Deed {
  return { at: when, do: 'patch', resource: 'configmaps', name: 'app', body: { data } };
}

const webhookDown: FaultPlan = {
  ...{ at: 10_000, fault: 'refuse', method: 'POST', path: '/pods', code: 500, for: 50 },
  message: 'failed calling webhook',
};

/** Two active replicas launch an At, and may not write that for half a minute. */
const unrecordedLaunch: Partial<Plan> = {
  ...{ duration: 2 * minute, replicas: 2 },
  faults: [
    {
      ...{ at: 29_000, fault: 'refuse', method: 'PATCH', path: '/ats', code: 403, for: 30_000 },
      message: 'the operator cannot do that',
    },
  ],
};
const longRun = at('at-0', { schedule: '2024-01-01T00:00:30Z', command: 'job --for=100000' });

const regressions: readonly Regression[] = [
  {
    sentence:
      'the watch cache is stale, and a stranger has the name: read four times a second until it is not',
    promise: 'R4',
    plan: {
      replicas: 2,
      deeds: [pod('at-0-pod'), at('at-0', { schedule: '2024-01-01T00:16:04Z' }, 2 * minute)],
      faults: [{ at: 15 * minute, fault: 'stale-cache', server: 0, for: 2 * minute }],
    },
  },
  {
    sentence:
      'a create without an answer, and then a stranger has the name: read four times a second for ever',
    promise: 'R4',
    plan: { deeds: [at('at-0', {}, 10_001), pod('at-0-pod', 10_002)], faults: [webhookDown] },
  },
  {
    sentence:
      'no replica leads and a starting deadline is over: a standby read the At three times a second until one led',
    promise: 'R4',
    plan: {
      ...{ election: true, duration: 2 * minute },
      deeds: [at('at-0', { schedule: '2024-01-01T00:01:02Z', startingDeadlineSeconds: 3 })],
      faults: [
        { at: 50_000, fault: 'suspend', replica: 0, for: 70_000 },
        { at: 119_900, fault: 'kill', replica: 0, for: 100 },
      ],
    },
  },
  {
    sentence:
      'a clock that is behind: lateness had fractions of a millisecond, and the API server took no status of a launch',
    promise: 'R2',
    plan: {
      clocks: [{ skew: -2000, drift: -0.0001 }],
      deeds: [at('at-0', { schedule: '2024-01-01T00:00:30Z' }, 1000)],
    },
  },
  {
    sentence:
      'a container that was restarted in place while a change waited kept the new content after the edit was taken back',
    promise: 'R3',
    plan: {
      duration: 5 * minute,
      deeds: [
        ...app({ strategy: { maxUnavailable: '50%', progressDeadlineSeconds: 10 } }),
        edit(150_455, { message: 'two' }),
        edit(165_919, { message: 'one' }),
      ],
      faults: [
        { at: 150_552, fault: 'node-off', node: 1, for: 1499, state: 'off' },
        {
          ...{ at: 150_627, fault: 'refuse', method: 'POST', path: '/pods', code: 403, for: 8353 },
          message: 'violates PodSecurity "restricted:latest": runAsNonRoot != true',
        },
      ],
    },
  },
  {
    sentence: "a proxy's page with 404 was taken for the absence of a ConfigMap",
    promise: 'S9',
    plan: {
      seed: 'pages-4',
      replicas: 2,
      deeds: app({ onDelete: 'Restart' }),
      faults: [{ at: 6, fault: 'bad-network', replica: 0, kind: 'page', rate: 0.5, for: 2 * minute }],
    },
  },
  {
    sentence: 'a key that did not count was edited before all keys did: first sight of it is the baseline',
    promise: 'R3',
    plan: {
      duration: 15 * minute,
      deeds: [
        ...app({ keys: ['message'] }),
        edit(2 * minute, { message: 'two' }),
        edit(4 * minute, { other: 'two' }),
        {
          ...{ at: 10 * minute, do: 'patch', resource: 'configwatchers', name: 'app' },
          body: { spec: { keys: null } },
        },
      ],
    },
  },
  {
    sentence:
      'statuses that say why Pods are refused were refused themselves: each was tried 40 times a second, without a back-off',
    promise: 'R4',
    plan: {
      deeds: ['a', 'b', 'c', 'd', 'e'].flatMap((name) => [
        at(name, { schedule: '2024-01-01T00:00:30Z' }),
        {
          at: 36_000,
          do: 'patch',
          resource: 'ats',
          name,
          body: { metadata: { labels: { touched: 'true' } } },
        },
      ]),
      faults: [
        {
          ...{ at: 20_000, fault: 'refuse', method: 'POST', path: '/pods', code: 403, for: 40_000 },
          message: 'exceeded quota: small, requested: pods=1, used: pods=7, limited: pods=7',
        },
        {
          ...{ at: 25_000, fault: 'refuse', method: '', path: '/ats', code: 403, for: 35_000 },
          message: 'the operator cannot do that',
        },
      ],
    },
  },
  {
    sentence:
      'an At was deleted without its Pod: the Pod was deleted from an old view in which it was its own',
    promise: 'S10',
    plan: {
      seed: 'mwsr6fq6-398',
      duration: 2 * minute,
      deeds: [
        at('at-0', {
          ...{ schedule: '2024-01-01T00:00:35.749Z', command: 'job --for=120000 --exit=3 --fails=1' },
          ...{ backoffLimit: 6, launchGuarantee: 'ExactlyOnce', activeDeadlineSeconds: 1 },
        }),
        { at: 77_000, do: 'delete', resource: 'ats', name: 'at-0', propagation: 'Orphan' },
      ],
      faults: [{ at: 66_875, fault: 'stale-cache', server: 0, for: 53_125 }],
    },
  },
  {
    sentence:
      'a replica whose connection was dead met an At that another one had launched long ago, and launched it again',
    promise: 'R1',
    plan: {
      ...{ seed: 'mwsr6fq6-52', duration: 30 * minute, replicas: 2 },
      deeds: [
        at('at-31', { schedule: '2024-01-01T00:19:09.4090001Z', image: 'absent' }, 1_077_475),
        at(
          'at-23',
          { schedule: '2024-01-01T00:19:09.409Z', command: 'job --for=0', backoffLimit: 0 },
          1_108_168,
        ),
      ],
      faults: [
        { at: 1_077_477, fault: 'half-open', replica: 0 },
        { at: 1_149_460, fault: 'crd-removed', resource: 'ats', for: 3782 },
      ],
    },
  },
  {
    sentence:
      'an annotated ConfigMap was edited and edited back while the cache of a new leader stood still: each write met a conflict, and the Pod born in between was forgotten',
    promise: 'R3',
    plan: {
      ...{ seed: 'mwssfmvv-672', duration: 5 * minute, replicas: 3, election: true },
      features: ['watcher-annotated'],
      deeds: [
        ...annotatedApp(),
        edit(121_030, { message: 'two' }),
        edit(181_123, { message: 'one' }),
        { at: 182_643, do: 'pod', label: ['app', 'app'], index: 0, what: 'force-delete' },
        edit(294_239, { message: 'two' }),
      ],
      faults: [
        { at: 128_717, fault: 'terminate', replica: 0, for: 171_283 },
        { at: 148_812, fault: 'stale-cache', server: 1, for: 151_188 },
        { at: 169_214, fault: 'sigstop', replica: 1, for: 18_966 },
      ],
    },
  },
  {
    sentence:
      'two active replicas without election had different reasons why an At has no Pod, and wrote them against each other a thousand times a second',
    promise: 'R4',
    plan: {
      ...{ seed: 'mwsyxot8-24', duration: 2 * minute, replicas: 2 },
      deeds: [
        at('at-30', { schedule: '2024-01-01T00:00:37.762Z', launchGuarantee: 'ExactlyOnce' }, 0),
        pod('at-30-pod', 0),
        at('at-35', { launchGuarantee: 'ExactlyOnce' }, 0),
        pod('at-35-pod', 0),
      ],
      faults: [
        { at: 45_991, fault: 'kill', replica: 1, for: 899 },
        {
          ...{ at: 47_526, fault: 'refuse', method: '', path: '', code: 403, for: 1480 },
          message: 'User "system:serviceaccount:atwatch-system:atwatch" cannot do that',
        },
      ],
    },
  },
  {
    sentence:
      'a machine slept while a content was edited, its Pods were rolled and a label was edited by the same hand: the edit was taken for as late as the label, and the Pods for older',
    promise: 'R3',
    plan: {
      ...{ seed: 'mwszcxdr-316', duration: 2 * minute, features: ['watcher-annotated'] },
      deeds: [
        ...annotatedApp(),
        edit(25_355, { message: 'two' }),
        {
          ...{ at: 25_356, do: 'patch', resource: 'deployments', name: 'app' },
          body: { spec: { template: { metadata: { annotations: { version: '858' } } } } },
        },
        {
          ...{ at: 33_900, do: 'patch', resource: 'configmaps', name: 'app' },
          body: { metadata: { labels: { touched: '72' } } },
        },
        edit(44_479, { message: 'one' }),
      ],
      faults: [{ at: 14_692, fault: 'suspend', replica: 0, for: 24_964 }],
    },
  },
  {
    sentence:
      'a standby had read that an At is gone, forgot it when it became the leader, and launched the At that its stale cache showed',
    promise: 'S3',
    plan: {
      ...{ seed: 'mwtc1d9n-1109', duration: 10 * minute, replicas: 2, election: true },
      deeds: [
        at(
          'at-12',
          {
            ...{
              schedule: '2024-01-01T00:01:51.479Z',
              command: 'job --for=400000 --on-term=0',
              backoffLimit: 0,
            },
            ttlSecondsAfterFinished: 60,
          },
          79_423,
        ),
        {
          ...{ at: 112_596, do: 'patch', resource: 'ats', name: 'at-12', subresource: 'status' },
          body: { status: { phase: 'DONE', outcome: 'Succeeded' } },
        },
        { at: 114_590, do: 'delete', resource: 'ats', name: 'at-12', propagation: 'Background' },
      ],
      faults: [
        { at: 56_863, fault: 'lease-stolen' },
        { at: 79_453, fault: 'server-down', server: 0, for: 24_698 },
        { at: 94_048, fault: 'stale-cache', server: 0, for: 38_484 },
        { at: 113_290, fault: 'kill', replica: 0, for: 10 },
      ],
    },
  },
  {
    sentence:
      'the clock of a leader was set back while its machine slept: neither of its clocks told that its lease had run out',
    promise: 'S11',
    plan: {
      ...{ seed: 'mwtc1d9n-1265', duration: 2 * minute, replicas: 2, election: true },
      deeds: [
        at(
          'at-9',
          {
            ...{ schedule: '2024-01-01T00:01:30.809Z', image: 'absent', pendingTimeoutSeconds: 0 },
            template: { spec: { nodeSelector: { tape: 'yes' } } },
          },
          0,
        ),
      ],
      faults: [
        { at: 91_811, fault: 'suspend', replica: 0, for: 28_189 },
        { at: 110_858, fault: 'clock-step', replica: 0, by: -3_600_000 },
      ],
    },
  },
  {
    sentence:
      'two active replicas had different counts of failed deletes, and wrote them against each other as fast as they could',
    promise: 'R4',
    plan: {
      ...{ seed: 'mwtc1d9n-385', duration: 2 * minute, replicas: 2 },
      features: ['watcher-annotated'],
      deeds: [...annotatedApp(), edit(58_985, { message: 'two' })],
      faults: [
        {
          ...{ at: 58_097, fault: 'refuse', method: 'DELETE', path: '/pods/', code: 500, for: 15_684 },
          message: 'overloaded',
        },
      ],
    },
  },
  {
    sentence:
      'after a quota was lifted, each turn went to an At whose name a stranger has, and the one that could run waited behind them',
    promise: 'L1',
    plan: {
      ...{ seed: 'mwtdirty-965', duration: 5 * minute },
      deeds: [
        pod('at-10-pod', 0),
        pod('at-20-pod', 0),
        pod('at-40-pod', 0),
        pod('at-42-pod', 222_389),
        at('at-10', { schedule: '2024-01-01T00:01:47.014Z', launchGuarantee: 'ExactlyOnce' }, 0),
        at('at-40', { schedule: '2024-01-01T00:01:47.014Z', image: 'absent' }, 54_862),
        at('at-20', { schedule: '2024-01-01T00:02:24.974Z', suspend: true }, 255_031),
        at('at-24', { backoffLimit: 1, pendingTimeoutSeconds: 60 }, 267_211),
        { at: 270_431, do: 'patch', resource: 'ats', name: 'at-20', body: { spec: { suspend: false } } },
        at('at-42', { launchGuarantee: 'ExactlyOnce', disruptionPolicy: 'Retry' }, 282_390),
      ],
      faults: [
        {
          ...{ at: 258_329, fault: 'refuse', method: 'POST', path: '/pods', code: 403, for: 41_671 },
          message: 'exceeded quota: small, requested: pods=1, used: pods=7, limited: pods=7',
        },
      ],
    },
  },
  {
    sentence: 'a source was deleted and made again as it was, which is no edit that a restart waits for',
    promise: 'S7',
    plan: {
      duration: 4 * minute,
      deeds: [
        ...app({
          keys: ['other'],
          debounce: { quiet: '10s', max: '30s' },
          sources: [{ kind: 'ConfigMap', name: 'extra' }],
        }),
        configMap('extra', { one: 'one' }, 0),
        { at: 70_963, do: 'delete', resource: 'configmaps', name: 'app' },
        { at: 185_629, do: 'patch', resource: 'configmaps', name: 'extra', body: { data: { one: 'two' } } },
        configMap('app', { message: 'two', other: 'one' }, 190_963),
      ],
    },
  },
  {
    sentence:
      'a replica saw the Pod of another one run and go away before a status recorded it, and ran it a second time',
    promise: 'S1',
    plan: { ...unrecordedLaunch, deeds: [longRun, podMeets(44_000, 'force-delete')] },
  },
  {
    sentence:
      'the owner of a running Pod was taken away before a status recorded it: it was taken for a foreign Pod, and run a second time',
    promise: 'S1',
    plan: {
      ...unrecordedLaunch,
      deeds: [longRun, podMeets(34_000, 'strip-owner'), podMeets(46_000, 'force-delete')],
    },
  },
  {
    sentence:
      'the caches stood still, and a replica had read the Pod of another one that went away before a status recorded it: it ran a second time',
    promise: 'S1',
    plan: {
      ...unrecordedLaunch,
      deeds: [longRun, podMeets(44_000, 'force-delete')],
      faults: [
        ...(unrecordedLaunch.faults ?? []),
        { at: 29_000, fault: 'stale-cache', server: 0, for: 40_000 },
      ],
    },
  },
];

function planOf(seed: string, plan: Partial<Plan>): Plan {
  const defaults = {
    duration: minute,
    replicas: 1,
    servers: 1,
    election: false,
    features: [],
    deeds: [],
    faults: [],
  };
  const { replicas = 1 } = plan;
  const clocks = Array.from({ length: replicas }, () => ({ skew: 0, drift: 0 }));
  return { ...defaults, seed, clocks, ...plan };
}

describe('what simulations have found', () => {
  for (const { sentence, promise, plan } of regressions) {
    it(`stays mended: ${sentence} (${promise})`, async () => {
      const story = new Story(startsAt);
      const { violations } = await runPlan(planOf(sentence, plan), { onEntry: (entry) => story.see(entry) });
      assert.deepEqual(violations, [], story.text(violations, 60));
    });
  }
});
