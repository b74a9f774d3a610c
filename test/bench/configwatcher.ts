/**
 * Benchmark of the kind ConfigWatcher, on a real API server, from its audit log: `make bench-configwatcher`.
 * The cluster has no controllers and no kubelet, so nothing but the operator and the load shares the machine,
 * and nothing waits for Pods to get Ready.
 *
 * Options: --changes=100 --watchers=200 --pods=200 --unrelated=5000; 0 leaves a scenario out.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { WatcherCluster } from './configwatcher-cluster.ts';
import { describeMachine } from './measure.ts';
import { printTable, type Row } from './table.ts';

const { values: options } = parseArgs({
  options: {
    changes: { type: 'string', default: '100' },
    watchers: { type: 'string', default: '200' },
    pods: { type: 'string', default: '200' },
    unrelated: { type: 'string', default: '5000' },
  },
});

/** A Pod made in the same second as the edit has to be waited for, which is not what is measured. */
const olderThanTheEdit = 2500;

/** @param share 0.5 for the median. */
function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** One edit after the other, each of a ConfigMap of its own with one Pod. */
async function oneByOne(cluster: WatcherCluster, count: number): Promise<Row[]> {
  const namespace = await cluster.namespace('one-by-one');
  await cluster.createShops(namespace, count, 1, 1);
  await cluster.untilBaselined(namespace);
  await sleep(olderThanTheEdit);
  for (let index = 0; index < count; index++) {
    await cluster.edit(namespace, index);
    await sleep(250);
  }
  await cluster.untilRestarted(namespace);
  const delays = await cluster.delays(namespace);
  if (delays.length !== count) throw new Error(`${delays.length} evictions for ${count} edits`);
  return [
    { what: 'edit → first eviction, p50', value: percentile(delays, 0.5), unit: 'ms' },
    { what: 'p99', value: percentile(delays, 0.99), unit: 'ms', target: { atMost: 25 } },
  ];
}

/** All at once, one Deployment each. */
async function allAtOnce(cluster: WatcherCluster, count: number): Promise<Row[]> {
  const namespace = await cluster.namespace('all-at-once');
  await cluster.createShops(namespace, count, 1, 1);
  await cluster.untilBaselined(namespace);
  await sleep(olderThanTheEdit);
  await Promise.all(Array.from({ length: count }, (_, index) => cluster.edit(namespace, index)));
  await cluster.untilRestarted(namespace);
  const { edits, evictions } = await cluster.requests(namespace);
  const seconds = (Math.max(...evictions.values()) - Math.max(...edits.values())) / 1000;
  return [{ what: 'last edit → last eviction', value: seconds, unit: 's', target: { atMost: 2 } }];
}

/** One ConfigMap for Pods of many owners. */
async function fanOut(cluster: WatcherCluster, owners: number, podsEach: number): Promise<Row[]> {
  const total = owners * podsEach;
  const floor = await cluster.nullEvictions(`floor-${owners}`, total);
  const namespace = await cluster.namespace(`fan-out-${owners}`);
  await cluster.createShops(namespace, 1, owners, podsEach);
  await cluster.untilBaselined(namespace);
  await sleep(olderThanTheEdit);
  await cluster.edit(namespace, 0);
  await cluster.untilRestarted(namespace);
  const { edits, evictions } = await cluster.requests(namespace);
  if (evictions.size !== total) throw new Error(`${evictions.size} evictions of ${total} Pods`);
  const took = Math.max(...evictions.values()) - Math.min(...edits.values());
  // More owners than ten at a time are not the API server's to bound.
  const target = owners <= 10 ? { target: { atMost: 1.3 } } : {};
  return [
    { what: 'null loader: all evictions', value: floor / 1000, unit: 's' },
    { what: 'operator: edit → last eviction', value: took / 1000, unit: 's' },
    { what: 'ratio to the null loader', value: took / floor, unit: '', ...target },
  ];
}

/** Big ConfigMaps that no watcher names. */
async function unrelated(cluster: WatcherCluster, count: number): Promise<Row[]> {
  const before = await cluster.restartOperator();
  const namespace = await cluster.namespace('unrelated');
  await cluster.createBigConfigMaps(namespace, count, 100_000);
  const after = await cluster.restartOperator();
  return [
    { what: 'RSS without them', value: before.rss, unit: 'MB' },
    { what: 'RSS with them', value: after.rss, unit: 'MB' },
    { what: 'more', value: after.rss - before.rss, unit: 'MB', target: { atMost: 20 } },
    {
      what: 'start to ready, later by',
      value: (after.ready - before.ready) / 1000,
      unit: 's',
      target: { atMost: 1 },
    },
  ];
}

const cluster = await WatcherCluster.start();
try {
  const [changes, watchers, pods, big] = [
    options.changes,
    options.watchers,
    options.pods,
    options.unrelated,
  ].map(Number) as [number, number, number, number];
  process.stdout.write(`${describeMachine()}\n`);
  // An API server that has just started is slower.
  await cluster.nullEvictions('warm-up', 100);
  if (changes > 0) printTable(`${changes} edits, one by one`, await oneByOne(cluster, changes));
  if (watchers > 0) printTable(`${watchers} ConfigMaps edited at once`, await allAtOnce(cluster, watchers));
  if (pods > 0) {
    printTable(`1 ConfigMap → 10 Deployments of ${pods / 10} Pods`, await fanOut(cluster, 10, pods / 10));
    printTable(`1 ConfigMap → ${pods} Deployments of 1 Pod`, await fanOut(cluster, pods, 1));
  }
  if (big > 0) printTable(`${big} unrelated ConfigMaps of 100 KB`, await unrelated(cluster, big));
} finally {
  await cluster.stop();
}
