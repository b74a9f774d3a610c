/** The scenarios of the ConfigWatcher benchmark, each in a namespace of its own, each the rows of a table. */
import { setTimeout as sleep } from 'node:timers/promises';
import { inParallel } from '../fixtures/in-parallel.ts';
import { concurrency, sentBy, type WatcherCluster } from './configwatcher-cluster.ts';
import { percentile } from './percentile.ts';
import type { Row } from './table.ts';

/** A Pod made in the same second as the edit has to be waited for, which is not what is measured. */
const olderThanTheEdit = 2500;
/** So long that an operator that wanted to restart something would have, ms. */
const quiet = 4000;
/** When the number of new Pods has been written to the status, ms. */
const untilCounted = 8000;
/** Watchers that see none of the edits, so that their Pods are the null loader's. */
const elsewhere = { configMap: 'absent', podSelector: { app: 'nobody' } };
/**
 * The API server brings its cache up to date for a consistent list ten times a second at most, so that the second of
 * two lists may wait for 100 ms: one restart keeps so far from the next, ms.
 */
const apart = 150;
/** So many of the slowest edits are told request by request. */
const toldSlowest = 3;

/** One edit after the other, each of a ConfigMap of its own with one Pod, and none before the last is done with. */
export async function oneByOne(cluster: WatcherCluster, count: number): Promise<Row[]> {
  const [floor, namespace] = [await cluster.namespace('one-floor'), await cluster.namespace('one-by-one')];
  await cluster.createShops(floor, { count, spec: elsewhere });
  await cluster.createShops(namespace, { count });
  await cluster.untilBaselined(namespace);
  await sleep(olderThanTheEdit);
  for (const one of [floor, namespace]) await cluster.untilSilent(one);
  // In turns, so that whatever else the machine does is in both.
  for (let index = 0; index < count; index++) {
    const shop = `shop-${index}`;
    await cluster.edit(namespace, shop, 'second');
    await sleep(apart);
    await cluster.untilDone(namespace, shop, 1);
    await sleep(apart);
    await cluster.edit(floor, shop, 'second');
    await cluster.nullRestart(floor, shop);
    await sleep(apart);
  }
  const [delays, floors] = [await cluster.delays(namespace), [...(await cluster.delays(floor)).values()]];
  if (delays.size !== count) throw new Error(`${delays.size} evictions for ${count} edits`);
  const slowest = [...delays].toSorted(([, one], [, other]) => other - one).slice(0, toldSlowest);
  for (const [shop, delay] of slowest) {
    process.stdout.write(`${await cluster.timeline(namespace, shop, delay)}\n`);
  }
  const all = [...delays.values()];
  const row = (what: string, values: readonly number[], share: number): Row => {
    return { what, value: percentile(values, share), unit: 'ms' };
  };
  return [
    row('null loader, the same requests: edit → eviction, p50', floors, 0.5),
    row('null loader, p99', floors, 0.99),
    row('operator: edit → first eviction, p50', all, 0.5),
    { ...row('operator, p99', all, 0.99), target: { atMost: 25 } },
    {
      what: 'ratio to the null loader, p50',
      value: percentile(all, 0.5) / percentile(floors, 0.5),
      unit: '',
    },
  ];
}

/** From the last edit to the last eviction, seconds. */
async function lastToLast(cluster: WatcherCluster, namespace: string): Promise<number> {
  const { edits, evictions } = await cluster.restarts(namespace);
  return (Math.max(...evictions.values()) - Math.max(...edits.values())) / 1000;
}

