/** What is a change of the content, and what is written down of it: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Shop } from './configwatcher-shop.ts';

const timeout = 120_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

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
