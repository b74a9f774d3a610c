/**
 * Benchmark of the kind ConfigWatcher, on a real API server, from its audit log: `make bench-configwatcher`.
 * The cluster has no controllers and no kubelet, so nothing but the operator and the load shares the machine, and
 * only where the benchmark itself brings Pods back does anything wait for them to be Ready. Rollouts have a cluster of
 * their own, with the real controllers.
 *
 * Options: --changes=300 --watchers=200 --pods=1000 --deployments=200 --rollouts=200 --metadata=10000
 * --unrelated=5000 --seconds=300; 0 leaves a scenario out.
 */
import { parseArgs } from 'node:util';
import { WatcherCluster } from './configwatcher-cluster.ts';
import {
  allAtOnce,
  everySecond,
  fanOut,
  fanOutWaiting,
  metadataEdits,
  missedAndFolded,
  oneByOne,
  rollOut,
  unrelated,
} from './configwatcher-scenarios.ts';
import { describeMachine } from './measure.ts';
import { printTable, type Row } from './table.ts';

const { values: options } = parseArgs({
  options: {
    changes: { type: 'string', default: '300' },
    watchers: { type: 'string', default: '200' },
    pods: { type: 'string', default: '1000' },
    deployments: { type: 'string', default: '200' },
    rollouts: { type: 'string', default: '200' },
    metadata: { type: 'string', default: '10000' },
    unrelated: { type: 'string', default: '5000' },
    seconds: { type: 'string', default: '300' },
  },
});

type Scenario = readonly [
  size: string,
  title: string,
  run: (cluster: WatcherCluster, size: number) => Promise<Row[]>,
];

const scenarios: readonly Scenario[] = [
  [options.changes, '# edits, one by one', oneByOne],
  [options.watchers, '# ConfigMaps edited at once', allAtOnce],
  [options.pods, '1 ConfigMap → # Pods of 10 Deployments', (cluster, pods) => fanOut(cluster, 10, pods / 10)],
  [
    options.pods,
    '1 ConfigMap → # Pods of 10 Deployments, which come back',
    (cluster, pods) => fanOutWaiting(cluster, 10, pods / 10),
  ],
  [
    options.deployments,
    '1 ConfigMap → # Deployments of 1 Pod',
    (cluster, owners) => fanOutWaiting(cluster, owners, 1),
  ],
  [options.changes, 'edits in a burst, and unseen', missedAndFolded],
  [options.metadata, '# edits of metadata', metadataEdits],
  [options.seconds, 'an edit every second for # s', everySecond],
  [options.unrelated, '# unrelated ConfigMaps of 100 KB', unrelated],
];

const rollouts: readonly Scenario[] = [
  [options.rollouts, '1 ConfigMap → rollouts of # Deployments of 1 Pod', rollOut],
];

async function measure(wanted: readonly Scenario[], isByControllers: boolean): Promise<void> {
  const chosen = wanted.filter(([size]) => Number(size) > 0);
  if (chosen.length === 0) return;
  const cluster = await WatcherCluster.start({ controllerManager: isByControllers });
  try {
    // An API server that has just started is slower.
    await cluster.nullEvictions('warm-up', 100);
    for (const [size, title, run] of chosen) {
      printTable(title.replace('#', size), await run(cluster, Number(size)));
    }
  } finally {
    await cluster.stop();
  }
}

process.stdout.write(`${describeMachine()}\n`);
await measure(scenarios, false);
await measure(rollouts, true);
