/** What goes wrong around a restart: it touches no other Pod and is made good, on a real API server. */
import assert from 'node:assert/strict';
import { Transform } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import type { ConfigWatcherStatus } from '../../../src/api/configwatcher.generated.ts';
import { configWatchers } from '../../../src/api/resources.ts';
import { PodControl } from '../../../src/configwatcher/act/pod-control.ts';
import { pods } from '../../../src/kubernetes/objects.ts';
import { type ApiError, TransportError } from '../../../src/runtime/client/api-error.ts';
import { namespaces } from '../../fixtures/cluster-resources.ts';
import { recordingLogger } from '../../runtime/controller/fixtures.ts';
import { deletePod } from '../configwatcher-evictions.ts';
import { OperatorProcess } from '../configwatcher-process.ts';
import { events, podDisruptionBudgets, Shop } from '../configwatcher-shop.ts';
import { type Asked, failure, goesOn, HostileProxy, lists } from '../hostile-proxy.ts';
import { eventually, isGone } from '../support.ts';

const timeout = 180_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };

/** Every stream of ConfigMaps, as a connection that can stand still. */
class FrozenWatch {
  #isFrozen = false;
  readonly #held: (() => void)[] = [];

  through(): Transform {
    return new Transform({
      transform: (chunk, _encoding, done) => {
        if (this.#isFrozen) this.#held.push(() => done(null, chunk));
        else done(null, chunk);
      },
    });
  }

  freeze(): void {
    this.#isFrozen = true;
  }

  thaw(): void {
    this.#isFrozen = false;
    for (const pass of this.#held.splice(0)) pass();
  }
}

/** What comes between an operator and the ConfigMaps after the first of two edits; resolves when it is over. */
const troubles: Readonly<
  Record<
    string,
    (proxy: HostileProxy, watch: FrozenWatch, isSettled: () => Promise<unknown>) => Promise<void>
  >
> = {
  'whose watch stands still': async (_proxy, watch, isSettled) => {
    await isSettled();
    watch.thaw();
  },
  'whose watch is answered 410': async (proxy, watch) => {
    const before = proxy.treat;
    let answered = 0;
    proxy.treat = (asked) => {
      if (!goesOn(asked, 'configmaps')) return undefined;
      answered++;
      return failure(410, 'Expired');
    };
    proxy.cut();
    watch.thaw();
    await eventually(() => answered > 0, { timeout: 40_000 });
    proxy.treat = before;
  },
  'that cannot be read': async (proxy, watch) => {
    const before = proxy.treat;
    let answered = 0;
    proxy.treat = (asked) => {
      if (!/\/configmaps\/[^/]+$/.test(asked.path)) return before(asked);
      answered++;
      return failure(503, 'ServiceUnavailable');
    };
    watch.thaw();
    await eventually(() => answered > 2, { timeout: 40_000 });
    proxy.treat = before;
  },
};

/** Three Pods, two sources, and an operator that has recorded an edit of the first one and knows nothing newer. */
async function withRecordedEdit(t: TestContext): Promise<[Shop, HostileProxy, FrozenWatch]> {
  const shop = await Shop.open(t);
  const [proxy, watch] = [await HostileProxy.start(t), new FrozenWatch()];
  const isStream = ({ path, query }: Asked) => path.endsWith('/configmaps') && query.get('watch') === 'true';
  proxy.treat = (asked) => (isStream(asked) ? { through: watch.through() } : undefined);
  await shop.createConfigMap({ message: 'first' });
  await shop.createConfigMap({ more: 'first' }, 'extra');
  await shop.deploy(3);
  // A Pod of the second of an edit may have read it.
  await shop.olderThanEdits();
  await shop.startOperator({ kubeConfig: proxy.kubeConfig });
  const sources = [{ kind: 'ConfigMap', name: 'extra' }] as const;
  await shop.watch({ debounce: { quiet: '4s' }, cooldown: { base: '0s' }, sources });
  await shop.baselined();
  await shop.patchConfigMap({ data: { message: 'second' } });
  await shop.until('the edit is recorded', ({ pending }) => pending !== undefined);
  watch.freeze();
  return [shop, proxy, watch];
}

describe('a ConfigWatcher of sources', { concurrency: 3 }, () => {
  for (const [what, trouble] of Object.entries(troubles)) {
    it(`${what} restarts nothing for an edit that is taken back meanwhile`, { timeout }, async (t) => {
      const [shop, proxy, watch] = await withRecordedEdit(t);
      await shop.patchConfigMap({ data: { message: 'first' } });
      const settled = () => shop.until('nothing is owed', ({ pending }) => pending === undefined);
      await trouble(proxy, watch, settled);
      await settled();
      await shop.quiet();
      assert.deepEqual([shop.seen.length, (await shop.status()).history], [3, []]);
    });

    it(`${what} restarts each Pod once for two of them that change together`, { timeout }, async (t) => {
      const [shop, proxy, watch] = await withRecordedEdit(t);
      await shop.patchConfigMap({ data: { more: 'second' } }, 'extra');
      const settled = () => shop.restarted(1);
      await trouble(proxy, watch, settled);
      await settled();
      await shop.quiet();
      await shop.allReady(3);
      assert.deepEqual([shop.seen.length, (await shop.status()).restartCount], [6, 1]);
    });
  }
});

describe('a ConfigWatcher', { concurrency: 4 }, () => {
  it('restarts the Pod of a content that came and went while Pods could not be listed', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const proxy = await HostileProxy.start(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2);
    await shop.olderThanEdits();
    await shop.startOperator({ kubeConfig: proxy.kubeConfig });
    await shop.watch(atOnce);
    await shop.baselined();
    proxy.treat = (asked) => (lists(asked, 'pods') ? failure(403, 'Forbidden') : undefined);
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { conditions } = await shop.until(
      'the edit is recorded',
      ({ pending }) => pending?.cutoff !== undefined,
    );
    assert.equal(conditions?.find(({ type }) => type === 'Ready')?.reason, 'Forbidden');
    const [first] = await shop.pods();
    await shop.olderThanEdits();
    await client.delete(pods, { namespace, name: first?.metadata.name ?? '' });
    await eventually(() => shop.seen.length === 3, { timeout: 20_000 });
    await shop.allReady(2);
    await shop.olderThanEdits();
    await shop.patchConfigMap({ data: { message: 'first' } });
    await shop.until('the return is recorded', ({ pending, appliedHash }) => pending?.hash === appliedHash);
    proxy.treat = () => undefined;
    await shop.patchConfigMap({ metadata: { labels: { touched: 'yes' } } });
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(2);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [1, 4]);
  });

  it('deletes no Pod under two budgets, says why, and restarts all others', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(1);
    await shop.deploy(2, 'Deployment', 'other');
    for (const name of ['one', 'two']) {
      const selector = { matchLabels: { deployment: 'webapp' } };
      await client.create(podDisruptionBudgets, {
        ...{ metadata: { namespace, name }, spec: { maxUnavailable: 1, selector } },
      });
    }
    await shop.startOperator();
    await shop.watch(atOnce);
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.until('only that Pod is left', ({ pending, stalePods }) => {
      return pending?.reason === 'EvictionBlocked' && stalePods === 1;
    });
    await shop.allReady(3);
    assert.equal(shop.seen.length, 5, 'the Pods of the other owner were restarted');
    const told = await eventually(async () => {
      const { items } = await client.list(events, { namespace });
      return items.find(({ reason }) => reason === 'EvictionBlocked');
    });
    assert.match(told.note ?? '', /more than one PodDisruptionBudget/);
    const { items } = await client.list(events, { namespace });
    const restarting = items.filter(({ reason }) => reason === 'ConfigRestart');
    assert.deepEqual(
      new Set(restarting.map(({ regarding }) => regarding?.name)),
      new Set(['webapp', 'other']),
    );
    assert.match(restarting[0]?.note ?? '', /webapp-config-watcher/);
    await client.delete(podDisruptionBudgets, { namespace, name: 'two' });
    const { lastRestart } = await shop.restarted(1);
    assert.equal(lastRestart?.restarted, 3);
    await shop.allReady(3);
    assert.equal(shop.seen.length, 6);
  });

