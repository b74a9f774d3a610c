import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServerClock } from '../../src/runtime/server-clock.ts';
import { FakeClock } from '../fake/clock.ts';
import { fc } from '../fixtures/property.ts';

const minute = 60_000;
const start = Date.UTC(2030, 0, 31, 9, 0, 0, 730);

/** An API server whose clock differs from this machine's; every answer takes `latency` ms each way. */
class Server {
  readonly clock: FakeClock;
  readonly serverClock: ServerClock;

  /** @param ahead ms that the machine's wall clock is ahead of the server's. */
  constructor(ahead: number) {
    this.clock = new FakeClock({ now: start + ahead });
    this.serverClock = new ServerClock(this.clock);
  }

  /** The server's true time, from the monotonic clock: the wall clock may be set. */
  get time(): number {
    return start + this.clock.monotonic() - 1000;
  }

  answer({ latency = 2, offset = 0 }: { latency?: number; offset?: number } = {}): void {
    const sentAt = this.clock.monotonic();
    this.clock.advance(latency);
    const date = Math.floor((this.time + offset) / 1000) * 1000;
    this.clock.advance(latency);
    this.serverClock.observe({ date, sentAt, receivedAt: this.clock.monotonic() });
  }

  /** Sends the requests that are asked for; returns how many. */
  probe(): number {
    for (let count = 0; ; count++) {
      const at = this.serverClock.probeAt(4);
      if (at === undefined || count > 30) return count;
      this.clock.advance(Math.max(0, at - this.clock.monotonic()));
      this.answer();
    }
  }
}

