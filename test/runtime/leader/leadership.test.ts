import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TransportError } from '../../../src/runtime/client/api-error.ts';
import { instantOf, Leadership } from '../../../src/runtime/leader/leadership.ts';
import { FakeClock } from '../../fake/clock.ts';

function leading() {
  const clock = new FakeClock();
  const leadership = new Leadership(clock, 10_000);
  leadership.extend(instantOf(clock));
  return { clock, leadership };
}

describe('Leadership', () => {
  it('is closed before the lease was acquired', () => {
    const leadership = new Leadership(new FakeClock({ monotonic: 0, now: 0 }), 10_000);
    assert.throws(
      () => leadership.assertMayWrite(),
      (error) => error instanceof TransportError && !error.sent,
    );
    assert.equal(leadership.isStale, false);
  });

  it('is open for exactly one term after the renewal was sent', () => {
    const { clock, leadership } = leading();
    clock.advance(9999);
    leadership.assertMayWrite();
    clock.advance(1);
    assert.throws(() => leadership.assertMayWrite(), TransportError);
    assert.equal(leadership.isStale, true);
    assert.equal(leadership.remaining, 0);
  });

  it('counts from the sending of the renewal, not from its answer', () => {
    const { clock, leadership } = leading();
    const sent = instantOf(clock);
    clock.advance(4000);
    assert.equal(leadership.extend(sent), true);
    assert.equal(leadership.remaining, 6000);
  });

  it('does not believe an answer that came too late', () => {
    const clock = new FakeClock();
    const leadership = new Leadership(clock, 10_000);
    const sent = instantOf(clock);
    clock.advance(12_000);
    assert.equal(leadership.extend(sent), false);
    assert.throws(() => leadership.assertMayWrite(), TransportError);
  });

  it('is not stale when the answer to its first take came too late: it never led', () => {
    const clock = new FakeClock();
    const leadership = new Leadership(clock, 10_000);
    const sent = instantOf(clock);
    clock.advance(12_000);
    leadership.extend(sent);
    assert.equal(leadership.isStale, false);
    assert.equal(leadership.extend(instantOf(clock)), true, 'it may still lead');
    assert.equal(leadership.extend(sent), false);
    assert.equal(leadership.isStale, true, 'now it has led');
  });

  it('closes while the process is stopped, before any timer could run', () => {
    const { clock, leadership } = leading();
    clock.suspend(20_000, { monotonic: 'moves' });
    assert.throws(() => leadership.assertMayWrite(), TransportError);
  });

  it('closes while the machine sleeps, though the monotonic clock stands still', () => {
    const { clock, leadership } = leading();
    clock.suspend(20_000);
    assert.throws(() => leadership.assertMayWrite(), TransportError);
  });

  it('is not prolonged by a wall clock that is adjusted backwards', () => {
    const { clock, leadership } = leading();
    clock.stepWall(-300);
    leadership.assertMayWrite();
    clock.advance(10_000);
    assert.throws(() => leadership.assertMayWrite(), TransportError);
  });

  it('closes while the machine sleeps, though its wall clock is set back meanwhile', () => {
    const { clock, leadership } = leading();
    clock.suspend(20_000);
    clock.stepWall(-3_600_000);
    assert.throws(() => leadership.assertMayWrite(), TransportError);
  });

  for (const step of [3_600_000, -3_600_000]) {
    it(`closes until the next renewal when the wall clock is set by ${step} ms`, () => {
      const { clock, leadership } = leading();
      clock.stepWall(step);
      assert.throws(() => leadership.assertMayWrite(), TransportError);
      leadership.extend(instantOf(clock));
      leadership.assertMayWrite();
    });
  }

  it('never opens again once it is over', () => {
    const { clock, leadership } = leading();
    leadership.end();
    assert.equal(leadership.extend(instantOf(clock)), false);
    assert.throws(() => leadership.assertMayWrite(), TransportError);
    assert.equal(leadership.isStale, false);
  });
});
