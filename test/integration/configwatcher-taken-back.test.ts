/** An edit that is taken back while the watcher is held, which leaves nothing to do: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { events, Shop } from './configwatcher-shop.ts';

const timeout = 120_000;

describe('a ConfigWatcher', { concurrency: 4 }, () => {
  for (const { hold, reason } of [
    { hold: 'suspend', reason: 'Suspended' },
    { hold: 'dryRun', reason: 'DryRun' },
  ] as const) {
    for (const isRestarted of [false, true]) {
      const where = isRestarted ? ', also by another process,' : '';
      it(`with ${hold} restarts nothing for an edit that is taken back${where} once it is switched off`, {
        timeout,
      }, async (t) => {
        const shop = await Shop.watched(t, 2, { [hold]: true, strategy: { type: 'Evict' } });
        const { appliedHash } = await shop.status();
        await shop.olderThanEdits();
        await shop.patchConfigMap({ data: { message: 'second' } });
        const held = await shop.until('it is held', ({ pending }) => pending?.reason === reason);
        assert.deepEqual([held.stalePods, held.appliedHash], [2, appliedHash]);
        if (isRestarted) await shop.stopOperator();
        await shop.patchConfigMap({ data: { message: 'first' } });
        if (isRestarted) await shop.startOperator();
        const back = await shop.until(
          'it is taken back',
          ({ pending }) => pending?.hash !== held.pending?.hash,
        );
        assert.equal(back.appliedHash, appliedHash);
        const { generation } = (await shop.edit({ [hold]: false })).metadata;
        await shop.until('nothing is pending', ({ pending, observedGeneration }) => {
          return pending === undefined && observedGeneration === generation;
        });
        await shop.quiet();
        const { pending, restartCount, stalePods, lastRestart, ...after } = await shop.status();
        assert.deepEqual(
          [pending, restartCount, stalePods, lastRestart?.restarted ?? 0],
          [undefined, 0, 0, 0],
        );
        assert.deepEqual([after.appliedHash, shop.seen.length], [appliedHash, 2]);
        const { items } = await shop.client.list(events, { namespace: shop.namespace });
        assert.deepEqual(
          items.filter((event) => event.reason === 'RestartStarted' || event.reason === 'ConfigRestart'),
          [],
        );
        const progressing = after.conditions?.find(({ type }) => type === 'Progressing');
        assert.equal(progressing?.reason, 'UpToDate');

        await shop.patchConfigMap({ data: { message: 'third' } });
        const { lastRestart: next } = await shop.restarted(1);
        await shop.allReady(2);
        assert.deepEqual([next?.restarted, shop.seen.length], [2, 4], 'the next edit counts');
      });
    }
  }
});
