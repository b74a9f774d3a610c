/** Reconciles that do not end: logged once, counted, and in the end a reason for a restart. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ControllerOptions } from '../../../src/runtime/controller/controller.ts';
import { series, startController, widget } from './fixtures.ts';

const second = 1000;
const minute = 60 * second;

function startHanging(options: ControllerOptions = {}) {
  const ends: (() => void)[] = [];
  const world = startController(() => new Promise((resolve) => ends.push(() => resolve({}))), {
    maxConcurrentReconciles: 2,
    ...options,
  });
  const counted = async () => {
    const all = await series(world.registry, 'controller_runtime_');
    return [
      all['controller_runtime_reconcile_hangs_total{controller="widget"}'],
      all['controller_runtime_hanging_reconciles{controller="widget"}'],
    ];
  };
  const lines = () => world.log.lines.filter(({ message }) => message.startsWith('reconcile hangs'));
  const isHealthy = () => {
    try {
      world.controller.healthCheck();
      return true;
    } catch {
      return false;
    }
  };
  const end = async () => {
    world.stop.abort();
    for (const each of ends) each();
    await world.running;
    assert.equal(world.clock.pendingTimers, 0);
  };
  return { ...world, ends, counted, lines, isHealthy, end };
}

describe('Controller: a reconcile that hangs', () => {
  it('is logged once with its object, and counted, after a minute', async () => {
    const world = startHanging();
    world.informer.sync(widget('a'));
    await world.clock.advanceAsync(minute - 1);
    assert.deepEqual([world.lines().length, await world.counted()], [0, [0, 0]]);
    await world.clock.advanceAsync(1);
    assert.deepEqual(
      world.lines().map(({ level, fields }) => [level, fields.namespace, fields.name, fields.running]),
      [['warn', 'default', 'a', minute]],
    );
    await world.clock.advanceAsync(60 * minute);
    assert.deepEqual([world.lines().length, await world.counted()], [1, [1, 1]]);
    world.ends[0]?.();
    await world.clock.advanceAsync(0);
    assert.deepEqual(await world.counted(), [1, 0]);
    await world.end();
  });

  it('is counted as well when its time limit has let its worker go on', async () => {
    const world = startHanging({ reconcileTimeout: second, maxConcurrentReconciles: 1 });
    world.informer.sync(widget('a'), widget('b'));
    await world.clock.advanceAsync(2 * minute);
    assert.deepEqual(await world.counted(), [2, 2]);
    await world.clock.advanceAsync(60 * minute);
    assert.equal(world.isHealthy(), true, 'the worker goes on');
    await world.end();
  });

  it('is a reason for a restart when it is so for every worker for more than 15 minutes', async () => {
    const world = startHanging();
    world.informer.sync(widget('a'));
    await world.clock.advanceAsync(60 * minute);
    assert.equal(world.isHealthy(), true, 'one worker goes on');
    world.informer.add(widget('b'));
    await world.clock.advanceAsync(15 * minute);
    assert.equal(world.isHealthy(), true);
    await world.clock.advanceAsync(1);
    assert.equal(world.isHealthy(), false);
    world.ends[0]?.();
    await world.clock.advanceAsync(0);
    assert.equal(world.isHealthy(), true);
    await world.end();
  });

  it('is a reason for a restart sooner or later, where the controller says so', async () => {
    const world = startHanging({ unhealthyAfter: 3 * second, maxConcurrentReconciles: 1 });
    world.informer.sync(widget('a'));
    await world.clock.advanceAsync(3 * second);
    assert.equal(world.isHealthy(), true);
    await world.clock.advanceAsync(1);
    assert.equal(world.isHealthy(), false);
    await world.end();
  });
});
