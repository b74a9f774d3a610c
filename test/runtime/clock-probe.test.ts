import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ClockProbe } from '../../src/runtime/clock-probe.ts';
import { ServerClock } from '../../src/runtime/server-clock.ts';
import { FakeClock, settle } from '../fake/clock.ts';
import { recordingLogger } from './controller/fixtures.ts';

/** A probe of a server that answers 4 ms after the request, and whose clock is `behind` this machine's. */
function start(behind: number) {
  const own = new FakeClock();
  const clock = new ServerClock(own);
  const sent: number[] = [];
  const log = recordingLogger();
  const state: { needed: () => unknown; fails: boolean } = { needed: () => true, fails: false };
  const getRaw = async () => {
    const sentAt = own.monotonic();
    sent.push(sentAt);
    await new Promise<void>((resolve) => own.setTimer(2, resolve));
    const date = Math.floor((own.now() - behind) / 1000) * 1000;
    await new Promise<void>((resolve) => own.setTimer(2, resolve));
    if (state.fails) throw new Error('no answer');
    clock.observe({ date, sentAt, receivedAt: own.monotonic() });
  };
  const probe = new ClockProbe({
    ...{ name: 'probe', clock, client: { getRaw }, log },
    isNeeded: () => state.needed() as boolean,
  });
  const stop = new AbortController();
  const ended = probe.start(stop.signal);
  const end = async () => {
    stop.abort(new Error('over'));
    await own.advanceAsync(4);
    await ended;
  };
  return { own, clock, log, sent, state, end };
}

it('narrows the bounds to 20 ms with at most a request a second, and is silent then', async () => {
  const { own, clock, sent, end } = start(20 * 60_000);
  await own.advanceAsync(30_000);
  assert.ok(Math.abs(clock.skew - 20 * 60_000) <= 20, `${clock.skew}`);
  assert.ok(sent.length <= 10, `${sent.length} requests`);
  const gaps = sent.slice(1).map((time, index) => time - (sent[index] ?? 0));
  assert.ok(
    gaps.every((gap) => gap >= 1000),
    String(gaps),
  );
  const before = sent.length;
  await own.advanceAsync(10_000);
  assert.ok(sent.length - before <= 1);
  await end();
});

it('keeps the bounds recent as long as they are needed, and asks for nothing otherwise', async () => {
  const { own, clock, sent, state, end } = start(60_000);
  for (let second = 0; second < 300; second++) {
    await own.advanceAsync(1000);
    if (second > 30) assert.ok(clock.skew !== 0);
  }
  state.needed = () => false;
  await own.advanceAsync(12_000);
  const before = sent.length;
  await own.advanceAsync(300_000);
  assert.equal(sent.length, before);
  await end();
});

it('goes on after failures', async () => {
  const { own, clock, state, end } = start(60_000);
  state.fails = true;
  await own.advanceAsync(30_000);
  assert.equal(clock.bounds, undefined);
  state.fails = false;
  await own.advanceAsync(30_000);
  assert.ok(clock.bounds !== undefined);
  await end();
  await settle();
  assert.equal(own.pendingTimers, 0);
});

for (const [what, needed] of [
  [
    'throws',
    () => {
      throw new Error('boom');
    },
  ],
  ['returns a rejection', () => Promise.reject(new Error('boom'))],
  ['returns no boolean', () => 'yes'],
] as const) {
  it(`asks for the time when isNeeded ${what}, and logs that once a minute`, async () => {
    const { own, clock, log, state, end } = start(60_000);
    state.needed = needed;
    await own.advanceAsync(59_000);
    assert.ok(clock.bounds !== undefined);
    assert.deepEqual(
      log.lines.map(({ level, fields }) => [level, fields.callback]),
      [['error', 'isNeeded']],
    );
    await end();
  });
}
