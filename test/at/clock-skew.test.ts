import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { ClockSkew } from '../../src/at/clock-skew.ts';
import { type Logger, silentLogger } from '../../src/runtime/logger.ts';
import { FakeClock } from '../fake/clock.ts';

const serverTime = Date.UTC(2030, 0, 31, 9);

/** Answers that took these times, from a server whose clock differs by `ahead`; then the window ends. */
async function judge({ ahead, latencies }: { ahead: number; latencies: number[] }) {
  const registry = new Registry();
  const clock = new FakeClock({ now: serverTime + ahead });
  let warnings = 0;
  const log: Logger = { ...silentLogger, warn: () => (warnings += 1) };
  const skew = new ClockSkew(registry, clock, log);
  for (const latency of latencies) {
    const date = Math.floor((clock.now() - ahead) / 1000) * 1000;
    clock.advance(latency);
    skew.observe(date);
  }
  clock.advance(60_000);
  skew.observe(Math.floor((clock.now() - ahead) / 1000) * 1000);
  const text = await registry.metrics();
  return { value: Number(/^atwatch_apiserver_clock_skew_seconds (.*)$/m.exec(text)?.[1]), warnings };
}

describe('ClockSkew', () => {
  const rows = [
    { name: 'equal clocks', ahead: 0, latencies: [5, 5], value: 0, warnings: 0 },
    { name: 'equal clocks and a slow answer', ahead: 0, latencies: [5000, 5], value: 0, warnings: 0 },
    { name: 'a clock 10 s ahead', ahead: 10_000, latencies: [5, 5], value: 9.005, warnings: 1 },
    { name: 'a clock 10 s behind', ahead: -10_000, latencies: [5, 5], value: -10, warnings: 1 },
    { name: 'a clock 1.5 s behind', ahead: -1500, latencies: [5], value: -1.5, warnings: 0 },
  ];
  for (const { name, ahead, latencies, value, warnings } of rows) {
    it(`tells ${name}`, async () => {
      const judged = await judge({ ahead, latencies });
      assert.ok(Math.abs(judged.value - value) < 0.011, `${judged.value}`);
      assert.equal(judged.warnings, warnings);
    });
  }
});
