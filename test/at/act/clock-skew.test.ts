import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { ClockSkew } from '../../../src/at/act/clock-skew.ts';
import { type Logger, silentLogger } from '../../../src/runtime/logger.ts';
import { ServerClock } from '../../../src/runtime/server-clock.ts';
import { FakeClock } from '../../fake/clock.ts';

const serverTime = Date.UTC(2030, 0, 31, 9);

/** Answers within two minutes, from a server whose clock the own one is ahead of. */
async function judge(ahead: number) {
  const registry = new Registry();
  const own = new FakeClock({ now: serverTime + ahead });
  const clock = new ServerClock(own);
  let warnings = 0;
  const log: Logger = { ...silentLogger, warn: () => (warnings += 1) };
  const skew = new ClockSkew(registry, clock, log);
  for (let answer = 0; answer < 24; answer++) {
    const sentAt = own.monotonic();
    const date = Math.floor((own.now() - ahead) / 1000) * 1000;
    clock.observe({ date, sentAt, receivedAt: own.monotonic() });
    skew.check();
    own.advance(5003);
  }
  const text = await registry.metrics();
  return { value: Number(/^atwatch_apiserver_clock_skew_seconds (.*)$/m.exec(text)?.[1]), warnings };
}

describe('ClockSkew', () => {
  const rows = [
    { name: 'nothing of equal clocks', ahead: 0, value: 0, warnings: 0 },
    { name: 'a clock 10 s ahead, once a minute', ahead: 10_000, value: 10, warnings: 2 },
    { name: 'a clock 10 s behind, once a minute', ahead: -10_000, value: -10, warnings: 2 },
    { name: 'a clock 1.5 s behind, without a warning', ahead: -1500, value: -1.5, warnings: 0 },
  ];
  for (const { name, ahead, value, warnings } of rows) {
    it(`tells ${name}`, async () => {
      const judged = await judge(ahead);
      assert.ok(Math.abs(judged.value - value) < 1, `${judged.value}`);
      assert.equal(judged.warnings, warnings);
    });
  }
});
