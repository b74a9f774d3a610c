import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SimulatedNetwork } from '../../src/testing/network/simulated-network.ts';
import { MachineTime, type MachineTimeOptions } from '../../src/testing/simulated-clock.ts';
import { SimulatedProcess } from '../../src/testing/simulated-process.ts';
import { Simulation } from '../../src/testing/simulation.ts';

function newProcess(options: MachineTimeOptions = {}, seed = 'seed') {
  const simulation = new Simulation({ seed });
  const time = new MachineTime(simulation, options);
  const link = new SimulatedNetwork(simulation).link('one');
  const process = new SimulatedProcess({ simulation, name: 'one', user: 'one', time, link });
  return { simulation, time, process, clock: process.ports.clock };
}

describe('SimulatedClock', () => {
  it('tells the wall clock of its machine, in whole ms, and a monotonic one', async () => {
    const { simulation, clock, time } = newProcess({ skew: -5000, drift: 0.001 });
    await simulation.run({ until: 100_000.7 });
    assert.equal(clock.now(), Date.UTC(2024, 0, 1) - 5000 + 100_100);
    assert.ok(Math.abs(clock.monotonic() - 1000 - 100_100.7007) < 0.01);
    time.stepWall(-3_600_000);
    assert.equal(clock.now(), Date.UTC(2024, 0, 1) - 3_605_000 + 100_100);
    assert.ok(clock.monotonic() > 100_000);
  });

  it('fires a timer once, within a ms of its time by its own clock', async () => {
    for (const drift of [0, 0.01, -0.01]) {
      const { simulation, clock } = newProcess({ drift });
      const fired: number[] = [];
      const begun = clock.monotonic();
      for (let i = 0; i < 100; i++) clock.setTimer(60_000, () => fired.push(clock.monotonic() - begun));
      await simulation.run();
      assert.equal(fired.length, 100);
      assert.ok(
        fired.every((after) => Math.abs(after - 60_000) <= 1),
        `${fired}`,
      );
      assert.ok(fired.some((after) => after < 60_000) && fired.some((after) => after > 60_000));
    }
  });

  it('does not fire a timer that was cancelled', async () => {
    const { simulation, clock } = newProcess();
    const timer = clock.setTimer(10, () => assert.fail('fired'));
    timer.cancel();
    timer.cancel();
    await simulation.run();
  });

  it('never fires in the turn that set it, and refuses delays that are none', async () => {
    const { simulation, clock } = newProcess();
    let fired = false;
    clock.setTimer(0, () => {
      fired = true;
    });
    assert.equal(fired, false);
    await simulation.run();
    assert.equal(fired, true);
    assert.throws(() => clock.setTimer(2 ** 31, () => {}), RangeError);
  });

  it('gives a turn later', async () => {
    const { simulation, clock } = newProcess();
    const steps: number[] = [];
    const wait = async () => {
      steps.push(simulation.steps);
      await clock.turn();
      steps.push(simulation.steps);
    };
    simulation.schedule(1, () => void wait());
    await simulation.run();
    assert.deepEqual(steps, [1, 2]);
  });
});

describe('a stopped process', () => {
  it('is called back late, at once, while both clocks ran on', async () => {
    const { simulation, clock, process } = newProcess();
    const fired: number[] = [];
    for (const delay of [10, 20, 30, 5000]) clock.setTimer(delay, () => fired.push(clock.monotonic()));
    const cancelled = clock.setTimer(15, () => assert.fail('fired'));
    process.stop();
    await simulation.run({ until: 1000 });
    assert.deepEqual(fired, []);
    process.continue();
    cancelled.cancel();
    await simulation.run();
    assert.deepEqual(fired.slice(0, 3), [2000, 2000, 2000]);
    assert.ok(Math.abs((fired[3] ?? 0) - 6000) <= 1);
  });
});

describe('a suspended machine', () => {
  it('lets only the wall clock run', async () => {
    const { simulation, clock, process } = newProcess();
    const [wall, monotonic] = [clock.now(), clock.monotonic()];
    let fired = 0;
    clock.setTimer(1000, () => {
      fired = clock.monotonic();
    });
    await simulation.run({ until: 400 });
    process.suspend();
    await simulation.run({ until: 100_400 });
    assert.equal(fired, 0);
    assert.equal(clock.monotonic(), monotonic + 400);
    process.resume();
    assert.equal(clock.now(), wall + 100_400);
    await simulation.run({ until: 100_900 });
    assert.equal(fired, 0);
    await simulation.run({ until: 101_100 });
    assert.ok(Math.abs(fired - monotonic - 1000) <= 1, `${fired}`);
  });
});