  it('takes a Pod whose name another one has by now for gone', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(1);
    const [before] = await shop.pods();
    const pod = { name: before?.metadata.name ?? '', uid: 'another' };
    const { signal } = new AbortController();
    const actions = [
      { type: 'EvictPod', pod, owner: undefined },
      { type: 'DeletePod', pod, owner: undefined },
    ] as const;
    const gone = { uid: 'another', result: 'Gone' };
    const { outcomes } = await new PodControl(client).perform(namespace, actions, { signal });
    assert.deepEqual(outcomes, [gone, gone]);
    const [after] = await shop.pods();
    assert.deepEqual(
      [after?.metadata.uid, after?.metadata.deletionTimestamp],
      [before?.metadata.uid, undefined],
    );
  });

  for (const { kind, code, name } of [
    { kind: 'Deployment', code: 404, name: 'no Pod has its name any more' },
    { kind: 'StatefulSet', code: 409, name: 'another Pod has its name by now' },
  ] as const) {
    it(`counts no failure when a Pod goes just before its eviction and ${name}`, { timeout }, async (t) => {
      const shop = await Shop.open(t);
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(2, kind);
      const answers: (number | undefined)[] = [];
      const log = recordingLogger();
      await shop.startOperator({
        log,
        onConnect(client) {
          const evict = client.evict.bind(client);
          client.evict = async (key, options) => {
            if (answers.length === 0) await deletePod(shop, key.name, { comesBack: kind === 'StatefulSet' });
            const asked = evict(key, options);
            answers.push(
              await asked.then(
                () => undefined,
                ({ code: answered }: ApiError) => answered,
              ),
            );
            return asked;
          };
        },
      });
      await shop.watch(atOnce);
      await shop.baselined();
      await shop.patchConfigMap({ data: { message: 'second' } });
      const { lastRestart } = await shop.restarted(1);
      await shop.allReady(2);
      assert.deepEqual(answers, [code, undefined]);
      const told = ['a Pod is gone already', 'evicted a Pod'].map(
        (words) => log.lines.filter(({ message }) => message === words).length,
      );
      assert.deepEqual(told, [1, 1]);
      assert.deepEqual([lastRestart?.failed, shop.seen.length], [0, 4]);
    });
  }

  it('counts the Pods whose eviction was done but never answered', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2);
    let lost = 0;
    await shop.startOperator({
      onConnect(client) {
        const evict = client.evict.bind(client);
        client.evict = async (key, options) => {
          await evict(key, options);
          lost++;
          throw new TransportError('socket hang up', true);
        };
      },
    });
    await shop.watch(atOnce);
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { lastRestart, lastRestartTime } = await shop.restarted(1);
    await shop.allReady(2);
    assert.deepEqual([lastRestart?.restarted, lastRestart?.failed], [2, 0]);
    assert.ok(lastRestartTime);
    assert.deepEqual([shop.seen.length, lost], [4, 2], 'each Pod was restarted once');
  });

  it('lets the old content serve on when the new one is bad, until the next edit', { timeout }, async (t) => {
    const shop = await Shop.watched(t, 3, { strategy: { progressDeadlineSeconds: 2 } });
    shop.breaksPods = true;
    await shop.patchConfigMap({ data: { message: 'bad' } });
    await eventually(() => shop.seen.length === 4, { timeout: 40_000 });
    const stuck = await shop.until('it is Stalled', ({ pending }) => pending?.reason === 'Stalled');
    const stalled = stuck.conditions?.find(({ type }) => type === 'Stalled');
    assert.equal(stalled?.reason, 'NewPodsNotAvailable');
    assert.deepEqual([stuck.stalePods, shop.seen.length], [2, 4], 'only the first batch was restarted');
    shop.breaksPods = false;
    await shop.patchConfigMap({ data: { message: 'good' } });
    const { conditions, history } = await shop.until('it is done', ({ pending }) => pending === undefined);
    await shop.allReady(3);
    assert.deepEqual(
      history?.map(({ restarted }) => restarted),
      [3, 1],
    );
    assert.equal(
      conditions?.some(({ type }) => type === 'Stalled'),
      false,
    );
    assert.equal(shop.seen.length, 3 + 1 + 3);
  });

  it('starts no other batch while a Pod of a StatefulSet does not end', { timeout }, async (t) => {
    const strategy = { progressDeadlineSeconds: 2 };
    const shop = await Shop.watched(t, 3, { kind: 'StatefulSet', strategy });
    const { client, namespace } = shop;
    const hold = (names: readonly string[], finalizers: readonly string[] | null) =>
      Promise.all(
        names.map((name) =>
          client.patch(pods, { namespace, name }, { type: 'merge', body: { metadata: { finalizers } } }),
        ),
      );
    const names = (await shop.pods()).map(({ metadata }) => metadata.name);
    // Whichever goes first.
    await hold(names, ['example.com/stays']);
    t.after(() => hold(names, null).catch(() => {}));
    await shop.patchConfigMap({ data: { message: 'second' } });
    const stuck = await shop.until('it is Stalled', ({ pending }) => pending?.reason === 'Stalled');
    const leaving = async () =>
      (await shop.pods()).filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    assert.deepEqual([stuck.stalePods, (await leaving()).length], [2, 1]);
    await hold(names, null);
    const { lastRestart } = await shop.restarted(1);
    assert.equal(lastRestart?.restarted, 3);
    await shop.allReady(3);
    assert.equal(shop.seen.length, 6);
  });

  it('goes with its namespace, in mid-restart, and keeps no other waiting', { timeout }, async (t) => {
    const [leaving, shop] = [await Shop.open(t), await Shop.open(t)];
    const { client } = shop;
    for (const one of [leaving, shop]) {
      await one.createConfigMap({ message: 'first' });
      await one.deploy(2);
      await one.watch(atOnce);
    }
    const operator = new OperatorProcess(t, `${leaving.namespace},${shop.namespace}`);
    await leaving.baselined();
    await shop.baselined();
    leaving.breaksPods = true;
    await leaving.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => leaving.seen.length === 3, { timeout: 40_000 });
    const { namespace } = leaving;
    await client.delete(namespaces, { name: namespace }, { propagationPolicy: 'Background' });
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.restarted(1);
    await eventually(() => isGone(client, namespaces, '', namespace), { timeout: 90_000 });
    const before = operator.output.length;
    await shop.quiet();
    const said = operator.output.slice(before).split('\n');
    const about = said.filter((line) => line.includes(namespace));
    assert.ok(about.length < 5, `it is not looked at again and again: ${about.join('\n')}`);
    assert.deepEqual(
      about.filter((line) => !line.includes('"level":"debug"')),
      [],
    );
    assert.equal(operator.output.includes('"failure":"panic"'), false);
    await shop.patchConfigMap({ data: { message: 'third' } });
    await shop.restarted(2);
  });
});

