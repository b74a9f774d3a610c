/** When a restart begins, and how many owners it takes at a time: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configWatchers } from '../../src/api/resources.ts';
import type { Pod } from '../../src/kubernetes/objects.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { inParallel } from '../fixtures/in-parallel.ts';
import { noteEvictions } from './configwatcher-evictions.ts';
import { setPaused } from './configwatcher-owner.ts';
import { events, isReady, Shop } from './configwatcher-shop.ts';
import { eventually } from './support.ts';

const timeout = 180_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };
/** Never now: it opens on the first of January. */
const closed = [{ schedule: '0 0 1 1 *', duration: '1m' }];

function askNow({ client, namespace }: Shop, value: string): Promise<unknown> {
  const key = { namespace, name: 'webapp-config-watcher' };
  const body = { metadata: { annotations: { 'k8spatterns.io/restart-now': value } } };
  return client.patch(configWatchers, key, { type: 'merge', body });
}

const hasStarted = (pod: Pod) => !isReady(pod) && pod.status?.phase === 'Running';

/** Creates a Deployment whose Pods do not get Ready; resolves with them once they have started. */
async function createBroken(shop: Shop, replicas: number, name: string): Promise<readonly Pod[]> {
  shop.breaksPods = true;
  await shop.createWorkload(replicas, 'Deployment', name);
  const started = await eventually(
    async () => {
      const found = (await shop.pods()).filter(hasStarted);
      return found.length === replicas && found;
    },
    { message: 'its Pods have started' },
  );
  shop.breaksPods = false;
  return started;
}

