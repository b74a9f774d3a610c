import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { sleep, systemClock } from '../../src/runtime/clock.ts';
import { FakeClock } from '../fake/clock.ts';

describe('systemClock', () => {
  it('refuses delays that Node would turn into "at once"', () => {
    for (const delay of [Number.NaN, -1, Infinity, -Infinity, 2 ** 31]) {
      assert.throws(() => systemClock.setTimer(delay, () => assert.fail('fired')), RangeError);
    }
  });

  it('takes the longest delay Node can wait for', () => {
    systemClock.setTimer(2 ** 31 - 1, () => assert.fail('fired')).cancel();
  });

  it('fires once, later than the call', async () => {
    let fired = 0;
    const timer = await new Promise((resolve) => {
      const set = systemClock.setTimer(0, () => {
        fired++;
        resolve(set);
      });
      assert.equal(fired, 0);
    });
    assert.ok(timer);
    assert.equal(fired, 1);
  });

  it('turns after what the event loop has waiting', async () => {
    const done: string[] = [];
    setImmediate(() => done.push('waiting'));
    void Promise.resolve().then(() => done.push('this turn'));
    await systemClock.turn();
    assert.deepEqual(done, ['this turn', 'waiting']);
  });

  it('reads both clocks', () => {
    assert.ok(Math.abs(systemClock.now() - Date.now()) < 1000);
    const before = systemClock.monotonic();
    assert.ok(systemClock.monotonic() >= before);
  });
});

describe('sleep', () => {
  it('resolves after the delay', async () => {
    const clock = new FakeClock();
    let awake = false;
    const sleeping = sleep(clock, 1000).then(() => {
      awake = true;
    });
    await clock.advanceAsync(999);
    assert.equal(awake, false);
    await clock.advanceAsync(1);
    await sleeping;
    assert.equal(awake, true);
  });

  it('rejects with the reason of the signal and leaves no timer', async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const sleeping = sleep(clock, 1000, controller.signal);
    controller.abort(new Error('stop'));
    await assert.rejects(sleeping, { message: 'stop' });
    assert.equal(clock.pendingTimers, 0);
  });

  it('rejects at once when the signal is aborted already', async () => {
    const clock = new FakeClock();
    await assert.rejects(sleep(clock, 1000, AbortSignal.abort(new Error('stop'))), { message: 'stop' });
    assert.equal(clock.pendingTimers, 0);
  });

  it('leaves no listener on the signal', async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const sleeping = sleep(clock, 1000, controller.signal);
    await clock.advanceAsync(1000);
    await sleeping;
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
  });

  it('rejects an impossible delay', async () => {
    await assert.rejects(sleep(new FakeClock(), Number.NaN), RangeError);
  });
});
