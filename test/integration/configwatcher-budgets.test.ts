/** Evictions that budgets refuse, on a real API server: what they keep back, and how often they are tried. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from '@prometheus-io/client';
import type { ConfigWatcherStatus } from '../../src/api/configwatcher.generated.ts';
import type { Pod } from '../../src/kubernetes/objects.ts';
import type { Logger } from '../../src/runtime/logger.ts';
import { forbidEvictions, noteEvictions } from './configwatcher-evictions.ts';
import { podDisruptionBudgets, Shop } from './configwatcher-shop.ts';
import { eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

const timeout = 180_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };

/** Keeps what is logged above debug. */
function recordingLogger(lines: string[]): Logger {
  const keep = (fields: object | string, message = '') =>
    void lines.push(`${JSON.stringify(fields)} ${message}`);
  const logger: Logger = { debug() {}, info: keep, warn: keep, error: keep, child: () => logger };
  return logger;
}

describe('a ConfigWatcher', { concurrency: 3 }, () => {
  for (const [cause, budgets, words] of [
    ['a budget of its own', ['one'], /disruption budget one needs 1 healthy pods and has 1 currently/],
    // The eviction API answers that with the code of an internal error.
    ['two budgets', ['one', 'two'], /more than one PodDisruptionBudget/],
  ] as const) {
    it(`restarts the other Pods of an owner whose first is kept by ${cause}, and tells it in an Event`, {
      timeout,
    }, async (t) => {
      const shop = await Shop.open(t);
      const { client, namespace } = shop;
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(3);
      const names = (await shop.pods()).map(({ metadata }) => metadata.name).sort();
      const [kept = ''] = names;
      await shop.label(kept, { kept: 'yes' });
      for (const name of budgets) {
        const spec = { minAvailable: 1, selector: { matchLabels: { kept: 'yes' } } };
        await client.create(podDisruptionBudgets, { metadata: { namespace, name }, spec });
      }
      await shop.startOperator();
      await shop.watch(atOnce);
      await shop.baselined();
      await shop.patchConfigMap({ data: { message: 'second' } });
      await shop.until('only that Pod is left', ({ pending, stalePods }) => {
        return pending?.reason === 'EvictionBlocked' && stalePods === 1;
      });
      const left = (await shop.allReady(3)).map(({ metadata }) => metadata.name);
      assert.deepEqual(
        names.filter((name) => left.includes(name)),
        [kept],
      );
      const { note = '' } = await shop.untilEvent('EvictionBlocked');
      assert.ok(note.startsWith(`${kept}: `), note);
      assert.match(note, words);
      for (const name of budgets) await client.delete(podDisruptionBudgets, { namespace, name });
      const { lastRestart } = await shop.restarted(1);
      await shop.allReady(3);
      assert.deepEqual([lastRestart?.restarted, shop.seen.length], [3, 6]);
    });
  }

  it('restarts an owner that is free, although budgets keep more owners than its status names', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    const names = Array.from({ length: 60 }, (_, index) => `kept-${index}`);
    for (const name of names) await shop.createWorkload(1, 'Deployment', name);
    // By its name the last one.
    await shop.createWorkload(1, 'Deployment', 'web');
    const selector = { matchExpressions: [{ key: 'deployment', operator: 'NotIn', values: ['web'] }] };
    const budget = { namespace, name: 'webapp' };
    await client.create(podDisruptionBudgets, { metadata: budget, spec: { maxUnavailable: 0, selector } });
    await shop.allReady(61);
    await shop.startOperator();
    await shop.watch({ ...atOnce, strategy: { maxOwners: 50, canary: false } });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { pending } = await shop.until('the free one has gone', ({ stalePods }) => stalePods === 60);
    const { reason, owners = [] } = pending ?? {};
    assert.equal(reason, 'EvictionBlocked');
    assert.ok(owners.length > 35 && owners.length <= 50, `${owners.length} owners`);
    assert.ok(owners.every(({ name }) => name !== undefined));
    await shop.allReady(61);
    assert.equal(shop.seen.length, 62);
  });

  it('whose first owner is kept by a budget tries its content on one of the others alone', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client } = shop;
    await shop.createConfigMap({ message: 'first' });
    const names = ['web-0', 'web-1', 'web-2', 'web-3'];
    for (const name of names) await shop.createWorkload(1, 'Deployment', name);
    const old = await shop.allReady(4);
    const budget = await forbidEvictions(shop, 1, { deployment: 'web-0' });
    const evicted: string[] = [];
    await shop.startOperator({ onConnect: noteEvictions(evicted) });
    await shop.watch(atOnce);
    await shop.baselined();
    const isNew = ({ metadata }: Pod) => !old.some((one) => one.metadata.uid === metadata.uid);
    const restarted = async () =>
      (await shop.pods()).filter(isNew).map(({ metadata }) => metadata.labels?.deployment);
    shop.isKubeletSlow = true;
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length > 4, { timeout: 40_000, message: 'one of the others goes' });
    await shop.quiet();
    assert.deepEqual([await restarted(), shop.seen.length], [['web-1'], 5], 'and that alone');
    assert.match(evicted[0] ?? '', /^web-0-/);
    shop.isKubeletSlow = false;
    await shop.until('one is left', ({ pending, stalePods }) => {
      return pending?.reason === 'EvictionBlocked' && stalePods === 1;
    });
    await shop.allReady(4);
    assert.deepEqual((await restarted()).sort(), ['web-1', 'web-2', 'web-3']);
    await client.delete(podDisruptionBudgets, budget);
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(4);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [4, 8]);
  });

  for (const [when, progressDeadlineSeconds] of [
    ['before its deadline', 600],
    ['past its deadline', 10],
  ] as const) {
    it(`says ${when} how a budget lets a broken Pod go, and goes on when it does`, { timeout }, async (t) => {
      const shop = await Shop.watched(t, 3, { strategy: { progressDeadlineSeconds } });
      const { client } = shop;
      shop.crashesPods = true;
      await shop.patchConfigMap({ data: { message: 'bad' } });
      await shop.until('it is Stalled', ({ pending }) => pending?.reason === 'Stalled');
      const budget = await forbidEvictions(shop, 3);
      shop.crashesPods = false;
      await shop.patchConfigMap({ data: { message: 'good' } });
      const isBlocked = ({ pending }: ConfigWatcherStatus) => pending?.reason === 'EvictionBlocked';
      const isLate = ({ conditions = [] }: ConfigWatcherStatus) =>
        conditions.some(({ type, reason }) => type === 'Stalled' && reason === 'EvictionBlocked');
      const isPast = progressDeadlineSeconds < 600;
      const { conditions } = await shop.until('the budget is told', isPast ? isLate : isBlocked);
      assert.match(
        conditions?.find(({ type }) => type === 'Ready')?.message ?? '',
        /unhealthyPodEvictionPolicy: AlwaysAllow lets Pods go that are not Ready/,
      );
      assert.equal(shop.seen.length, 4);
      const body = { spec: { unhealthyPodEvictionPolicy: 'AlwaysAllow' } };
      await client.patch(podDisruptionBudgets, budget, { type: 'merge', body });
      await eventually(() => shop.seen.length === 5, {
        timeout: 60_000,
        message: 'the broken Pod is replaced',
      });
      await client.delete(podDisruptionBudgets, budget);
      await shop.until('the good content is applied', ({ pending }) => pending === undefined);
      await shop.allReady(3);
      assert.equal(shop.seen.length, 7);
    });
  }

  it('is Stalled past its deadline by a budget, and finishes when that allows it', { timeout }, async (t) => {
    const shop = await Shop.watched(t, 2, { strategy: { progressDeadlineSeconds: 10 } });
    const { client } = shop;
    const budget = await forbidEvictions(shop, 2);
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { pending, conditions } = await shop.until('it is Stalled', (status) =>
      Boolean(status.conditions?.some(({ type }) => type === 'Stalled')),
    );
    const stalled = conditions?.find(({ type }) => type === 'Stalled');
    assert.deepEqual(
      [pending?.reason, stalled?.status, stalled?.reason],
      ['Stalled', 'True', 'EvictionBlocked'],
    );
    assert.match(stalled?.message ?? '', /^Deployment webapp: .*never allows one to go: lower minAvailable/);
    assert.equal((await shop.untilEvent('RestartStalled')).note, stalled?.message);
    assert.equal(conditions?.find(({ type }) => type === 'Ready')?.status, 'True');
    assert.equal(shop.seen.length, 2);
    const body = { spec: { minAvailable: 1 } };
    await client.patch(podDisruptionBudgets, budget, { type: 'merge', body });
    const done = await shop.restarted(1);
    await shop.allReady(2);
    assert.deepEqual([done.lastRestart?.restarted, shop.seen.length], [2, 4]);
    assert.equal(
      done.conditions?.some(({ type }) => type === 'Stalled'),
      false,
    );
  });

  it('tries a Pod that a budget keeps ever less often, and logs that once', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const lines: string[] = [];
    const tries: { readonly name: string; readonly at: number }[] = [];
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(3);
    const budget = { metadata: { namespace, name: 'webapp' } };
    const spec = { minAvailable: 3, selector: { matchLabels: { app: 'webapp' } } };
    await client.create(podDisruptionBudgets, { ...budget, spec });
    await shop.startOperator({
      log: recordingLogger(lines),
      onConnect(connected) {
        const evict = connected.evict.bind(connected);
        connected.evict = (key, options) => {
          tries.push({ name: key.name, at: performance.now() });
          return evict(key, options);
        };
      },
    });
    await shop.watch(atOnce);
    await shop.baselined();
    lines.length = 0;
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.until('the eviction is refused', ({ pending }) => pending?.reason === 'EvictionBlocked');
    const ofFirst = await eventually(
      async () => {
        const some = tries.filter(({ name }) => name === tries[0]?.name);
        return some.length >= 4 && some.map(({ at }) => at);
      },
      { timeout: 90_000, message: 'one Pod is tried a fourth time' },
    );
    // At least half of one, two and four seconds.
    const took = (ofFirst[3] ?? 0) - (ofFirst[0] ?? 0);
    assert.ok(took > 3500, `four tries in ${took} ms`);
    assert.equal(new Set(tries.map(({ name }) => name)).size, 3, 'each Pod had its turn');
    const refusals = lines.filter((line) => line.endsWith('a disruption budget keeps a Pod'));
    assert.deepEqual([refusals.length, new Set(refusals).size], [3, 3], lines.join('\n'));
    assert.ok(lines.length <= 10, lines.join('\n'));
    assert.equal(shop.seen.length, 3);
  });

  it('logs a refusal that stays the same once an hour, and another one at once', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const { options, proxy, advanceAtRest } = await timeTravel(t);
    const lines: string[] = [];
    const logged = (words: string) => lines.filter((line) => line.endsWith(words)).length;
    const tries = () => proxy.asked.filter(({ path }) => path.endsWith('/eviction')).length;
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(1);
    await forbidEvictions(shop, 1);
    await shop.startOperator({ ...options, log: recordingLogger(lines) });
    await shop.watch(atOnce);
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const byBudget = 'a disruption budget keeps a Pod';
    await eventually(() => logged(byBudget) === 1, {
      timeout: 60_000,
      message: 'the first refusal is logged',
    });

    let seconds = 0;
    /** The Pod is not tried in the first part of the time, and is in the second. */
    const nextTry = async (...parts: readonly number[]) => {
      const before = tries();
      for (const part of parts) {
        await advanceAtRest(part * 1000);
        seconds += part;
      }
      await eventually(() => tries() > before, { message: `another try in ${parts.join(' and ')} seconds` });
    };
    while (tries() < 13) await nextTry(16);
    while (logged(byBudget) < 2 && seconds < 7200) await nextTry(50, 25);
    assert.ok(seconds > 2700 && seconds < 5400, `logged again after ${seconds} seconds`);
    assert.ok(tries() < 80, `${tries()} tries in ${seconds} seconds`);
    assert.equal(logged(byBudget), 2);

    const spec = { minAvailable: 1, selector: { matchLabels: { app: 'webapp' } } };
    await client.create(podDisruptionBudgets, { metadata: { namespace, name: 'other' }, spec });
    await nextTry(50, 25);
    const bySeveral = 'a Pod has more than one disruption budget';
    await eventually(() => logged(bySeveral) === 1, { message: 'the other refusal is logged' });
    assert.deepEqual([logged(byBudget), shop.seen.length], [2, 1]);
  });
});