describe('a ConfigWatcher', { concurrency: 8 }, () => {
  it('restarts after the longest debounce while edits go on', { timeout }, async (t) => {
    const shop = await Shop.watched(t, 1, { debounce: { quiet: '6s', max: '8s' } });
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { pending } = await shop.until('it is seen', (status) => status.pending !== undefined);
    let edit = 0;
    const started = await eventually(
      async () => {
        await shop.patchConfigMap({ data: { message: `edit ${edit++}` } });
        return (await shop.status()).lastRestart?.startTime;
      },
      { timeout: 60_000, interval: 500, message: 'a restart starts' },
    );
    const waited = Date.parse(started) - Date.parse(pending?.since ?? '');
    assert.ok(waited >= 8000, `after ${waited} ms`);
  });

  it('waits for a cooldown that doubles, says so, and restarts for the last content alone', {
    timeout,
  }, async (t) => {
    const shop = await Shop.watched(t, 1, { cooldown: { base: '40s', max: '10m' } });
    await shop.patchConfigMap({ data: { message: 'second' } });
    const first = (await shop.restarted(1)).lastRestart;
    await shop.patchConfigMap({ data: { message: 'third' } });
    await shop.until('it waits', ({ pending }) => pending?.reason === 'Cooldown');
    assert.match((await shop.untilEvent('CooldownActive')).note ?? '', /^the next restart starts in \d+/);
    await shop.patchConfigMap({ data: { message: 'fourth' } });
    const { lastRestart, cooldownUntil, cooldownWaits } = await shop.restarted(2);
    const instant = (text = '') => Date.parse(text);
    assert.ok(instant(lastRestart?.startTime) - instant(first?.startTime) >= 40_000);
    assert.deepEqual([instant(cooldownUntil) - instant(lastRestart?.startTime), cooldownWaits], [80_000, 1]);
    await shop.allReady(1);
    assert.equal(shop.seen.length, 3);
  });

  it('waits for the longest gap alone where that is lowered in a longer one', { timeout }, async (t) => {
    const shop = await Shop.watched(t, 1, { cooldown: { base: '10m', max: '10m' } });
    await shop.patchConfigMap({ data: { message: 'second' } });
    const first = (await shop.restarted(1)).lastRestart;
    await shop.edit({ cooldown: { base: '1s', max: '25s' } });
    await shop.patchConfigMap({ data: { message: 'third' } });
    const { cooldownUntil = '' } = await shop.until('it waits for less', ({ cooldownUntil: until = '' }) => {
      return Date.parse(until) - Date.parse(first?.startTime ?? '') === 25_000;
    });
    const { lastRestart } = await shop.restarted(2);
    assert.ok(Date.parse(lastRestart?.startTime ?? '') >= Date.parse(cooldownUntil));
  });

  it('has the first gap of its cooldown again after a quiet time as long as the longest', {
    timeout: 240_000,
  }, async (t) => {
    // A new Pod has to serve for 10 s: the second change is to come well before the cooldown of the first is over.
    const shop = await Shop.watched(t, 1, { cooldown: { base: '35s', max: '50s' } });
    const gapAfter = async (restarts: number) => {
      await shop.patchConfigMap({ data: { message: `change ${restarts}` } });
      const { lastRestart, cooldownUntil = '', cooldownWaits } = await shop.restarted(restarts);
      await shop.allReady(1);
      const startedAt = Date.parse(lastRestart?.startTime ?? '');
      return { startedAt, gap: Date.parse(cooldownUntil) - startedAt, cooldownWaits };
    };
    const first = await gapAfter(1);
    const second = await gapAfter(2);
    assert.deepEqual([first.gap, second.gap, second.cooldownWaits], [35_000, 50_000, 1]);
    assert.ok(second.startedAt - first.startedAt >= 35_000, 'the second change waits');
    await eventually(() => Date.now() >= second.startedAt + 51_000, {
      timeout: 60_000,
      message: 'the quiet time is over',
    });
    const edited = Date.now();
    const third = await gapAfter(3);
    assert.deepEqual([third.gap, third.cooldownWaits], [35_000, undefined]);
    // A Pod made in the second of the edit has to be older than that, by whole seconds. The first gap would be longer.
    assert.ok(third.startedAt - edited < 34_000, `after ${third.startedAt - edited} ms`);
  });

  it('takes the smallest owner that serves first and alone, and one that does not serve last', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    // By name the other way round than by size.
    const sizes = { large: 3, middle: 2, small: 1 };
    for (const [name, replicas] of Object.entries(sizes)) await shop.deploy(replicas, 'Deployment', name);
    await createBroken(shop, 1, 'broken');
    const evicted: string[] = [];
    await shop.startOperator({ onConnect: noteEvictions(evicted) });
    const order = () => evicted.map((name) => name.split('-')[0]);
    await shop.watch({ ...atOnce, strategy: { maxOwners: 1 } });
    await shop.baselined();
    shop.isKubeletSlow = true;
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 8, { timeout: 40_000, message: 'the canary goes' });
    await shop.quiet();
    assert.deepEqual([order(), shop.seen.length], [['small'], 8], 'the others wait for its new Pod');
    shop.isKubeletSlow = false;
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(7);
    assert.deepEqual(order(), ['small', 'middle', 'middle', 'large', 'large', 'large', 'broken']);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [7, 14]);
  });

  it('takes one that serves whole before a smaller one of which a Pod is not Ready', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    // By name and by size it would be the first.
    const [mended] = await createBroken(shop, 2, 'partial');
    await shop.getsReady(mended?.metadata.name ?? '');
    await shop.createWorkload(3, 'Deployment', 'whole');
    await eventually(async () => (await shop.pods()).filter(isReady).length === 4, {
      message: 'the others serve',
    });
    const evicted: string[] = [];
    await shop.startOperator({ onConnect: noteEvictions(evicted) });
    const order = () => evicted.map((name) => name.split('-')[0]);
    // So that of either owner a Pod that serves would go.
    await shop.watch({ ...atOnce, strategy: { maxOwners: 1, maxUnavailable: 2 } });
    await shop.baselined();
    shop.isKubeletSlow = true;
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 7, { timeout: 40_000, message: 'the canary goes' });
    assert.deepEqual(order(), ['whole', 'whole']);
    shop.isKubeletSlow = false;
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(5);
    assert.deepEqual(order(), ['whole', 'whole', 'whole', 'partial', 'partial']);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [5, 10]);
  });

  it('counts an owner that is down before and after as done, last, and is not held up by it', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    // By name and by size it would be the first.
    await createBroken(shop, 1, 'broken');
    for (const name of ['web-0', 'web-1']) await shop.createWorkload(2, 'Deployment', name);
    await eventually(async () => (await shop.pods()).filter(isReady).length === 4, {
      message: 'the others serve',
    });
    const order: string[] = [];
    const onConnect = (client: Client) => {
      const evict = client.evict.bind(client);
      client.evict = (key, options) => {
        order.push(key.name.replace(/-[^-]+-[^-]+$/, ''));
        shop.breaksPods = order.at(-1) === 'broken';
        return evict(key, options);
      };
    };
    await shop.startOperator({ onConnect });
    await shop.watch({ ...atOnce, strategy: { maxOwners: 1 } });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { lastRestart, conditions } = await shop.restarted(1);
    assert.deepEqual(order, ['web-0', 'web-0', 'web-1', 'web-1', 'broken']);
    assert.deepEqual(
      [lastRestart?.restarted, lastRestart?.failed, lastRestart?.unavailable],
      [5, 0, undefined],
    );
    assert.equal(
      conditions?.some(({ type }) => type === 'Stalled'),
      false,
    );
    await eventually(async () => (await shop.pods()).some(hasStarted), {
      message: 'its new Pod has started',
    });
    assert.deepEqual([shop.seen.length, (await shop.pods()).filter(isReady).length], [10, 4]);
  });

  it('begins when its window opens, and carries a restart through its end', { timeout }, async (t) => {
    const shop = await Shop.watched(t, 3, { ...atOnce, strategy: { type: 'Evict' } });
    const opening = Math.ceil((Date.now() + 15_000) / 60_000) * 60_000;
    const at = new Date(opening);
    const schedule = `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`;
    await shop.edit({ windows: [{ schedule, duration: '30s' }] });
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.until('it waits for the window', ({ pending }) => pending?.reason === 'Window');
    shop.isKubeletSlow = true;
    const { lastRestart } = await shop.until('it begins', ({ pending }) => pending?.started !== undefined, {
      timeout: 120_000,
    });
    const late = Date.parse(lastRestart?.startTime ?? '') - opening;
    assert.ok(late >= 0 && late < 30_000, `${late} ms after the window opened`);
    await eventually(() => Date.now() > opening + 31_000, { timeout: 40_000, message: 'it is closed' });
    assert.equal(shop.seen.length, 4, 'one of three at a time');
    shop.isKubeletSlow = false;
    await shop.restarted(1);
    await shop.allReady(3);
    assert.equal(shop.seen.length, 6);
  });

  it('has a window in the time zone that it names', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    for (const name of ['zoned', 'plain']) await shop.createWorkload(1, 'Deployment', name);
    await shop.allReady(2);
    await shop.startOperator();
    // In India it is five hours and a half later than by UTC, all the year round.
    const opened = new Date(Date.now() + 5.5 * 3_600_000 - 60_000);
    const window = { schedule: `${opened.getUTCMinutes()} ${opened.getUTCHours()} * * *`, duration: '1h' };
    const watch = (name: string, timeZone: object) => {
      const podSelector = { app: 'webapp', deployment: name };
      return shop.watch({ ...atOnce, podSelector, windows: [{ ...window, ...timeZone }] }, name);
    };
    await watch('zoned', { timeZone: 'Asia/Kolkata' });
    await watch('plain', {});
    for (const name of ['zoned', 'plain']) await shop.baselined(name);
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.until('it waits', ({ pending }) => pending?.reason === 'Window', { name: 'plain' });
    await shop.until('it restarts', ({ restartCount }) => restartCount === 1, { name: 'zoned' });
    const left = await shop.allReady(2);
    const { pending } = await shop.status('plain');
    assert.deepEqual([pending?.reason, shop.seen.length], ['Window', 3]);
    const plain = left.find(({ metadata }) => metadata.labels?.deployment === 'plain');
    assert.ok(shop.seen.slice(0, 2).includes(plain?.metadata.uid ?? ''));
  });

  it('with nothing that waits tells that it was asked in vain, once, and does nothing', {
    timeout,
  }, async (t) => {
    const shop = await Shop.watched(t, 1, { windows: closed });
    await askNow(shop, 'in-vain');
    const { note } = await shop.untilEvent('NothingPending');
    assert.equal(note, 'restart-now: no change waits, so nothing is restarted');
    await shop.until('it is taken note of', ({ restartNow }) => restartNow === 'in-vain');
    // The same value does not count for what waits later.
    await shop.patchConfigMap({ data: { message: 'second' } });
    const first = await shop.until(
      'it waits for the window',
      (status) => status.pending?.reason === 'Window',
    );
    await shop.stopOperator();
    await shop.startOperator();
    await shop.patchConfigMap({ data: { message: 'third' } });
    const isSeen = ({ pending }: typeof first) =>
      pending !== undefined && pending.hash !== first.pending?.hash;
    const { pending, restartCount } = await shop.until('the next edit is seen', isSeen);
    assert.deepEqual([pending?.reason, restartCount, shop.seen.length], ['Window', 0, 1]);
    const { items } = await shop.client.list(events, { namespace: shop.namespace });
    const told = items.filter(({ reason }) => reason === 'NothingPending');
    assert.deepEqual([told.length, told[0]?.series], [1, undefined]);
    await askNow(shop, 'now');
    await shop.restarted(1);
    assert.equal(shop.seen.length, 2);
  });

  it('whose restart a paused rollout holds up opens no window by another edit', { timeout }, async (t) => {
    const shop = await Shop.watched(t, 1, { strategy: { type: 'RolloutRestart' } });
    await setPaused(shop, true);
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.until('it is Stalled', ({ pending }) => pending?.reason === 'Stalled');
    await shop.edit({ windows: closed });
    await shop.patchConfigMap({ data: { message: 'third' } });
    await shop.until('it waits for the window', ({ pending }) => pending?.reason === 'Window');
    await setPaused(shop, false);
    await shop.quiet();
    assert.equal(shop.seen.length, 1);
    await shop.edit({ windows: [] });
    await shop.restarted(1);
    await shop.allReady(1);
    assert.equal(shop.seen.length, 2);
  });

  it('that is suspended, or in a dry run, does not begin when asked to', { timeout }, async (t) => {
    const shop = await Shop.watched(t, 1, { suspend: true, windows: closed });
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.until('it is held', ({ pending }) => pending?.reason === 'Suspended');
    await askNow(shop, 'now');
    await shop.quiet();
    await shop.edit({ suspend: false, dryRun: true });
    await shop.until('it is told', ({ pending }) => pending?.reason === 'DryRun');
    await shop.quiet();
    assert.deepEqual([shop.seen.length, (await shop.status()).restartNow], [1, undefined]);
    await shop.edit({ dryRun: false });
    const { restartNow } = await shop.restarted(1);
    await shop.allReady(1);
    assert.deepEqual([restartNow, shop.seen.length], ['now', 2]);
  });
});