describe('a ConfigWatcher that is deleted in mid-restart', { concurrency: 2 }, () => {
  it('stops where it is, and another one goes on', { timeout }, async (t) => {
    const shop = await Shop.watched(t, 4, { podSelector: { deployment: 'webapp' } });
    const { client, namespace } = shop;
    await shop.deploy(2, 'Deployment', 'other');
    await shop.watch({ ...atOnce, podSelector: { deployment: 'other' } }, 'other');
    await shop.baselined('other');
    // The second batch waits for the first to get Ready, which it does not while this is true.
    shop.breaksPods = true;
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 8, { timeout: 40_000, message: 'one Pod of each goes' });
    await client.delete(configWatchers, { namespace, name: 'webapp-config-watcher' });
    shop.breaksPods = false;
    for (const { metadata } of await shop.pods()) await shop.getsReady(metadata.name);
    // Its second Pod goes when the first has served for as long as the content is on trial; so would those of the other.
    await shop.until('the other one is done', ({ restartCount }) => restartCount === 1, { name: 'other' });
    await shop.quiet();
    assert.equal(shop.seen.length, 9, 'the second Pod of the one that is there');
  });

  it('and held by a finalizer of others restarts nothing more, and goes with the finalizer', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const key = { namespace, name: 'held' };
    for (const name of ['held', 'other']) {
      await shop.createConfigMap({ message: 'first' }, name);
      await shop.deploy(name === 'held' ? 4 : 1, 'Deployment', name);
      await shop.watch({ ...atOnce, configMap: name, podSelector: { deployment: name } }, name);
    }
    const hold = (finalizers: readonly string[] | null) =>
      client.patch(configWatchers, key, { type: 'merge', body: { metadata: { finalizers } } });
    await hold(['example.com/stays']);
    t.after(() => hold(null).catch(() => {}));
    await shop.startOperator();
    for (const name of ['held', 'other']) await shop.baselined(name);
    shop.isKubeletSlow = true;
    await shop.patchConfigMap({ data: { message: 'second' } }, 'held');
    await eventually(() => shop.seen.length === 6, { timeout: 40_000, message: 'the first Pod goes' });
    await client.delete(configWatchers, key);
    shop.isKubeletSlow = false;
    await shop.allReady(5);
    await shop.patchConfigMap({ data: { message: 'third' } }, 'held');
    // The new Pod of this restart is younger than that of the other one, and takes its time to count as available.
    await shop.patchConfigMap({ data: { message: 'second' } }, 'other');
    const isDone = ({ restartCount, pending }: ConfigWatcherStatus) => restartCount === 1 && !pending;
    await shop.until('the operator works', isDone, { name: 'other' });
    await shop.quiet();
    assert.equal(shop.seen.length, 7);
    await hold(null);
    await eventually(() => isGone(client, configWatchers, namespace, 'held'), { message: 'it goes' });
  });
});

