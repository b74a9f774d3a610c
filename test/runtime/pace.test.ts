import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Pace } from '../../src/runtime/pace.ts';
import { FakeClock } from '../fake/clock.ts';

describe('Pace', () => {
  it('asks for a turn after 10 ms of work, however many stretches that took', async () => {
    const clock = new FakeClock();
    const pace = new Pace(clock);
    for (let stretch = 0; stretch < 3; stretch++) {
      pace.begin();
      clock.advance(3);
      assert.equal(pace.isDue, false);
      pace.end();
      clock.advance(1000);
    }
    pace.begin();
    clock.advance(1);
    assert.equal(pace.isDue, true);
    await pace.turn();
    assert.equal(pace.isDue, false);
    clock.advance(9);
    assert.equal(pace.isDue, false);
  });
});
