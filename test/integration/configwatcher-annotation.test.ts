/** ConfigMaps that name their Pods themselves, in an annotation: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configMaps } from '../../src/kubernetes/objects.ts';
import { forbidEvictions, noteEvictions } from './configwatcher-evictions.ts';
import { events, Shop } from './configwatcher-shop.ts';
import { eventually } from './support.ts';

const [io, com] = ['k8spatterns.io/podDeleteSelector', 'k8spatterns.com/podDeleteSelector'];
const observed = 'k8spatterns.io/observed';
const patience = { timeout: 60_000 };

interface State {
  readonly appliedHash?: string;
  readonly restartCount?: number;
  readonly pending?: object;
}

/** What the ConfigMap of the shop tells of itself as a watcher. */
async function stateOf(shop: Shop): Promise<State> {
  const text = await shop.ownState();
  return text === '' ? {} : JSON.parse(text);
}

async function restarted(shop: Shop, count: number, replicas = 3): Promise<void> {
  const isDone = async () => {
    const { restartCount, pending } = await stateOf(shop);
    return restartCount === count && pending === undefined;
  };
  await eventually(isDone, { ...patience, message: `${count} restarts are done` });
  await shop.allReady(replicas);
}

describe('a ConfigMap with a selector in an annotation', () => {
  it("of the book's second group restarts those Pods; one with a wrong or an empty selector is warned of, and restarts none", async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const selectors = {
      'webapp-config': 'app=webapp,deployment in (webapp)',
      wrong: 'app in webapp',
      empty: '',
    };
    for (const name of Object.keys(selectors)) await shop.createConfigMap({ message: 'first' }, name);
    for (const name of ['webapp', 'wrong', 'empty']) await shop.createWorkload(1, 'Deployment', name);
    const before = await shop.allReady(3);
    await shop.startOperator({ annotationController: true });
    for (const [name, selector] of Object.entries(selectors)) {
      const key = name === 'empty' ? io : com;
      await shop.patchConfigMap({ metadata: { annotations: { [key]: selector } } }, name);
    }
    await eventually(async () => (await stateOf(shop)).appliedHash, patience);
    const warnings = async () => {
      const { items } = await client.list(events, { namespace });
      return items.filter(({ type, regarding }) => type === 'Warning' && regarding?.kind === 'ConfigMap');
    };
    await eventually(async () => (await warnings()).length === 2, {
      ...patience,
      message: 'both are warned of',
    });

    const editAll = async (message: string) => {
      for (const name of Object.keys(selectors)) await shop.patchConfigMap({ data: { message } }, name);
    };
    await editAll('second');
    await restarted(shop, 1);
    const told = (await warnings()).map(({ regarding, reason, series }) => {
      return [regarding?.name, reason, series?.count ?? 1];
    });
    assert.deepEqual(told.sort(), [
      ['empty', 'InvalidSpec', 1],
      ['wrong', 'InvalidSpec', 1],
    ]);
    const { items } = await client.list(configMaps, { namespace });
    const keys = (name: string) =>
      Object.keys(items.find(({ metadata }) => metadata.name === name)?.metadata.annotations ?? {}).sort();
    assert.deepEqual(
      ['webapp-config', 'wrong', 'empty'].map(keys),
      [[com, observed].sort(), [com], [io]],
      'state is kept by the one that works',
    );

    const { managedFields = [] } = items.find((one) => one.metadata.name === 'webapp-config')?.metadata ?? {};
    const owned = managedFields
      .filter(({ manager }) => manager === 'atwatch')
      .map(({ fieldsV1 }) => fieldsV1);
    assert.deepEqual(owned, [{ 'f:metadata': { 'f:annotations': { [`f:${observed}`]: {} } } }]);

    // A tool that replaces the whole object drops the state: what is found then is the baseline.
    await shop.stopOperator();
    await shop.patchConfigMap({ metadata: { annotations: { [observed]: null } } });
    await editAll('third');
    await shop.startOperator({ annotationController: true });
    const { appliedHash, restartCount } = await eventually(async () => {
      const state = await stateOf(shop);
      return state.appliedHash !== undefined && state;
    }, patience);
    assert.ok(appliedHash);
    assert.deepEqual([restartCount, shop.seen.length], [0, 4]);

    await shop.stopOperator();
    await editAll('while it is down');
    await shop.startOperator({ annotationController: true });
    await restarted(shop, 1);
    assert.equal(shop.seen.length, 5, 'one of the Pods was restarted, twice');
    const others = before.filter((pod) => pod.metadata.labels?.deployment !== 'webapp');
    const left = (await shop.pods()).map((pod) => pod.metadata.uid);
    assert.deepEqual([others.length, others.every((pod) => left.includes(pod.metadata.uid))], [2, true]);
  });

  it('deletes its Pods, so that a budget against evictions does not keep them', async (t) => {
    const shop = await Shop.open(t);
    const selector = { metadata: { annotations: { [io]: 'app=webapp' } } };
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(1);
    await forbidEvictions(shop, 1);
    const evicted: string[] = [];
    await shop.startOperator({ annotationController: true, onConnect: noteEvictions(evicted) });
    await shop.patchConfigMap(selector);
    await eventually(async () => (await stateOf(shop)).appliedHash, patience);
    await shop.olderThanEdits();
    await shop.patchConfigMap({ data: { message: 'second' } });
    await restarted(shop, 1, 1);
    assert.deepEqual([shop.seen.length, evicted], [2, []]);
  });
});