describe('a ConfigWatcher whose Pods are not listed', { concurrency: 2 }, () => {
  for (const [code, reason] of [
    [500, 'InternalError'],
    [503, 'ServiceUnavailable'],
  ] as const) {
    it(`for an error ${code} tries again, and takes none of them for restarted`, { timeout }, async (t) => {
      const proxy = await HostileProxy.start(t);
      const shop = await Shop.watched(t, 2, { operator: { kubeConfig: proxy.kubeConfig } });
      const { appliedHash } = await shop.status();
      /** Resolves when several lists have failed. */
      const fail = async (meanwhile: () => Promise<unknown>) => {
        let failed = 0;
        proxy.treat = (asked) => {
          if (!lists(asked, 'pods')) return undefined;
          failed++;
          return failure(code, reason);
        };
        await meanwhile();
        await eventually(() => failed >= 4, { timeout: 60_000, message: 'it is tried again' });
      };
      const isNothingApplied = async () => {
        const status = await shop.status();
        return status.appliedHash === appliedHash && (status.history ?? []).length === 0;
      };

      await fail(() => shop.patchConfigMap({ data: { message: 'second' } }));
      assert.deepEqual([await isNothingApplied(), shop.seen.length], [true, 2]);
      proxy.treat = () => undefined;
      await eventually(() => shop.seen.length === 3, { timeout: 60_000, message: 'the first Pod goes' });
      await fail(() => shop.allReady(2));
      const { pending } = await shop.status();
      assert.ok(pending?.started, 'it is in the middle of the restart');
      assert.deepEqual([await isNothingApplied(), shop.seen.length], [true, 3]);
      proxy.treat = () => undefined;
      const { lastRestart } = await shop.restarted(1);
      await shop.allReady(2);
      assert.deepEqual([lastRestart?.restarted, lastRestart?.failed, shop.seen.length], [2, 0, 4]);
    });
  }
});
