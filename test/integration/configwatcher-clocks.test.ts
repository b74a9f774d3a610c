/** ConfigWatchers where the clock of the operator is wrong: the API server's time counts, on a real one. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clockAhead } from './at-rig.ts';
import { Shop } from './configwatcher-shop.ts';
import { eventually } from './support.ts';

const minute = 60_000;
const [quiet, base] = [4000, 15_000];
/** By how much a busy machine may be late. */
const slack = 20_000;

/** Opens every day at that instant of today, and stays open for a while. */
function windowFrom(instant: number): { schedule: string; duration: string } {
  const at = new Date(instant);
  return { schedule: `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`, duration: '10m' };
}

describe('an operator whose clock is wrong by 20 minutes', { concurrency: true, timeout: 180_000 }, () => {
  for (const [direction, aheadMs] of [
    ['ahead', 20 * minute],
    ['behind', -20 * minute],
  ] as const) {
    it(`${direction}: restarts each Pod once for each edit, by debounce, cooldown and window of the API server's time`, async (t) => {
      const shop = await Shop.open(t);
      const clock = clockAhead(aheadMs);
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(1);
      await shop.startOperator({ clock });
      await shop.watch({ debounce: { quiet: `${quiet}ms` }, cooldown: { base: `${base}ms` } });
      await shop.baselined();
      await shop.stopOperator();
      await shop.startOperator({ clock });
      await shop.olderThanEdits();

      const editedAt = Date.now();
      await shop.patchConfigMap({ data: { message: 'second' } });
      const begun = async (pods: number) => {
        await eventually(() => shop.seen.length === pods, {
          timeout: 60_000,
          message: `Pod ${pods} is made`,
        });
        await shop.allReady(1);
        return shop.status();
      };
      const first = await begun(2);
      const startOf = ({ lastRestart }: typeof first) => Date.parse(lastRestart?.startTime ?? '');
      const waited = startOf(first) - editedAt;
      // The API server tells whole seconds.
      assert.ok(waited >= quiet - 1000 && waited < quiet + slack, `debounced for ${waited} ms`);
      assert.equal(Date.parse(first.cooldownUntil ?? '') - startOf(first), base);

      await shop.olderThanEdits();
      await shop.patchConfigMap({ data: { message: 'third' } });
      await shop.until('it waits for the cooldown', ({ pending }) => pending?.reason === 'Cooldown');
      const second = await begun(3);
      const gap = startOf(second) - startOf(first);
      assert.ok(gap >= base && gap < base + slack, `the second restart began ${gap} ms after the first`);
      await shop.until('it is done', ({ pending }) => pending === undefined);

      await shop.stopOperator();
      await shop.edit({ cooldown: { base: '0s' }, windows: [windowFrom(Date.now() + aheadMs - minute)] });
      await shop.patchConfigMap({ data: { message: 'while it is down' } });
      await shop.startOperator({ clock });
      await shop.until('the window is closed', ({ pending }) => pending?.reason === 'Window');
      assert.equal(shop.seen.length, 3, 'none has been restarted needlessly');
      await shop.edit({ windows: [windowFrom(Date.now() - minute)] });
      const { lastRestart } = await begun(4);
      assert.ok(Math.abs(Date.parse(lastRestart?.startTime ?? '') - Date.now()) < slack);
    });
  }
});
