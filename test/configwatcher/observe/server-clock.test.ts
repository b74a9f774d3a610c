import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServerClock } from '../../../src/configwatcher/observe/server-clock.ts';
import { FakeClock } from '../../fake/clock.ts';
import { now } from '../../fixtures/configwatcher.ts';

describe('ServerClock', () => {
  it('goes by the local clock before the first answer', () => {
    assert.equal(new ServerClock(new FakeClock({ now })).now(), now);
  });

  it('follows the server, whatever the local wall clock does', () => {
    const clock = new FakeClock({ now });
    const server = new ServerClock(clock);
    server.observe(now + 60_000);
    clock.stepWall(-3_600_000);
    clock.advance(2500);
    assert.equal(server.now(), now + 62_500);
  });

  it('is never ahead of the server, and nears it with each answer', () => {
    const clock = new FakeClock({ now });
    const server = new ServerClock(clock);
    const serverTime = () => now + 700 + (clock.now() - now);
    for (let answer = 0; answer < 50; answer++) {
      server.observe(Math.floor(serverTime() / 1000) * 1000);
      assert.ok(server.now() <= serverTime());
      clock.advance(70);
    }
    assert.ok(serverTime() - server.now() < 70);
  });

  it('follows a server whose clock was set back', () => {
    const clock = new FakeClock({ now });
    const server = new ServerClock(clock);
    server.observe(now);
    server.observe(now - 60_000);
    assert.equal(server.now(), now - 60_000);
  });

  it('ignores what is no date', () => {
    const server = new ServerClock(new FakeClock({ now }));
    server.observe(Number.NaN);
    assert.equal(server.now(), now);
  });
});