describe('a ConfigWatcher of many owners', { concurrency: 2 }, () => {
  for (const [what, owners, strategy, atATime] of [
    ['as many at a time as it may', 6, { maxOwners: 2 }, 2],
    ['ten at a time by default', 13, {}, 10],
  ] as const) {
    it(`takes one owner first, and ${what} when that serves`, { timeout }, async (t) => {
      const shop = await Shop.open(t);
      await shop.createConfigMap({ message: 'first' });
      for (let index = 0; index < owners; index++) {
        await shop.createWorkload(1, 'Deployment', `web-${index}`);
      }
      await shop.allReady(owners);
      await shop.startOperator();
      await shop.watch({ ...atOnce, strategy });
      await shop.baselined();
      await shop.patchConfigMap({ data: { message: 'second' } });
      const begun = (count: number, message: string) =>
        eventually(() => shop.seen.length === owners + count, { timeout: 40_000, message });
      await begun(1, 'the first owner begins');
      await shop.allReady(owners);
      shop.isKubeletSlow = true;
      await begun(1 + atATime, `${atATime} others begin`);
      await shop.quiet();
      assert.equal(shop.seen.length, owners + 1 + atATime, 'and no more');
      shop.isKubeletSlow = false;
      const { lastRestart } = await shop.restarted(1);
      await shop.allReady(owners);
      assert.deepEqual([lastRestart?.restarted, shop.seen.length], [owners, 2 * owners]);
    });
  }
});

