/** What is a change of the content, and what is written down of it: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ConfigMap, configMaps } from '../../src/kubernetes/objects.ts';
import { Shop } from './configwatcher-shop.ts';

const timeout = 120_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** So many keys, with names of that length, all of them with one value. */
function entries(count: number, nameLength: number, value: string): Record<string, string> {
  const name = (index: number) => `${String(index).padStart(5, '0')}${'k'.repeat(nameLength - 5)}`;
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [name(index), value]));
}

type Content = Pick<ConfigMap, 'data' | 'binaryData'>;

interface SizeRow {
  readonly what: string;
  readonly before: Content;
  readonly edit: Content;
  /** What status says of it. */
  readonly changedKeys: readonly string[];
}

const mebibyte = 1024 * 1024;
/** As many names of 90 bytes as 1 KiB has room for. */
const longNames = Math.floor(1024 / 90);

const sizes: readonly SizeRow[] = [
  { what: 'without data', before: {}, edit: { data: { message: 'second' } }, changedKeys: ['message'] },
  {
    what: 'with binary data alone',
    before: { binaryData: { logo: base64('\u0000one') } },
    edit: { binaryData: { logo: base64('\u0000two') } },
    changedKeys: ['logo'],
  },
  {
    what: 'of 1 MiB',
    before: { data: { blob: 'x'.repeat(mebibyte - 'blob'.length) } },
    edit: { data: { blob: `${'x'.repeat(mebibyte - 'blob'.length - 1)}y` } },
    changedKeys: ['blob'],
  },
  {
    what: 'with 10 000 keys',
    before: { data: entries(10_000, 9, 'a') },
    edit: { data: entries(10_000, 9, 'b') },
    changedKeys: [...Object.keys(entries(20, 9, '')), '+9980'],
  },
  {
    what: 'with 10 000 keys of long names',
    before: { data: entries(10_000, 90, 'a') },
    edit: { data: entries(10_000, 90, 'b') },
    changedKeys: [...Object.keys(entries(longNames, 90, '')), `+${10_000 - longNames}`],
  },
];

describe('a ConfigWatcher of a ConfigMap', { concurrency: 4 }, () => {
  for (const { what, before, edit, changedKeys } of sizes) {
    it(`${what} restarts each Pod once for an edit of data, and none for one of metadata`, {
      timeout,
    }, async (t) => {
      const shop = await Shop.open(t);
      const { client, namespace } = shop;
      await client.create(configMaps, {
        metadata: { namespace, name: 'webapp-config' },
        ...before,
      });
      await shop.deploy(2);
      await shop.startOperator();
      await shop.watch(atOnce);
      const { appliedHash, history = [] } = await shop.baselined();
      assert.deepEqual([history, shop.seen.length], [[], 2]);
      await shop.patchConfigMap({ metadata: { labels: { touched: 'yes' }, annotations: { note: 'yes' } } });
      await shop.quiet();
      const touched = await shop.status();
      assert.deepEqual([touched.appliedHash, touched.pending, shop.seen.length], [appliedHash, undefined, 2]);

      await shop.patchConfigMap(edit);
      const status = await shop.restarted(1);
      await shop.allReady(2);
      const { lastRestart } = status;
      assert.deepEqual([lastRestart?.restarted, status.history?.length, shop.seen.length], [2, 1, 4]);
      assert.deepEqual(lastRestart?.trigger?.changedKeys, changedKeys);
      assert.notEqual(status.appliedHash, appliedHash);
      const bytes = Buffer.byteLength(JSON.stringify(status));
      assert.ok(bytes < 8 * 1024, `a status of ${bytes} bytes`);
    });
  }
});

describe('a ConfigWatcher', { concurrency: 4 }, () => {
  it('restarts for an edit of binary data, and for a key that becomes binary with the same bytes', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.patchConfigMap({ binaryData: { logo: base64('\u0000one') } });
    await shop.deploy(2);
    await shop.startOperator();
    await shop.watch(atOnce);
    await shop.baselined();

    await shop.patchConfigMap({ binaryData: { logo: base64('\u0000two') } });
    const ofEdit = (await shop.restarted(1)).lastRestart;
    await shop.allReady(2);
    assert.deepEqual([ofEdit?.restarted, ofEdit?.trigger?.changedKeys], [2, ['logo']]);

    // A Pod that reads the key into a variable cannot start with it any more.
    await shop.patchConfigMap({ data: { message: null }, binaryData: { message: base64('first') } });
    const ofMove = (await shop.restarted(2)).lastRestart;
    await shop.allReady(2);
    assert.deepEqual([ofMove?.restarted, ofMove?.trigger?.changedKeys], [2, ['message']]);
    assert.equal(shop.seen.length, 6);
  });

  it('carries out a change that waits when another source is added, and compares that from then on', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.createConfigMap({ more: 'first' }, 'extra');
    await shop.deploy(2);
    await shop.startOperator();
    // Longer than the test takes to edit the spec; it ends when the test says so.
    await shop.watch({ ...atOnce, debounce: { quiet: '60s', max: '120s' } });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const waits = await shop.until('it waits', ({ pending }) => pending?.reason === 'Debounce');
    await shop.edit({ sources: [{ kind: 'ConfigMap', name: 'extra' }] });
    const added = await shop.until('the other one is seen', ({ sources }) => sources?.length === 2);
    const [first, extra] = added.sources ?? [];
    assert.deepEqual([added.pending?.reason, added.pending?.since], ['Debounce', waits.pending?.since]);
    assert.equal(first?.hash, waits.appliedHash);
    assert.ok(first?.pendingHash, 'the change is still owed');
    assert.deepEqual([extra?.name, extra?.pendingHash], ['extra', undefined], 'it is the baseline');
    assert.equal(shop.seen.length, 2);

    await shop.edit({ debounce: { quiet: '0s' } });
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(2);
    assert.deepEqual([lastRestart?.restarted, lastRestart?.trigger?.name], [2, 'webapp-config']);
    await shop.patchConfigMap({ data: { more: 'second' } }, 'extra');
    const next = (await shop.restarted(2)).lastRestart;
    await shop.allReady(2);
    assert.deepEqual([next?.restarted, next?.trigger?.name], [2, 'extra']);
    assert.equal(shop.seen.length, 6);
  });
});