/** All at once, one Deployment each. */
export async function allAtOnce(cluster: WatcherCluster, count: number): Promise<Row[]> {
  const [floor, namespace] = [await cluster.namespace('all-floor'), await cluster.namespace('all-at-once')];
  await cluster.createShops(floor, { count, spec: elsewhere });
  await cluster.createShops(namespace, { count });
  await cluster.untilBaselined(namespace);
  await sleep(olderThanTheEdit);
  await inParallel(count, concurrency, (index) => cluster.edit(floor, `shop-${index}`, 'second'));
  await inParallel(count, concurrency, (index) => cluster.nullRestart(floor, `shop-${index}`));
  const cpuBefore = await cluster.cpu();
  await inParallel(count, concurrency, (index) => cluster.edit(namespace, `shop-${index}`, 'second'));
  await cluster.untilRestarted(namespace);
  const cpu = (await cluster.cpu()) - cpuBefore;
  const sent = await cluster.requests(namespace, sentBy.operator);
  const last = sent.findLastIndex(({ what }) => what === 'create pods/eviction');
  const since = sent.findIndex(({ what }) => what === 'create pods/eviction');
  const until = sent.slice(0, last).filter(({ received }) => received >= (sent[since]?.received ?? 0));
  const [took, base] = [await lastToLast(cluster, namespace), await lastToLast(cluster, floor)];
  return [
    { what: 'null loader, the same requests: last edit → last eviction', value: base, unit: 's' },
    { what: 'operator: last edit → last eviction', value: took, unit: 's', target: { atMost: 2 } },
    { what: 'ratio to the null loader', value: took / base, unit: '' },
    { what: 'CPU of the operator per restart, to its end', value: cpu / count, unit: 'ms' },
    { what: 'requests per restart, first to last eviction', value: until.length / count, unit: '' },
  ];
}

/** One ConfigMap for all Pods of a few owners, of which none comes back. */
export async function fanOut(cluster: WatcherCluster, owners: number, podsEach: number): Promise<Row[]> {
  const total = owners * podsEach;
  return besideFloor({
    ...{ floor: 'null loader: all evictions', last: 'eviction' },
    floorOf: (when) => cluster.nullEvictions(`floor-${owners}-${when}`, total),
    measure: async () => {
      const namespace = await cluster.namespace(`fan-out-${owners}`);
      await cluster.createShops(namespace, { count: 1, owners, podsEach });
      return await editToLast(cluster, namespace, 'evictions', total);
    },
  });
}

/** The most owners that a spec allows to be in the middle of a restart. */
const maxOwners = 50;

/**
 * One ConfigMap for many owners, as many Pods each. The first owner's new Pods have to stay Ready for ten seconds, which
 * both wait for; of the others each has its Pods back before another one goes in its place.
 */
export async function fanOutWaiting(
  cluster: WatcherCluster,
  owners: number,
  podsEach: number,
): Promise<Row[]> {
  const work = { owners, podsEach, atATime: maxOwners };
  const strategy = { type: 'Evict', maxUnavailable: '100%', maxOwners } as const;
  return besideFloor({
    floor: `null loader that waits for the same Pods, those of one owner and then of ${maxOwners} at a time: last eviction`,
    last: 'eviction',
    floorOf: (when) => cluster.nullRestarts(`waiting-floor-${owners}-${when}`, work),
    measure: async () => {
      const namespace = await cluster.namespace(`waiting-${owners}`);
      await cluster.createShops(namespace, { count: 1, owners, podsEach, spec: { strategy } });
      return await cluster.withReturningPods(namespace, () =>
        editToLast(cluster, namespace, 'evictions', owners * podsEach),
      );
    },
  });
}

/** The same by rollouts, with the real controllers: a change of each template. */
export async function rollOut(cluster: WatcherCluster, owners: number): Promise<Row[]> {
  const strategy = { type: 'RolloutRestart', maxOwners } as const;
  return besideFloor({
    floor: `null loader that waits for the same rollouts, one and then ${maxOwners} at a time: last change of a template`,
    last: 'change of a template',
    floorOf: (when) => cluster.nullRollouts(`rollout-floor-${when}`, { owners, atATime: maxOwners }),
    measure: async () => {
      const namespace = await cluster.namespace('rollouts');
      await cluster.createShops(namespace, { count: 1, owners, spec: { strategy } });
      await cluster.untilThere(namespace, owners);
      return await cluster.withReturningPods(namespace, () =>
        editToLast(cluster, namespace, 'rollouts', owners),
      );
    },
  });
}