describe('ServerClock', () => {
  it('is the own wall clock before the first answer', () => {
    assert.equal(new ServerClock(new FakeClock({ now: start })).now(), start);
  });

  it('is the own wall clock, to the millisecond, as long as answers allow it', () => {
    const server = new Server(0);
    for (let count = 0; count < 100; count++) {
      server.answer();
      assert.equal(server.serverClock.now(), server.clock.now());
      server.clock.advance(337);
    }
    assert.equal(server.serverClock.skew, 0);
  });

  for (const ahead of [20 * minute, 1500, -1500, -20 * minute]) {
    it(`is the server's time at the latest, and within 20 ms of it, with a clock ${ahead} ms ahead`, () => {
      const server = new Server(ahead);
      server.answer();
      assert.ok(server.serverClock.now() <= server.time);
      const probes = server.probe();
      assert.ok(probes <= 8, `${probes} requests`);
      const late = server.time - server.serverClock.now();
      assert.ok(late >= 0 && late <= 20, `${late} ms late`);
      assert.ok(Math.abs(server.serverClock.skew - ahead) <= 20, `skew ${server.serverClock.skew}`);
    });
  }

  it('is whole milliseconds, whatever the monotonic clock has', () => {
    const server = new Server(-5000);
    server.answer();
    server.clock.advance(7.5);
    assert.equal(server.serverClock.now() % 1, 0);
    assert.ok(server.serverClock.now() <= server.time);
  });

  it('bounds the true time whatever the latencies, the drift and the answers are', () => {
    const answers = fc.array(fc.record({ pause: fc.nat(50_000), there: fc.nat(3000), back: fc.nat(3000) }), {
      minLength: 1,
      maxLength: 60,
    });
    const drift = fc.double({ min: -490e-6, max: 490e-6, noNaN: true });
    fc.assert(
      fc.property(answers, drift, fc.integer({ min: -5000, max: 5000 }), (rows, rate, ahead) => {
        const clock = new FakeClock({ now: start + ahead, monotonic: 1000 });
        const serverClock = new ServerClock(clock);
        const time = () => start + (clock.monotonic() - 1000) * (1 + rate);
        for (const { pause, there, back } of rows) {
          clock.advance(pause);
          const sentAt = clock.monotonic();
          clock.advance(there);
          const date = Math.floor(time() / 1000) * 1000;
          clock.advance(back);
          serverClock.observe({ date, sentAt, receivedAt: clock.monotonic() });
          const { earliest, latest } = serverClock.bounds ?? assert.fail('no bounds');
          assert.ok(earliest <= time() && time() < latest, `${earliest} ${time()} ${latest}`);
        }
      }),
    );
  });

  it('goes by the earlier of two servers that disagree', () => {
    const server = new Server(0);
    for (let count = 0; count < 200; count++) {
      server.answer({ offset: count % 2 === 0 ? -3000 : 0 });
      server.clock.advance(450);
      assert.ok(server.serverClock.now() <= server.time - 3000 + 1000);
    }
    assert.ok(server.serverClock.skew > 1900);
  });

  it('goes by the later one when the earlier one has not answered for a minute', () => {
    const server = new Server(0);
    server.answer({ offset: -3000 });
    for (let count = 0; count < 70; count++) {
      server.clock.advance(1000);
      server.answer();
    }
    assert.equal(server.serverClock.now(), server.clock.now());
    server.answer({ offset: -3000 });
    assert.ok(server.serverClock.now() <= server.time - 2000);
  });

  describe('when the wall clock is set', () => {
    it('back, it goes on with what the answers prove', () => {
      const server = new Server(0);
      server.answer();
      server.probe();
      server.clock.stepWall(-60 * minute);
      assert.ok(Math.abs(server.time - server.serverClock.now()) <= 25);
    });

    it('forward, nothing is early', () => {
      const server = new Server(0);
      server.answer();
      server.clock.stepWall(20 * minute);
      assert.ok(server.serverClock.now() <= server.time);
      server.answer();
      assert.ok(server.serverClock.now() <= server.time);
      assert.ok(server.serverClock.skew > 19 * minute);
    });
  });

  it('follows the server at once after the machine was suspended', () => {
    const server = new Server(0);
    server.answer();
    const before = server.time;
    server.clock.suspend(60 * minute);
    // Until an answer proves that time has passed, it may be that the wall clock was set.
    assert.ok(server.serverClock.now() <= before + 1000);
    const sentAt = server.clock.monotonic();
    const date = Math.floor((before + 60 * minute) / 1000) * 1000;
    server.clock.advance(2);
    server.serverClock.observe({ date, sentAt, receivedAt: server.clock.monotonic() });
    assert.equal(server.serverClock.now(), server.clock.now());
  });

  it('takes an answer from before the machine was suspended for no proof of what time it is after that', () => {
    const server = new Server(0);
    server.answer();
    const sentAt = server.clock.monotonic();
    server.clock.advance(2);
    const before = server.time;
    server.clock.suspend(60 * minute);
    const receivedAt = server.clock.monotonic();
    const at = (time: number) => Math.floor(time / 1000) * 1000;
    server.serverClock.observe({ date: at(before), sentAt, receivedAt });
    server.clock.advance(100);
    const asked = { sentAt: server.clock.monotonic(), receivedAt: server.clock.monotonic() + 2 };
    server.clock.advance(2);
    server.serverClock.observe({ ...asked, date: at(before + 60 * minute + 101) });
    assert.equal(server.serverClock.now(), server.clock.now());
  });

  describe('without an answer for a minute', () => {
    it('it is the earlier of the own clock and what is proved', () => {
      for (const step of [10 * minute, -10 * minute]) {
        const server = new Server(0);
        server.answer();
        server.clock.advance(5 * minute);
        const proved = server.serverClock.bounds?.earliest ?? assert.fail('no bounds');
        server.clock.stepWall(step);
        assert.equal(server.serverClock.now(), Math.min(server.clock.now(), proved));
      }
    });

    it('no skew is told', () => {
      const server = new Server(10 * minute);
      server.answer();
      server.clock.advance(2 * minute);
      assert.equal(server.serverClock.skew, 0);
    });
  });

  it('ignores what is no date', () => {
    const server = new Server(0);
    server.serverClock.observe({ date: Number.NaN, sentAt: 1, receivedAt: 2 });
    assert.equal(server.serverClock.bounds, undefined);
  });

  it('asks for no request while its bounds are close, and for one at once when they are old', () => {
    const server = new Server(0);
    server.answer();
    server.probe();
    assert.equal(server.serverClock.probeAt(4), undefined);
    server.clock.advance(31_000);
    assert.equal(server.serverClock.probeAt(4), server.clock.monotonic());
  });
});