describe('a ConfigWatcher that waits', { concurrency: 2 }, () => {
  it('keeps to the cooldown of a restart that another process has made', { timeout }, async (t) => {
    const shop = await Shop.watched(t, 1, { cooldown: { base: '40s', max: '10m' } });
    await shop.patchConfigMap({ data: { message: 'second' } });
    const first = (await shop.restarted(1)).lastRestart;
    await shop.patchConfigMap({ data: { message: 'third' } });
    await shop.until('it waits', ({ pending }) => pending?.reason === 'Cooldown');
    await shop.stopOperator();
    await shop.startOperator();
    await shop.quiet();
    const { pending, restartCount } = await shop.status();
    assert.deepEqual([pending?.reason, restartCount, shop.seen.length], ['Cooldown', 1, 2]);
    const { lastRestart, cooldownWaits } = await shop.restarted(2);
    const gap = Date.parse(lastRestart?.startTime ?? '') - Date.parse(first?.startTime ?? '');
    assert.ok(gap >= 40_000, `after ${gap} ms`);
    assert.equal(cooldownWaits, 1, 'the wait of both processes counts as one');
    await shop.allReady(1);
    assert.equal(shop.seen.length, 3);
  });

  it('applies an edit after the debounce that another process has begun, and not a whole one later', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(1);
    await shop.startOperator();
    await shop.watch({ debounce: { quiet: '40s', max: '5m' }, cooldown: { base: '0s' } });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const waits = await shop.until('it waits', ({ pending }) => pending?.reason === 'Debounce');
    await shop.stopOperator();
    const seenAt = Date.parse(waits.lastChangeTime ?? '');
    const halfOver = { timeout: 40_000, message: 'more than half of the debounce is over' };
    await eventually(() => Date.now() >= seenAt + 25_000, halfOver);
    await shop.startOperator();
    const { lastRestart, lastChangeTime } = await shop.restarted(1);
    const waited = Date.parse(lastRestart?.startTime ?? '') - seenAt;
    assert.ok(waited >= 40_000 && waited < 60_000, `after ${waited} ms`);
    assert.equal(lastChangeTime, waits.lastChangeTime, 'it is no other edit');
    await shop.allReady(1);
    assert.equal(shop.seen.length, 2);
  });

  it('begins while one of its windows is open, whatever another one says', { timeout }, async (t) => {
    const open = { schedule: '* * * * *', duration: '2m' };
    const shop = await Shop.watched(t, 1, { windows: closed });
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.until('it waits', ({ pending }) => pending?.reason === 'Window');
    await shop.edit({ windows: [...closed, open] });
    await shop.restarted(1);
    await shop.edit({ windows: [open, ...closed] });
    await shop.patchConfigMap({ data: { message: 'third' } });
    await shop.restarted(2);
    await shop.allReady(1);
    assert.equal(shop.seen.length, 3);
  });
});