/** Milliseconds. */
async function editToLast(
  cluster: WatcherCluster,
  namespace: string,
  what: 'evictions' | 'rollouts',
  total: number,
): Promise<number> {
  await cluster.untilBaselined(namespace);
  await sleep(olderThanTheEdit);
  await cluster.edit(namespace, 'shop-0', 'second');
  await cluster.untilRestarted(namespace);
  const { edits, [what]: writes } = await cluster.restarts(namespace);
  if (writes.size !== total) throw new Error(`${writes.size} ${what} instead of ${total}`);
  return Math.max(...writes.values()) - Math.min(...edits.values());
}

/** One measurement between two of the null loader, all in milliseconds. */
async function besideFloor(options: {
  /** What the null loader does. */
  readonly floor: string;
  /** What the operator does last. */
  readonly last: string;
  readonly floorOf: (when: 'before' | 'after') => Promise<number>;
  readonly measure: () => Promise<number>;
}): Promise<Row[]> {
  const before = await options.floorOf('before');
  const took = await options.measure();
  const floor = (before + (await options.floorOf('after'))) / 2;
  return [
    { what: `${options.floor}, before and after`, value: floor / 1000, unit: 's' },
    { what: `operator: edit → last ${options.last}`, value: took / 1000, unit: 's' },
    { what: 'ratio to the null loader', value: took / floor, unit: '', target: { atMost: 1.3 } },
  ];
}

/** Twenty edits within a second, and one while no operator runs, with the defaults of a watcher. */
export async function missedAndFolded(cluster: WatcherCluster): Promise<Row[]> {
  const namespace = await cluster.namespace('folded');
  const cooldown = { base: '0s' };
  await cluster.createShops(namespace, { count: 1, spec: { debounce: {}, cooldown } });
  await cluster.untilBaselined(namespace);
  await sleep(olderThanTheEdit);
  for (let edit = 0; edit < 20; edit++) {
    await cluster.edit(namespace, 'shop-0', `edit ${edit}`);
    await sleep(40);
  }
  await cluster.untilRestarted(namespace);
  await sleep(quiet);
  const folded = (await cluster.restartCounts(namespace)).get('shop-0') ?? 0;

  await cluster.stopOperator();
  await cluster.replacePod(namespace, 'shop-0-0', 'shop-0');
  await sleep(olderThanTheEdit);
  await cluster.edit(namespace, 'shop-0', 'while it was down');
  const begin = Date.now();
  await cluster.startOperator();
  await cluster.untilRestarted(namespace, folded + 1);
  const sent = await cluster.requests(namespace, sentBy.operator);
  const since = (what: string) => {
    const request = sent.find((one) => one.what === what && one.received >= begin);
    return ((request?.received ?? Number.NaN) - begin) / 1000;
  };
  return [
    { what: '20 edits in a second: restarts', value: folded, unit: '', target: { atLeast: 1, atMost: 1 } },
    {
      what: 'edited while it was down: start of the process → edit found',
      value: since('update configwatchers/status'),
      unit: 's',
      target: { atMost: 5 },
    },
    {
      what: 'the same → eviction, debounce of 2 s included',
      value: since('create pods/eviction'),
      unit: 's',
    },
  ];
}

