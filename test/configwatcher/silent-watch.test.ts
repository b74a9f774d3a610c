/** A watch that shows nothing for long: its connection is dead, and what it has shown may not be so any more. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bigBatch, converge, lookUntil, type Operator, settled } from './operator.ts';
import type { World } from './world.ts';

/** Longer than anything is relied on that the watch has shown. */
const silence = 91_000;
const readsOfWatcher = ({ requests }: World) =>
  requests.filter((request) => request === 'get configwatchers');

/** A restart that a budget holds up, and a watch of watchers that is silent from now on. */
async function heldUp(): Promise<{ world: World; operator: Operator }> {
  // The status stays as it is for all the time, so that no write of it meets what has changed.
  const strategy = { type: 'Evict', progressDeadlineSeconds: 600 } as const;
  const { world, operator } = await settled({ debounce: { quiet: '0s' }, strategy });
  world.minAvailable = 4;
  world.edit({ message: 'second' });
  const isHeldUp = () => world.watcher.status?.pending?.reason === 'EvictionBlocked';
  await lookUntil(world, operator, isHeldUp, 1000);
  await lookUntil(world, operator, (looks) => looks === 20, 1000);
  operator.sync();
  return { world, operator };
}

/** The watches of all else go on. */
async function look(world: World, operator: Operator): Promise<void> {
  operator.sync('configMap');
  await operator.reconcile();
  world.step(1000);
}

describe('a restart whose watch is silent for long', () => {
  for (const [what, change] of [
    ['deleted', (world: World) => world.watchers.clear()],
    ['suspended', (world: World) => world.editSpec({ suspend: true })],
  ] as const) {
    it(`takes no Pod when its watcher was ${what} meanwhile`, async () => {
      const { world, operator } = await heldUp();
      change(world);
      world.step(silence);
      world.minAvailable = 0;
      for (let looks = 0; looks < 20; looks++) await look(world, operator);
      assert.equal(world.restarts.length, 0);
    });
  }

  it('reads its watcher and goes on when that is as it was', async () => {
    const { world, operator } = await heldUp();
    world.step(silence);
    world.minAvailable = 0;
    assert.equal(readsOfWatcher(world).length, 0, 'the watch was not silent before');
    await look(world, operator);
    assert.deepEqual([world.restarts.length, readsOfWatcher(world).length], [1, 1]);
    await converge(world, [operator]);
    assert.deepEqual([world.restarts.length, readsOfWatcher(world).length], [4, 1]);
  });

  it('goes by an edit of its watcher that the watch has not shown', async () => {
    const { world, operator } = await heldUp();
    const { strategy } = world.watcher.spec;
    world.editSpec({ strategy: { ...strategy, maxUnavailable: '50%' } });
    world.step(silence);
    world.minAvailable = 0;
    await look(world, operator);
    await look(world, operator);
    assert.equal(world.restarts.length, 2);
  });

  it('reads a source that its watch does not show once with each look, the watcher or not', async () => {
    const { world, operator } = await heldUp();
    world.deleteConfigMap();
    operator.sync('configMap');
    world.edit({ message: 'second' });
    world.step(silence);
    const before = world.requests.length;
    await operator.reconcile();
    const reads = world.requests.slice(before).filter((request) => request.startsWith('get config'));
    assert.deepEqual(reads, ['get configmaps', 'get configwatchers']);
  });

  it('ends a big batch after the writes in flight', async () => {
    const { world, operator } = await bigBatch();
    world.step(silence);
    await operator.end();
    assert.ok(world.restarts.length <= 5 + 32, `${world.restarts.length} Pods were restarted`);
    await converge(world, [operator]);
    assert.equal(world.restarts.length, 60);
  });
});
