import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EventLoopMonitor } from '../../../src/runtime/health/event-loop-monitor.ts';
import { FakeClock } from '../../fake/clock.ts';

function monitored() {
  const clock = new FakeClock();
  const monitor = new EventLoopMonitor(clock);
  monitor.start();
  const block = (ms: number) => clock.suspend(ms, { monotonic: 'moves' });
  return { clock, monitor, block };
}

describe('EventLoopMonitor', () => {
  it('passes while the loop turns', () => {
    const { clock, monitor } = monitored();
    for (let second = 0; second < 120; second++) {
      clock.advance(1000);
      monitor.check();
    }
  });

  it('tolerates a lag of 10 s', () => {
    const { clock, monitor, block } = monitored();
    block(11_000);
    clock.advance(0);
    monitor.check();
  });

  it('fails after a longer one, for as long as every probe needs to see it, then passes again', () => {
    const { clock, monitor, block } = monitored();
    block(12_000);
    clock.advance(0);
    assert.throws(() => monitor.check(), /stood still for 11 s/);
    clock.advance(15_000);
    assert.throws(() => monitor.check());
    clock.advance(1);
    monitor.check();
  });

  it('sees a lag also when the probe is answered before its own timer', () => {
    const { monitor, block } = monitored();
    block(12_000);
    assert.throws(() => monitor.check(), /stood still/);
  });

  it('leaves no timer behind', () => {
    const { clock, monitor, block } = monitored();
    clock.advance(5000);
    monitor.stop();
    assert.equal(clock.pendingTimers, 0);
    block(60_000);
    monitor.check();
  });
});
