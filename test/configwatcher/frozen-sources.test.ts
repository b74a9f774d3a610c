/** Sources that change while the watch shows only the first of the edits, or none. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { converge, Operator } from './operator.ts';
import { World } from './world.ts';

async function withTwoSources(quiet = '0s'): Promise<{ world: World; operator: Operator }> {
  const world = new World({
    ...{ cooldown: { base: '0s' }, debounce: { quiet }, strategy: { type: 'Evict' } },
    sources: [{ kind: 'ConfigMap', name: 'extra', optional: false }],
  });
  world.edit({ more: 'first' }, { name: 'extra' });
  world.addWorkload('web', 3);
  world.step(10_000);
  const operator = new Operator(world, 'operator');
  await converge(world, [operator]);
  return { world, operator };
}

/** What is recorded of an edit goes its way, while the watch shows nothing that follows. */
async function lookOn(world: World, operator: Operator): Promise<void> {
  for (let looks = 0; looks < 20; looks++) {
    operator.sync('watcher');
    await operator.reconcile();
    world.step(1500);
  }
}

describe('an edit that waits for its debounce', () => {
  it('restarts nothing when it is taken back, although the watch does not show that', async () => {
    const { world, operator } = await withTwoSources('2s');
    world.edit({ message: 'second' });
    operator.sync();
    await operator.reconcile();
    world.edit({ message: 'first' });
    await lookOn(world, operator);
    await converge(world, [operator]);
    const { history, pending } = world.watcher.status ?? {};
    assert.deepEqual([world.restarts.length, history, pending], [0, [], undefined]);
  });

  it('restarts each Pod once with an edit of another source, although the watch shows that late', async () => {
    const { world, operator } = await withTwoSources('2s');
    world.edit({ message: 'second' });
    operator.sync();
    await operator.reconcile();
    world.edit({ more: 'second' }, { name: 'extra' });
    await lookOn(world, operator);
    await converge(world, [operator]);
    const { lastRestart, restartCount } = world.watcher.status ?? {};
    assert.deepEqual([world.restarts.length, lastRestart?.restarted, restartCount], [3, 3, 1]);
  });
});

describe('two sources that change together', () => {
  it('restart each Pod once, although the watch shows one of the edits late', async () => {
    const { world, operator } = await withTwoSources();
    world.edit({ message: 'second' });
    operator.sync();
    world.edit({ more: 'second' }, { name: 'extra' });
    await lookOn(world, operator);
    await converge(world, [operator]);
    const { lastRestart, restartCount } = world.watcher.status ?? {};
    assert.deepEqual([world.restarts.length, lastRestart?.restarted, restartCount], [3, 3, 1]);
  });

  it('restart each Pod once where the watch shows nothing for a while', async () => {
    const { world, operator } = await withTwoSources();
    world.edit({ message: 'second' });
    world.edit({ more: 'second' }, { name: 'extra' });
    for (let looks = 0; looks < 5; looks++) {
      operator.sync('watcher');
      await operator.reconcile();
      world.step(1500);
    }
    assert.equal(world.restarts.length, 0, 'nothing is known of the edits yet');
    await converge(world, [operator]);
    assert.deepEqual([world.restarts.length, world.watcher.status?.restartCount], [3, 1]);
  });
});
