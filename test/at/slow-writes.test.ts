/** AtMostOnce on an API server that takes its time for each write: the create has to fit into what the intent leaves. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dueTime } from '../fixtures/at.ts';
import { Operator } from './operator.ts';
import { World } from './world.ts';

const minute = 60_000;

function due(latency: number): { world: World; operator: Operator } {
  const world = new World(dueTime);
  world.createAt({ launchGuarantee: 'AtMostOnce', backoffLimit: 0 });
  world.latency = latency;
  return { world, operator: new Operator(world) };
}

/** One pass after the other, as soon as each asks for it, until so much time has passed. */
async function live(world: World, operator: Operator, duration: number): Promise<void> {
  for (const end = world.now + duration; world.now < end; ) {
    operator.syncAts();
    operator.syncPods();
    const result = await operator.reconcile();
    // After an error at once: the worst that a backoff may come to.
    world.now += result instanceof Error ? 0 : (result.requeueAfter ?? minute);
  }
}

function count({ requests }: World, request: string): number {
  return requests.filter((one) => one === request).length;
}

describe('AtReconciler, with AtMostOnce and slow writes', () => {
  for (const latency of [0, 900, 1200, 2000, 2200]) {
    it(`launches with one intent and one create when each takes ${latency} ms`, async () => {
      const { world, operator } = due(latency);
      await operator.reconcile();
      assert.deepEqual(world.requests, ['PATCH ats/status', 'POST pods']);
      await live(world, operator, minute);
      assert.equal(count(world, 'POST pods'), 1);
      assert.equal(world.ats.get('example-at')?.status?.phase, 'RUNNING');
    });
  }

  for (const latency of [2500, 3900, 6000]) {
    it(`sends no create and writes seldom when each takes ${latency} ms, and launches after that`, async () => {
      const { world, operator } = due(latency);
      await live(world, operator, minute);
      assert.equal(count(world, 'POST pods'), 0);
      const most = latency > 4000 ? minute / 4000 : 9;
      assert.ok(count(world, 'PATCH ats/status') <= most, `${count(world, 'PATCH ats/status')} writes`);
      world.latency = 0;
      await live(world, operator, minute);
      assert.equal(count(world, 'POST pods'), 1);
      assert.equal(world.ats.get('example-at')?.status?.phase, 'RUNNING');
    });
  }

  for (const [stopped, sent] of [
    [499, 1],
    [500, 0],
    [100_000, 0],
  ] as const) {
    it(`sends ${sent} creates when the process is stopped for ${stopped} ms before that`, async () => {
      const { world, operator } = due(1200);
      operator.faults = [undefined, 'stopBefore'];
      const pass = operator.reconcile();
      await world.stop;
      world.now += stopped;
      world.goOn();
      await pass;
      assert.equal(count(world, 'POST pods'), sent);
      assert.equal(world.creations.length, sent);
    });
  }

  it('has a create without an answer given up before another process calls the launch lost', async () => {
    const { world, operator } = due(1200);
    const other = new Operator(world);
    operator.faults = [undefined, 'late'];
    await operator.reconcile();
    const deadline = dueTime + 1200 + 3300;
    assert.deepEqual(world.late, [{ deadline, request: 'POST pods' }]);
    other.syncAts();
    // It sees the intent no earlier than the API server has it, and waits from then on.
    assert.deepEqual(await other.reconcile(), { requeueAfter: 5000 });
    world.now += 5000;
    await other.reconcile();
    assert.equal(world.ats.get('example-at')?.status?.reason, 'LaunchUnknown');
    world.land();
    assert.deepEqual([world.creations, world.violations], [[], []]);
  });

  it('waits longer after each intent that came too late, 10 s at most, and writes one a pass', async () => {
    const { world, operator } = due(3000);
    const waits: (number | undefined)[] = [];
    for (let tries = 1; tries <= 8; tries += 1) {
      const result = await operator.reconcile();
      waits.push('requeueAfter' in result ? result.requeueAfter : undefined);
      assert.equal(world.requests.length, tries);
      // Its own watch event wakes it.
      assert.deepEqual(await operator.reconcile(), result);
      assert.equal(world.requests.length, tries);
      world.now += waits.at(-1) ?? 0;
    }
    assert.deepEqual(waits, [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
  });
});
