/** What ConfigWatchers write while they wait, or are stuck: nothing, and they are Ready. On a real API server. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ConfigWatcher } from '../../src/api/configwatcher.generated.ts';
import { configWatchers } from '../../src/api/resources.ts';
import { deployments } from '../../src/configwatcher/facts/workload.ts';
import { findCondition } from '../../src/kubernetes/conditions.ts';
import { configMaps } from '../../src/kubernetes/objects.ts';
import { Shop } from './configwatcher-shop.ts';
import { eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

interface Row {
  /** Of the watcher, its ConfigMap and its Deployment. */
  readonly name: string;
  readonly spec: Partial<ConfigWatcher['spec']>;
  /** What the change waits for, and of a stuck one the cause. */
  readonly waits: string;
  /** Status and reason. */
  readonly ready: string;
}

const watching = 'True Watching';
const rows: readonly Row[] = [
  // It opens on the first of January.
  {
    name: 'window',
    spec: { windows: [{ schedule: '0 0 1 1 *', duration: '1m' }] },
    ...{ waits: 'Window', ready: watching },
  },
  { name: 'suspended', spec: { suspend: true }, waits: 'Suspended', ready: watching },
  { name: 'dry', spec: { dryRun: true }, waits: 'DryRun', ready: watching },
  { name: 'cool', spec: { cooldown: { base: '2h', max: '4h' } }, waits: 'Cooldown', ready: watching },
  {
    name: 'paused',
    spec: { strategy: { type: 'RolloutRestart' } },
    ...{ waits: 'Stalled Paused', ready: 'True Paused' },
  },
  { name: 'broken', spec: {}, waits: 'Stalled NewPodsNotAvailable', ready: 'True NewPodsNotAvailable' },
  {
    name: 'missing',
    spec: { sources: [{ kind: 'ConfigMap', name: 'extra' }] },
    ...{ waits: 'SourceMissing', ready: 'False SourceMissing' },
  },
];

function conditionOf({ status }: ConfigWatcher, type: string): string[] {
  const found = findCondition(status?.conditions, type);
  return found ? [found.status, found.reason] : [];
}

it('ConfigWatchers that wait or are stuck are Ready where they work, and write nothing for ten minutes', {
  timeout: 180_000,
}, async (t) => {
  const shop = await Shop.open(t);
  const { client, namespace } = shop;
  const { options, proxy, advanceAtRest } = await timeTravel(t);
  await shop.createConfigMap({ message: 'first' }, 'extra');
  for (const { name, spec } of rows) {
    await shop.createConfigMap({ message: 'first' }, name);
    await shop.createWorkload(2, 'Deployment', name);
    const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };
    await shop.watch({ ...atOnce, configMap: name, podSelector: { deployment: name }, ...spec }, name);
  }
  await shop.allReady(2 * rows.length);
  const paused = { type: 'merge', body: { spec: { paused: true } } } as const;
  await client.patch(deployments, { namespace, name: 'paused' }, paused);
  await shop.startOperator(options);
  for (const { name } of rows) await shop.baselined(name);

  await shop.patchConfigMap({ data: { message: 'second' } }, 'cool');
  await shop.until(
    'a restart begins a cooldown',
    ({ restartCount, pending }) => restartCount === 1 && !pending,
    {
      name: 'cool',
    },
  );
  await client.delete(configMaps, { namespace, name: 'extra' });
  shop.crashesPods = true;
  for (const { name } of rows) await shop.patchConfigMap({ data: { message: 'third' } }, name);
  const found = async () => (await client.list(configWatchers, { namespace })).items;
  const states = (some: readonly ConfigWatcher[]) =>
    rows.map(({ name }) => {
      const watcher = some.find(({ metadata }) => metadata.name === name);
      const [, cause] = watcher ? conditionOf(watcher, 'Stalled') : [];
      const waits = [watcher?.status?.pending?.reason, ...(cause ? [cause] : [])].join(' ');
      return { name, waits, ready: watcher ? conditionOf(watcher, 'Ready').join(' ') : '' };
    });
  const expected = rows.map(({ name, waits, ready }) => ({ name, waits, ready }));
  const isThere = async () => JSON.stringify(states(await found())) === JSON.stringify(expected);
  await eventually(isThere, { timeout: 60_000, message: 'all of them wait' }).catch(async () =>
    assert.deepEqual(states(await found()), expected),
  );

  const writes = () => proxy.asked.filter(({ method }) => method !== 'GET');
  let known = -1;
  const isSettled = () => {
    const before = known;
    known = writes().length;
    return known === before;
  };
  // Events come behind the status.
  await eventually(isSettled, { timeout: 60_000, interval: 3000, message: 'all is told' });
  const before = await found();
  for (let step = 0; step < 120; step++) await advanceAtRest(5000);
  // What the last step has begun is over.
  await advanceAtRest(0);
  assert.deepEqual(writes().slice(known), []);
  const versions = (some: readonly ConfigWatcher[]) => some.map(({ metadata }) => metadata.resourceVersion);
  assert.deepEqual(versions(await found()), versions(before));

  const held = (await shop.status('suspended')).pending?.hash;
  await shop.patchConfigMap({ data: { message: 'fourth' } }, 'suspended');
  await shop.until('the operator works', ({ pending }) => pending !== undefined && pending.hash !== held, {
    name: 'suspended',
  });
});
