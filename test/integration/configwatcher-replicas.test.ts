/** Several operators that all act, with no election between them, on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OperatorProcess } from './configwatcher-process.ts';
import { Shop } from './configwatcher-shop.ts';

const timeout = 180_000;

describe('two operators without an election', () => {
  for (const [type, generations] of [
    ['Evict', 1],
    ['RolloutRestart', 3],
  ] as const) {
    it(`by ${type} restart each Pod once for each of two contents, and count it once`, {
      timeout,
    }, async (t) => {
      const shop = await Shop.open(t);
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(3);
      const other = new OperatorProcess(t, shop.namespace);
      await other.logged('"msg":"ready"');
      await shop.startOperator();
      await shop.watch({ debounce: { quiet: '0s' }, cooldown: { base: '0s' }, strategy: { type } });
      await shop.baselined();
      for (const [count, message] of [
        [1, 'second'],
        [2, 'third'],
      ] as const) {
        await shop.patchConfigMap({ data: { message } });
        const { lastRestart } = await shop.restarted(count);
        await shop.allReady(3);
        assert.equal(lastRestart?.restarted, 3);
      }
      await shop.quiet();
      const { history, restartCount } = await shop.status();
      assert.deepEqual(
        [shop.seen.length, restartCount, history?.length, await shop.generation('Deployment')],
        [9, 2, 2, generations],
      );
    });
  }
});