/** Edits of labels, of ConfigMaps that watchers name and of others. */
export async function metadataEdits(cluster: WatcherCluster, count: number): Promise<Row[]> {
  const namespace = await cluster.namespace('metadata');
  const shops = 10;
  await cluster.createShops(namespace, { count: shops });
  await cluster.untilBaselined(namespace);
  for (let index = 0; index < shops; index++) await cluster.createConfigMap(namespace, `other-${index}`);
  await sleep(untilCounted);
  const before = await cluster.requests(namespace, sentBy.operator);
  const begin = performance.now();
  // Every eleventh edit is of a ConfigMap that no watcher selects.
  await inParallel(Math.round(count * 1.1), concurrency, async (index) => {
    const kind = index % 11 === 10 ? 'other' : 'shop';
    await cluster.edit(namespace, `${kind}-${index % shops}`, String(index), 'label');
  });
  const seconds = (performance.now() - begin) / 1000;
  await sleep(quiet);
  const sent = (await cluster.requests(namespace, sentBy.operator)).slice(before.length);
  const gets = sent.filter(({ what }) => what === 'get configmaps');
  const restarts = sent.filter(({ what }) => what === 'create pods/eviction');
  return [
    { what: 'edits of named ConfigMaps', value: count, unit: '' },
    { what: 'edits per second', value: (count * 1.1) / seconds, unit: '/s' },
    { what: 'restarts', value: restarts.length, unit: '', target: { atMost: 0 } },
    { what: 'GETs of named ConfigMaps', value: gets.length, unit: '', target: { atMost: count } },
    {
      what: 'GETs of others',
      value: gets.filter(({ name }) => name.startsWith('other')).length,
      unit: '',
      target: { atMost: 0 },
    },
    { what: 'other requests', value: sent.length - gets.length, unit: '', target: { atMost: 0 } },
  ];
}

/** An edit every second: a watcher with its defaults, and one that has no debounce. */
export async function everySecond(cluster: WatcherCluster, seconds: number): Promise<Row[]> {
  const rows: Row[] = [];
  const settings = [
    { name: 'defaults', spec: { debounce: {}, cooldown: {} } },
    { name: 'no debounce', spec: { debounce: { quiet: '0s' }, cooldown: {} } },
  ];
  // At 0, 30, 90, 210 s …: a watcher that had to wait doubles the next gap.
  const most = Math.ceil(Math.log2(seconds / 30 + 1)) + 1;
  const namespaces = await Promise.all(
    settings.map(({ name }) => cluster.namespace(`every-second-${name.replace(' ', '-')}`)),
  );
  for (const [index, { spec }] of settings.entries()) {
    const namespace = namespaces[index] ?? '';
    await cluster.createShops(namespace, { count: 1, spec });
    await cluster.untilBaselined(namespace);
  }
  await sleep(olderThanTheEdit);
  const end = performance.now() + seconds * 1000;
  for (let edit = 0; performance.now() < end; edit++) {
    await Promise.all(
      namespaces.map(async (namespace) => {
        await cluster.edit(namespace, 'shop-0', `edit ${edit}`);
        await cluster.replacePod(namespace, 'shop-0-0', 'shop-0');
      }),
    );
    await sleep(1000);
  }
  for (const [index, { name }] of settings.entries()) {
    const restarts = (await cluster.restartCounts(namespaces[index] ?? '')).get('shop-0') ?? 0;
    rows.push({ what: `restarts, ${name}`, value: restarts, unit: '', target: { atLeast: 1, atMost: most } });
  }
  return rows;
}

/** Big ConfigMaps that no watcher names. */
export async function unrelated(cluster: WatcherCluster, count: number): Promise<Row[]> {
  const before = await cluster.restartOperator();
  const namespace = await cluster.namespace('unrelated');
  await cluster.createBigConfigMaps(namespace, count, 100_000);
  const after = await cluster.restartOperator();
  const later = (after.ready - before.ready) / 1000;
  return [
    { what: 'RSS without them', value: before.rss, unit: 'MB' },
    { what: 'RSS with them', value: after.rss, unit: 'MB' },
    { what: 'more', value: after.rss - before.rss, unit: 'MB', target: { atMost: 20 } },
    { what: 'start to ready, later by', value: later, unit: 's', target: { atMost: 1 } },
  ];
}
