/** Restarts: what simulations have found about changes of contents, and the Pods that they concern. */
import type { Deed } from '../plan/plan.ts';
import {
  annotatedApp,
  app,
  asking,
  askingApp,
  barePod,
  budget,
  configMap,
  edit,
  editWatcher,
  minute,
  owner,
  type Regression,
} from './parts.ts';

/** Of an app without its DaemonSet, whose restarts follow each other soon. */
function ofApp(resource: string) {
  const cooldown = { base: '5s', max: '1m' };
  const deeds = app({ strategy: { type: 'Auto' }, debounce: { quiet: '0s' }, cooldown });
  return deeds.filter((deed) => deed.do === 'create' && deed.resource === resource);
}

/** From then on the watcher of the app selects these. */
function select(when: number, podSelector: object): Deed {
  return editWatcher(when, { podSelector });
}

/** The app, with a second, optional source. */
const appWithExtra: readonly Deed[] = [
  configMap('extra', { one: 'one' }, 0),
  ...app({ sources: [{ kind: 'ConfigMap', name: 'extra', optional: true }] }),
];

/** The container reads the ConfigMap `extra` as well. */
const readsExtra: Deed = {
  ...{ at: 1, do: 'patch', resource: 'daemonsets', name: 'app' },
  body: {
    spec: {
      template: {
        spec: {
          containers: [
            {
              ...{ name: 'main', image: 'shop', command: ['serve'] },
              envFrom: [
                { configMapRef: { name: 'app' } },
                { configMapRef: { name: 'extra', optional: true } },
              ],
            },
          ],
        },
      },
    },
  },
};