it('forty ConfigWatchers of one ConfigMap are in the middle of their restarts at the same time', {
  timeout,
}, async (t) => {
  const count = 40;
  const shop = await Shop.open(t);
  const { client, namespace } = shop;
  await shop.createConfigMap({ message: 'first' });
  const names = Array.from({ length: count }, (_, index) => `web-${index}`);
  await inParallel(count, 8, async (index) => {
    const name = names[index] ?? '';
    await shop.createWorkload(1, 'Deployment', name);
    await shop.watch({ ...atOnce, podSelector: { deployment: name } }, name);
  });
  await shop.allReady(count);
  await shop.startOperator();
  for (const name of names) await shop.baselined(name);
  shop.isKubeletSlow = true;
  await shop.patchConfigMap({ data: { message: 'second' } });
  const begun = async () => {
    const { items } = await client.list(configWatchers, { namespace });
    return items.filter(({ status }) => status?.pending?.started !== undefined).length;
  };
  await eventually(async () => (await begun()) === count, { timeout: 60_000, message: 'all have begun' });
  await eventually(() => shop.seen.length === 2 * count, { timeout: 60_000, message: 'each Pod has gone' });
  // No new Pod has started.
  assert.equal(await begun(), count);
  shop.isKubeletSlow = false;
  for (const name of names) {
    await shop.until(`${name} is done`, ({ restartCount, pending }) => restartCount === 1 && !pending, {
      name,
    });
  }
  await shop.allReady(count);
  assert.equal(shop.seen.length, 2 * count);
});
