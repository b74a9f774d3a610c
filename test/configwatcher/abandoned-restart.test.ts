/** A watcher whose spec is edited while it restarts Pods for what it does not watch any more. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { converge, lookUntil, settled } from './operator.ts';

describe('a spec edited in mid-restart', () => {
  it('to another ConfigMap ends the restart, with what was done in status and metrics', async () => {
    const { world, operator } = await settled();
    world.edit({ message: 'second' });
    await lookUntil(world, operator, () => world.restarts.length >= 2, 500);
    world.edit({ message: 'first' }, { name: 'other-config' });
    world.editSpec({ configMap: 'other-config' });
    await converge(world, [operator]);
    const { lastRestart, history = [], restartCount, pending } = world.watcher.status ?? {};
    assert.deepEqual(
      [world.restarts.length, lastRestart?.restarted, restartCount, pending],
      [2, 2, 1, undefined],
    );
    assert.ok(lastRestart?.completionTime);
    assert.equal(history[0]?.id, lastRestart.id);
    assert.equal(operator.events.at(-1)?.reason, 'RestartAbandoned');
    assert.equal(await operator.metric('restarts_total{strategy="Evict",result="overtaken"}'), 1);
    world.edit({ message: 'third' }, { name: 'other-config' });
    await converge(world, [operator]);
    assert.equal(world.restarts.length, 6);
    assert.equal(world.watcher.status?.restartCount, 2);
  });

  it('to other keys goes on: what the Pods have cannot be told any more', async () => {
    const { world, operator } = await settled();
    world.edit({ message: 'second' });
    await lookUntil(world, operator, () => world.restarts.length >= 2, 500);
    world.editSpec({ keys: ['message'] });
    await converge(world, [operator]);
    const { lastRestart, restartCount } = world.watcher.status ?? {};
    assert.deepEqual([world.restarts.length, lastRestart?.restarted, restartCount], [4, 4, 1]);
  });
});