it('evictions of a ConfigWatcher that budgets refuse are not counted as errors', { timeout }, async (t) => {
  const shop = await Shop.open(t);
  const { client, namespace } = shop;
  await shop.createConfigMap({ message: 'first' });
  await shop.deploy(3);
  await shop.deploy(1, 'Deployment', 'twofold');
  await forbidEvictions(shop, 3, { deployment: 'webapp' });
  // The eviction API answers that it cannot choose between them, with the code of an internal error.
  for (const name of ['one', 'two']) {
    const spec = { maxUnavailable: 1, selector: { matchLabels: { deployment: 'twofold' } } };
    await client.create(podDisruptionBudgets, { metadata: { namespace, name }, spec });
  }
  const [registry, tries] = [new Registry(), [] as string[]];
  await shop.startOperator({ registry, onConnect: noteEvictions(tries) });
  const value = async (series: string) => {
    const [, text] = (await registry.metrics()).split(`\ncontroller_runtime_${series} `);
    return Number.parseInt(text ?? '', 10);
  };
  const ofController = 'controller="configwatcher"';
  const errors = () => value(`reconcile_errors_total{${ofController}}`);
  const failures = () => value(`reconcile_total{${ofController},result="error"}`);
  await shop.watch(atOnce);
  await shop.baselined();
  const before = [await errors(), await failures()];
  await shop.patchConfigMap({ data: { message: 'second' } });
  const triesOf = (owner: string) => tries.filter((name) => name.startsWith(owner)).length;
  await eventually(() => triesOf('webapp') >= 3 && triesOf('twofold') >= 2, {
    timeout: 90_000,
    message: 'evictions are refused and tried again',
  });
  const { pending, conditions, lastRestart } = await shop.until('they are told', ({ pending: now }) => {
    return now?.reason === 'EvictionBlocked';
  });
  assert.deepEqual([pending?.reason, lastRestart?.failed], ['EvictionBlocked', 0]);
  assert.equal(conditions?.find(({ type }) => type === 'Ready')?.status, 'True');
  assert.deepEqual([before, await errors(), await failures(), shop.seen.length], [[0, 0], 0, 0, 4]);
});
