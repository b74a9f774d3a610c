import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SimulatedNetwork } from '../../src/testing/network/simulated-network.ts';
import { MachineTime } from '../../src/testing/simulated-clock.ts';
import { type ProcessEnd, type Program, SimulatedProcess } from '../../src/testing/simulated-process.ts';
import { Simulation } from '../../src/testing/simulation.ts';

function newProcess() {
  const simulation = new Simulation({ seed: 'seed' });
  const time = new MachineTime(simulation);
  const link = new SimulatedNetwork(simulation).link('one');
  const process = new SimulatedProcess({ simulation, name: 'one', user: 'one', time, link });
  return { simulation, process };
}

async function endOf(program: Program): Promise<ProcessEnd | undefined> {
  const { simulation, process } = newProcess();
  process.start(program);
  await simulation.run();
  return process.end;
}

describe('SimulatedProcess', () => {
  it('runs a program until it exits', async () => {
    const ends: ProcessEnd[] = [];
    const { simulation, process } = newProcess();
    process.onEnd((end) => ends.push(end));
    process.start(({ clock }, host) => {
      host.stderr.write('good bye\n');
      clock.setTimer(100, () => host.exit(3));
      clock.setTimer(1000, () => assert.fail('called back'));
    });
    await simulation.run();
    assert.equal(process.isAlive, false);
    assert.equal(ends.length, 1);
    assert.deepEqual([ends[0]?.code, ends[0]?.stderr], [3, 'good bye\n']);
  });

  it('ends with 1 by what the program throws or rejects with', async () => {
    const thrown = await endOf(() => {
      throw new Error('cannot start');
    });
    assert.equal(thrown?.code, 1);
    assert.match(thrown?.stderr ?? '', /cannot start/);
    assert.equal((await endOf(() => Promise.reject(new Error('later'))))?.code, 1);
    const uncaught = await endOf(({ clock }) => {
      clock.setTimer(1, () => {
        throw new Error('in a timer');
      });
    });
    assert.equal(uncaught?.code, 1);
  });

  it('hands what nothing catches to the handler for it', async () => {
    const end = await endOf(({ clock }, host) => {
      host.on('uncaughtException', (error) => {
        host.stderr.write(error.message);
        host.exit(7);
      });
      clock.setTimer(1, () => {
        throw new Error('in a timer');
      });
    });
    assert.deepEqual([end?.code, end?.stderr], [7, 'in a timer']);
  });

  it('gets signals, which end it without a handler', async () => {
    for (const handled of [true, false]) {
      const { simulation, process } = newProcess();
      process.start((_ports, host) => {
        if (handled) host.on('SIGTERM', () => host.exit(0));
      });
      simulation.schedule(10, () => process.signal('SIGTERM'));
      await simulation.run();
      assert.equal(process.end?.code, handled ? 0 : 143);
    }
  });

  it('is dead after a kill: nothing calls back, and its ports do nothing', async () => {
    const { simulation, process } = newProcess();
    const { clock, openConnection } = process.ports;
    clock.setTimer(100, () => assert.fail('a timer fired'));
    void clock.turn().then(() => assert.fail('a turn came'));
    process.kill();
    clock.setTimer(100, () => assert.fail('a timer fired'));
    openConnection({} as never).dispatch(
      { method: 'GET', path: '/' },
      { onRequestStart: () => assert.fail('a request was sent') },
    );
    process.signal('SIGTERM');
    process.continue();
    await simulation.run();
    assert.equal(process.end?.code, 137);
  });

  it('takes chance from the seed', () => {
    const draw = (seed: string) => {
      const simulation = new Simulation({ seed });
      const options = {
        time: new MachineTime(simulation),
        link: new SimulatedNetwork(simulation).link('one'),
      };
      const { randomness } = new SimulatedProcess({ simulation, name: 'one', user: 'one', ...options }).ports;
      return [randomness.random(), randomness.uuid(), randomness.bytes(32).toString('hex')];
    };
    assert.deepEqual(draw('a'), draw('a'));
    assert.notDeepEqual(draw('a'), draw('b'));
    assert.match(
      String(draw('a')[1]),
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  });
});
