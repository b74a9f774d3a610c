import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Simulation } from '../../src/testing/simulation.ts';

const newSimulation = (seed = 'seed') => new Simulation({ seed });

describe('Simulation', () => {
  it('runs tasks in the order of their instants, and time is theirs', async () => {
    const simulation = newSimulation();
    const ran: [string, number][] = [];
    const note = (name: string) => () => ran.push([name, simulation.elapsed]);
    simulation.schedule(20, note('second'));
    simulation.schedule(10, note('first'));
    simulation.schedule(5000.5, note('third'));
    await simulation.run();
    assert.deepEqual(ran, [
      ['first', 10],
      ['second', 20],
      ['third', 5000.5],
    ]);
    assert.equal(simulation.now, Date.UTC(2024, 0, 1) + 5000.5);
    assert.equal(simulation.steps, 3);
  });

  it('lets all promise callbacks run before the next task', async () => {
    const simulation = newSimulation();
    const ran: string[] = [];
    const chain = async () => {
      for (let i = 0; i < 50; i++) await undefined;
      ran.push('promises');
    };
    simulation.schedule(1, () => void chain());
    simulation.schedule(1.001, () => ran.push('next task'));
    await simulation.run();
    assert.deepEqual(ran, ['promises', 'next task']);
  });

  it('keeps the order of one lane and mixes lanes by the seed', async () => {
    const orderOf = async (seed: string) => {
      const simulation = newSimulation(seed);
      const ran: string[] = [];
      for (let i = 0; i < 8; i++) {
        for (const lane of ['a', 'b', 'c']) simulation.schedule(7, () => ran.push(`${lane}${i}`), lane);
      }
      await simulation.run();
      return ran;
    };
    const orders = new Set<string>();
    for (const seed of ['1', '2', '3', '4', '5']) {
      const ran = await orderOf(seed);
      for (const lane of ['a', 'b', 'c']) {
        const own = ran.filter((name) => name.startsWith(lane));
        assert.deepEqual(
          own,
          own.toSorted((x, y) => x.localeCompare(y)),
        );
      }
      assert.deepEqual(await orderOf(seed), ran);
      orders.add(ran.join(' '));
    }
    assert.ok(orders.size > 1);
  });

  it('mixes tasks without a lane by the seed', async () => {
    const orders = new Set<string>();
    for (const seed of ['1', '2', '3']) {
      const simulation = newSimulation(seed);
      const ran: number[] = [];
      for (let i = 0; i < 6; i++) simulation.schedule(0, () => ran.push(i));
      await simulation.run();
      orders.add(ran.join());
    }
    assert.ok(orders.size > 1);
  });

  it('does not let a lane that goes on and on in one instant hold up the others', async () => {
    const simulation = newSimulation();
    let ended = false;
    const again = () => {
      if (!ended) simulation.schedule(0, again, 'busy');
    };
    again();
    simulation.schedule(
      0,
      () => {
        ended = true;
      },
      'other',
    );
    await simulation.run();
    assert.ok(simulation.steps < 200, `${simulation.steps}`);
  });

  it('keeps the order over days, whenever tasks are set and cancelled', async () => {
    const simulation = newSimulation();
    const { random } = simulation;
    const wanted: number[] = [];
    const ran: number[] = [];
    const scheduleSome = (count: number) => {
      for (let i = 0; i < count; i++) {
        const due = simulation.elapsed + random.next() * 10 ** (1 + random.integer(9));
        const isKept = random.chance(0.7);
        const task = simulation.schedule(due - simulation.elapsed, () => {
          ran.push(due);
          if (ran.length < 1000) scheduleSome(2);
          assert.ok(isKept);
        });
        if (isKept) wanted.push(due);
        else simulation.schedule(random.next() * (due - simulation.elapsed), () => task.cancel());
      }
    };
    scheduleSome(50);
    await simulation.run({ until: 86_400_000 });
    scheduleSome(50);
    await simulation.run();
    assert.ok(ran.length > 1000, `${ran.length}`);
    assert.deepEqual(
      ran,
      wanted.toSorted((x, y) => x - y),
    );
    assert.equal(simulation.pendingTasks, 0);
  });

  it('does not run a cancelled task', async () => {
    const simulation = newSimulation();
    const tasks = Array.from({ length: 100 }, (_, i) => simulation.schedule(i, () => assert.equal(i % 2, 1)));
    for (let i = 0; i < 100; i += 2) tasks[i]?.cancel();
    assert.equal(simulation.pendingTasks, 50);
    await simulation.run();
    tasks[1]?.cancel();
    assert.equal(simulation.steps, 50);
  });

  it('stops at an instant and goes on from there', async () => {
    const simulation = newSimulation();
    let ran = 0;
    for (const delay of [10, 20, 30]) simulation.schedule(delay, () => ran++);
    await simulation.run({ until: 20 });
    assert.deepEqual([ran, simulation.elapsed], [2, 20]);
    await simulation.run({ until: 25 });
    assert.deepEqual([ran, simulation.elapsed], [2, 25]);
    await simulation.run();
    assert.equal(ran, 3);
  });

  it('stops as soon as a condition holds, promise callbacks included', async () => {
    const simulation = newSimulation();
    let done = false;
    const finish = async () => {
      await undefined;
      done = true;
    };
    simulation.schedule(1, () => void finish());
    simulation.schedule(2, () => assert.fail('ran on'));
    await simulation.run({ when: () => done });
    assert.equal(simulation.elapsed, 1);
  });

  it('calls listeners after each task, and rejects with what they throw', async () => {
    const simulation = newSimulation();
    const seen: number[] = [];
    simulation.afterStep(() => {
      seen.push(simulation.elapsed);
      if (simulation.elapsed === 3) throw new Error('broken promise');
    });
    for (const delay of [1, 2, 3, 4]) simulation.schedule(delay, () => {});
    await assert.rejects(simulation.run(), /broken promise/);
    assert.deepEqual(seen, [1, 2, 3]);
    await simulation.run();
    assert.deepEqual(seen, [1, 2, 3, 4]);
  });

  it('rejects with what a task throws', async () => {
    const simulation = newSimulation();
    simulation.schedule(1, () => {
      throw new Error('defect');
    });
    await assert.rejects(simulation.run(), /defect/);
  });

  it('refuses delays that are none', () => {
    const simulation = newSimulation();
    for (const delay of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => simulation.schedule(delay, () => {}), RangeError);
    }
  });

  it('has a hash of what happened', async () => {
    const hashOf = async (texts: readonly string[], delay = 1) => {
      const simulation = newSimulation();
      for (const text of texts) simulation.schedule(delay, () => simulation.trace(text), 'one');
      await simulation.run();
      return simulation.traceHash;
    };
    const hash = await hashOf(['a', 'b']);
    assert.match(hash, /^[0-9a-f]{16}$/);
    assert.equal(await hashOf(['a', 'b']), hash);
    const others = [
      await hashOf(['b', 'a']),
      await hashOf(['a', 'c']),
      await hashOf(['a']),
      await hashOf(['a', 'b'], 2),
      await hashOf(['a', 'b'], 1.001),
      await hashOf(['ab', '']),
    ];
    assert.equal(new Set([hash, ...others]).size, 7);
  });
});
