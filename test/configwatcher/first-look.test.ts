/** The first look of a process at a watcher, where it ends with an error before its status is written. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { converge, Operator, replacedWhileDown, settled } from './operator.ts';
import { World } from './world.ts';

describe('a first look that fails', () => {
  for (const request of ['list pods', 'updateStatus configwatchers']) {
    it(`spares the Pods that were made after an edit of before, where '${request}' fails`, async () => {
      const world = await replacedWhileDown();
      const next = new Operator(world, 'next');
      world.failing = request;
      await next.reconcile();
      world.failing = '';
      world.step(1000);
      await converge(world, [next]);
      assert.equal(world.restarts.length, 3);
    });
  }

  it('lets an edit that is taken back restart the Pods of in between, where the status could not be written', async () => {
    const { world, operator } = await settled({}, { replicas: 0 });
    world.edit({ message: 'same', extra: 'goes and comes back' });
    world.step(60_000);
    await converge(world, [operator]);
    world.step(600_000);
    world.edit({ message: 'same' }, { tool: 'edit' });
    world.step(5000);
    world.addWorkload('web', 2);
    world.step(60_000);
    world.editSpec({ suspend: true });
    const next = new Operator(world, 'next');
    world.failing = 'updateStatus configwatchers';
    await next.reconcile();
    world.failing = '';
    await converge(world, [next]);
    world.step(10_000);
    world.edit({ message: 'same', extra: 'goes and comes back' });
    await converge(world, [next]);
    world.editSpec({ suspend: false });
    await converge(world, [next]);
    assert.equal(world.restarts.length, 2);
  });

  it('leaves nothing behind of a watcher that goes before its first status is written', async () => {
    const world = new World();
    const operator = new Operator(world, 'operator');
    world.failing = 'updateStatus configwatchers';
    await operator.reconcile();
    const reads = () => world.requests.filter((request) => request === 'get configmaps').length;
    assert.equal(reads(), 1);
    const { watcher } = world;
    world.watchers.clear();
    operator.sync();
    await operator.reconcile();
    world.step(10_000);
    // Of the same uid, so that it would know what was left behind.
    world.watcher = watcher;
    operator.sync();
    await operator.reconcile();
    assert.equal(reads(), 2);
  });
});