export const restarts: readonly Regression[] = [
  {
    sentence:
      'a mistake of the promise: Pods that the selector left out were to be counted in status after another edit of it had selected others',
    promise: 'R3',
    plan: {
      duration: 4 * minute,
      deeds: [
        ...app({ podSelector: { app: 'shop' }, debounce: { quiet: '10s' } }),
        owner('deployments', 'first', 'shop'),
        owner('deployments', 'second', 'other'),
        edit(2 * minute, { message: 'two' }),
        select(2 * minute + 1000, { app: 'none' }),
        select(2 * minute + 3000, { app: 'other' }),
      ],
    },
  },
  {
    sentence:
      'of three active replicas one took a second owner to try a content on, because it had not seen that another one changed the first',
    promise: 'R3',
    plan: {
      ...{ seed: 's32', duration: 2 * minute, replicas: 3 },
      deeds: [
        ...ofApp('configmaps'),
        owner('deployments', 'app-0', 'app', { replicas: 3 }),
        owner('deployments', 'app-1', 'app', {
          replicas: 3,
          strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
        }),
        owner('statefulsets', 'app-2', 'app', {
          replicas: 3,
          minReadySeconds: 1,
          updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } },
        }),
        ...ofApp('configwatchers').map((deed) => ({ ...deed, at: 1 })),
        edit(10_000, { message: 'two' }),
        edit(40_000, { message: 'three' }),
        {
          ...{ at: 41_000, do: 'patch', resource: 'statefulsets', name: 'app-2' },
          body: {
            spec: { template: { metadata: { annotations: { 'kubectl.kubernetes.io/restartedAt': '1' } } } },
          },
        },
        edit(44_000, { other: 'two' }),
        edit(60_592, { message: 'four' }),
      ],
    },
  },
  {
    sentence:
      'a mistake of the promise: the ConfigWatcher of a workload was to restart a Pod with the labels of that workload that nothing controls',
    promise: 'R3',
    plan: {
      ...{ duration: 2 * minute, features: ['watcher-of-workload'] },
      deeds: [
        configMap('app', { message: 'one' }, 0),
        asking(owner('statefulsets', 'db', 'app'), { strategy: { unmanagedPods: 'Delete' } }),
        barePod({ app: 'app', part: 'db' }),
        edit(30_000, { message: 'two' }),
      ],
    },
  },
  {
    sentence:
      'Pods that a restart had made without an optional source ran on without it when it was back as it was',
    promise: 'R3',
    plan: {
      duration: 4 * minute,
      deeds: [
        ...appWithExtra,
        readsExtra,
        { at: 30_000, do: 'delete', resource: 'configmaps', name: 'extra' },
        edit(minute, { message: 'two' }),
        configMap('extra', { one: 'one' }, 2 * minute),
      ],
    },
  },
  {
    sentence: 'a mistake of the promise: a restart counted as late from the end of an optional source on',
    promise: 'L3',
    plan: {
      duration: 3 * minute,
      deeds: [
        ...appWithExtra,
        { at: 5500, do: 'delete', resource: 'configmaps', name: 'extra' },
        edit(90_000, { message: 'two' }),
      ],
    },
  },
  {
    sentence: 'a mistake of the promise: an optional source was deleted, which restarts nothing',
    promise: 'R3',
    plan: {
      duration: 2 * minute,
      deeds: [
        ...app({ configMap: 'other', sources: [{ kind: 'ConfigMap', name: 'app', optional: true }] }),
        configMap('other', { one: 'one' }, 0),
        edit(20_000, { message: 'two' }),
        { at: 80_000, do: 'delete', resource: 'configmaps', name: 'app' },
      ],
    },
  },
  {
    sentence:
      'a mistake of the promise: a source was taken out, edited and put back, before the replica had recorded that it was out',
    promise: 'S9',
    plan: {
      ...{ duration: 2 * minute, features: ['watcher-of-workload'] },
      deeds: [
        ...askingApp(),
        {
          ...{ at: 61_000, do: 'patch', resource: 'configwatchers', name: 'daemonset-app' },
          body: { spec: { sources: [{ kind: 'ConfigMap', name: 'absent' }] } },
        },
        edit(75_000, { message: 'two' }),
      ],
      faults: [{ at: 60_000, fault: 'stale-cache', server: 0, for: 30_000 }],
    },
  },
  {
    sentence: 'an owner whose template could not be changed before its deadline was never tried again',
    promise: 'L8',
    plan: {
      duration: 8 * minute,
      deeds: [
        ...app({ strategy: { type: 'RolloutRestart', progressDeadlineSeconds: 10 } }),
        edit(2 * minute, { message: 'two' }),
      ],
      faults: [
        {
          ...{ at: 110_000, fault: 'refuse', method: 'PATCH', path: '/daemonsets/', code: 429, for: minute },
          message: 'too many requests',
        },
      ],
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
    sentence:
      'the CRD was removed while the connections of a replica were dead: it went on with an eviction by what its watch had shown before',
    promise: 'S10',
    plan: {
      duration: 6 * minute,
      deeds: [
        ...app({ debounce: { quiet: '0s' }, strategy: { type: 'Evict', progressDeadlineSeconds: 600 } }),
        budget('app'),
        edit(20_000, { message: 'two' }),
        { at: 2 * minute, do: 'delete', resource: 'poddisruptionbudgets', name: 'app' },
      ],
      faults: [
        { at: minute, fault: 'half-open', replica: 0 },
        { at: 70_000, fault: 'crd-removed', resource: 'configwatchers', for: 20_000 },
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
    sentence:
      'an edit after that of the keys, read with those of before while the watch was cut, was judged a restart without a change',
    promise: 'S8',
    plan: {
      duration: 5 * minute,
      deeds: [...app({}), editWatcher(2 * minute, { keys: ['other'] }), edit(125_000, { message: 'two' })],
      faults: [{ at: 110_000, fault: 'server-down', server: 0, for: 20_000 }],
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
        editWatcher(10 * minute, { keys: null }),
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
      'Pods could not be listed while a content was edited and edited back, and one started with what was there in between: nothing was recorded, and it kept that',
    promise: 'R3',
    plan: {
      duration: 4 * minute,
      deeds: [
        ...app({}),
        edit(50_000, { message: 'two' }),
        { at: 60_000, do: 'pod', label: ['app', 'app'], index: 0, what: 'delete' },
        edit(90_000, { message: 'one' }),
      ],
      faults: [
        { at: 30_000, fault: 'refuse', method: '', path: '/pods', code: 403, message: 'no', for: 90_000 },
      ],
    },
  },
  {
    sentence:
      'an edit was taken back while the watcher was suspended, with a Pod born in between, and a further source was named: what was owed to the Pod was given up',
    promise: 'R3',
    plan: {
      ...{ seed: 'mwxhe184-754', duration: 3 * minute },
      deeds: [
        ...app({ debounce: { quiet: '10s', max: '30s' } }),
        edit(50_000, { message: 'two' }),
        { at: 52_000, do: 'pod', label: ['app', 'app'], index: 0, what: 'delete' },
        {
          at: 56_000,
          do: 'patch',
          resource: 'configwatchers',
          name: 'app',
          body: { spec: { suspend: true } },
        },
        edit(70_000, { message: 'one' }),
        editWatcher(80_000, { sources: [{ kind: 'ConfigMap', name: 'further', optional: true }] }),
        {
          at: 90_000,
          do: 'patch',
          resource: 'configwatchers',
          name: 'app',
          body: { spec: { suspend: false } },
        },
      ],
    },
  },
  {
    sentence:
      'a source was edited before its ConfigMaps could be read for the first time: first sight is the baseline',
    promise: 'R3',
    plan: {
      ...{ seed: 'mwxhe184-1188', duration: 4 * minute },
      deeds: [
        ...app({ sources: [{ kind: 'ConfigMap', name: 'extra', optional: true }] }).map((deed) =>
          deed.do === 'create' && deed.resource === 'configwatchers' ? { ...deed, at: 12_000 } : deed,
        ),
        configMap('extra', { one: 'one' }, 0),
        readsExtra,
        { at: 20_000, do: 'delete', resource: 'configmaps', name: 'app' },
        { at: 30_000, do: 'patch', resource: 'configmaps', name: 'extra', body: { data: { one: 'two' } } },
        configMap('app', { message: 'one', other: 'one' }, 2 * minute),
      ],
      faults: [
        {
          at: 10_000,
          fault: 'refuse',
          method: '',
          path: '/configmaps',
          code: 403,
          message: 'no',
          for: minute,
        },
      ],
    },
  },
  {
    sentence:
      'a status that was taken for failed arrived after its edit had been taken back, and nobody looked at it again',
    promise: 'L3',
    plan: {
      ...{ seed: 'mwxln114-2135', duration: 14 * minute },
      deeds: [
        ...app({ cooldown: { base: '0s', max: '0s' } }),
        edit(60_000, { message: 'two' }),
        edit(61_500, { message: 'one' }),
      ],
      faults: [{ at: 59_000, fault: 'send-meets', method: 'PUT', path: '/status', skip: 0, late: 30_000 }],
    },
  },
  {
    sentence:
      'a change of a template that was on its way while the selector was edited counted as one for nothing',
    promise: 'S7',
    plan: {
      duration: 2 * minute,
      deeds: [
        ...app({ strategy: { type: 'RolloutRestart' } }),
        edit(20_000, { message: 'two' }),
        editWatcher(25_000, { podSelector: { app: 'other' } }),
      ],
      faults: [
        { at: 19_000, fault: 'send-meets', method: 'PATCH', path: '/daemonsets/', skip: 0, late: 10_000 },
      ],
    },
  },
  {
    sentence:
      'a content that works was to be tried again with one owner alone, because the selector was edited since',
    promise: 'R3',
    plan: {
      duration: 5 * minute,
      deeds: [
        ...app({
          podSelector: { app: 'shop' },
          strategy: { type: 'RolloutRestart' },
          debounce: { quiet: '1s' },
        }),
        owner('statefulsets', 'first', 'shop'),
        // Its restart is not done before the edit of the selector.
        owner('statefulsets', 'second', 'shop', { updateStrategy: { type: 'OnDelete' } }),
        owner('deployments', 'third', 'other'),
        owner('deployments', 'fourth', 'other'),
        edit(2 * minute, { message: 'two' }),
        select(4 * minute, { app: 'other' }),
      ],
    },
  },
  {
    sentence:
      'a template that was set back, because the edit was taken back, counted as one for a content that no Pod runs',
    promise: 'R3',
    plan: {
      duration: 5 * minute,
      deeds: [
        ...app({ podSelector: { app: 'shop' }, strategy: { type: 'Auto' }, debounce: { quiet: '0s' } }),
        owner('deployments', 'first', 'shop'),
        owner('deployments', 'second', 'shop', { replicas: 3, minReadySeconds: 3 }),
        edit(2 * minute, { message: 'two' }),
        edit(2 * minute + 14_000, { message: 'one' }),
      ],
    },
  },
  {
    sentence:
      'a change was taken back and a source had come by the time an operator looked: Pods that the selector had left out ran the content of now (mistake of the promise)',
    promise: 'R3',
    plan: {
      deeds: [
        ...app({}),
        editWatcher(20_000, { sources: [{ kind: 'ConfigMap', name: 'more' }] }),
        edit(22_000, { message: 'two' }),
        select(24_000, { app: 'other' }),
        edit(27_000, { message: 'one' }),
        configMap('more', { message: 'one' }, 28_000),
      ],
      faults: [{ at: 26_000, fault: 'kill', replica: 0, for: 4000 }],
    },
  },
  {
    sentence:
      'an owner had no Pod when the selector was edited so that it leaves it out, and was awaited until its deadline (mistake of the promise)',
    promise: 'L8',
    plan: {
      deeds: [
        ...app({ strategy: { type: 'Delete', maxUnavailable: '100%' } }),
        edit(30_000, { message: 'two' }),
        select(36_000, { app: 'other' }),
      ],
      faults: [{ at: 29_000, fault: 'restricted', for: 10_000 }],
    },
  },
];
