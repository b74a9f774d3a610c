/** What is no change of the content: on a real API server. The next edit shows that nothing was recorded before it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherStatus } from '../../src/api/configwatcher.generated.ts';
import { configWatchers } from '../../src/api/resources.ts';
import { Shop } from './configwatcher-shop.ts';

const timeout = 120_000;

interface Row {
  readonly what: string;
  readonly make: (shop: Shop) => Promise<unknown>;
  /** Status shows that the operator has taken it in. */
  readonly isTaken: (status: ConfigWatcherStatus, before: ConfigWatcherStatus) => boolean;
  /** The ConfigMap that is edited next. */
  readonly edited: string;
}

function hashOf({ sources = [] }: ConfigWatcherStatus, name: string): string | undefined {
  return sources.find((source) => source.name === name)?.hash;
}

/** Leaves the status of an operator that made its hashes in another way. */
async function withOtherHashes(shop: Shop): Promise<void> {
  const { namespace, client } = shop;
  await shop.stopOperator();
  const { sources = [] } = await shop.status();
  const others = sources.map((source) => ({ ...source, hash: (source.hash ?? '').replace(/^v1:/, 'v0:') }));
  const body = { status: { appliedHash: 'v0:0123456789abcdef', sources: others } };
  await client.patchStatus(
    configWatchers,
    { namespace, name: 'webapp-config-watcher' },
    { type: 'merge', body },
  );
  const written = await shop.status();
  assert.match(hashOf(written, 'webapp-config') ?? '', /^v0:/);
  await shop.startOperator();
}

const rows: readonly Row[] = [
  {
    what: 'immutable, set by itself,',
    make: (shop) => shop.patchConfigMap({ immutable: true }),
    // It leaves no trace; the operator learns of the next edit after it.
    isTaken: () => true,
    // The first one is as it is from now on.
    edited: 'extra',
  },
  {
    what: 'another ConfigMap that the spec names',
    make: (shop) => shop.edit({ configMap: 'other-config' }),
    isTaken: (status) => hashOf(status, 'other-config') !== undefined,
    edited: 'other-config',
  },
  {
    what: 'another strategy',
    make: (shop) => shop.edit({ strategy: { type: 'RolloutRestart' } }),
    isTaken: ({ strategyInUse }) => strategyInUse === 'RolloutRestart',
    edited: 'webapp-config',
  },
  {
    what: 'a hash of another version in status',
    make: withOtherHashes,
    isTaken: (status, before) => status.appliedHash === before.appliedHash,
    edited: 'webapp-config',
  },
];

describe('a ConfigWatcher', { concurrency: 4 }, () => {
  for (const { what, make, isTaken, edited } of rows) {
    it(`takes ${what} for no change, and restarts each Pod once for the next edit`, {
      timeout,
    }, async (t) => {
      const shop = await Shop.open(t);
      await shop.createConfigMap({ message: 'first' });
      await shop.createConfigMap({ message: 'other' }, 'other-config');
      await shop.createConfigMap({ message: 'more' }, 'extra');
      await shop.deploy(2);
      await shop.startOperator();
      const sources = [{ kind: 'ConfigMap' as const, name: 'extra' }];
      await shop.watch({ debounce: { quiet: '0s' }, cooldown: { base: '0s' }, sources });
      const before = await shop.baselined();
      await make(shop);
      const taken = await shop.until('it is taken in', (status) => isTaken(status, before));
      assert.deepEqual([taken.pending, taken.restartCount, taken.history], [undefined, 0, []]);

      await shop.patchConfigMap({ data: { message: 'second' } }, edited);
      const { lastRestart, history, ...after } = await shop.restarted(1);
      await shop.allReady(2);
      assert.deepEqual([lastRestart?.restarted, history?.length, shop.seen.length], [2, 1, 4]);
      const { name, changedKeys } = lastRestart?.trigger ?? {};
      assert.deepEqual([name, changedKeys], [edited, ['message']], 'it was started by the edit alone');
      if (edited === 'extra') assert.equal(hashOf(after, 'webapp-config'), hashOf(before, 'webapp-config'));
    });
  }

  it('takes other keys of one source for no change, and restarts for the edit of another that it sees at the same time', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first', color: 'red' });
    await shop.createConfigMap({ message: 'more' }, 'extra');
    await shop.deploy(2);
    await shop.startOperator();
    const sources = [{ kind: 'ConfigMap' as const, name: 'extra' }];
    await shop.watch({ debounce: { quiet: '0s' }, cooldown: { base: '0s' }, keys: ['message'], sources });
    const before = await shop.baselined();
    await shop.stopOperator();
    await shop.edit({ keys: ['message', 'color'] });
    await shop.patchConfigMap({ data: { message: 'second', color: 'blue' } });
    await shop.patchConfigMap({ data: { message: 'second' } }, 'extra');
    await shop.startOperator();
    const { lastRestart, history, ...after } = await shop.restarted(1);
    await shop.allReady(2);
    assert.deepEqual([lastRestart?.restarted, history?.length, shop.seen.length], [2, 1, 4]);
    assert.equal(lastRestart?.trigger?.name, 'extra');
    for (const name of ['webapp-config', 'extra']) {
      assert.notEqual(hashOf(after, name), hashOf(before, name), `${name} is seen as it is now`);
    }
    // The first source is compared by its new keys from now on.
    await shop.patchConfigMap({ data: { color: 'green' } });
    const { lastRestart: next } = await shop.restarted(2);
    await shop.allReady(2);
    assert.deepEqual([next?.trigger?.name, next?.trigger?.changedKeys], ['webapp-config', ['color']]);
    assert.equal(shop.seen.length, 6);
  });
});
