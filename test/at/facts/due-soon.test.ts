import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import { DueSoon } from '../../../src/at/facts/due-soon.ts';
import { formatMilliTime } from '../../../src/kubernetes/time.ts';
import type { Informer, InformerHandler } from '../../../src/runtime/cache/informer.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import { FakeClock, settle } from '../../fake/clock.ts';

const minute = 60_000;

function world(clock: Clock & FakeClock = new FakeClock()) {
  const handlers: InformerHandler<At>[] = [];
  const ats: At[] = [];
  const scans = { count: 0 };
  const informer = {
    addHandler: (handler: InformerHandler<At>) => handlers.push(handler),
    lister: {
      list() {
        scans.count++;
        return ats;
      },
    },
  } as unknown as Informer<At>;
  const soon = new DueSoon(informer, clock);
  const add = (wait: number, status: { observedGeneration?: number; phase?: string } = {}) => {
    const scheduledTime = formatMilliTime(clock.now() + wait);
    const at = {
      metadata: { namespace: 'n', name: `at-${ats.length}`, generation: 1 },
      spec: { schedule: scheduledTime, command: 'true' },
      status: { phase: 'PENDING', observedGeneration: 1, scheduledTime, ...status },
    } as unknown as At;
    ats.push(at);
    for (const { onAdd } of handlers) onAdd?.(at, false);
  };
  return { clock, soon, ats, add, scans };
}

it('is near from two minutes before an At falls due until it does', () => {
  const { clock, soon, add } = world();
  add(10 * minute);
  assert.equal(soon.isNear, false);
  clock.advance(7 * minute);
  assert.equal(soon.isNear, false);
  clock.advance(1 * minute);
  assert.equal(soon.isNear, true);
  clock.advance(2 * minute - 1);
  assert.equal(soon.isNear, true);
  clock.advance(1);
  assert.equal(soon.isNear, false);
});

it('sees at once an At that is due within a minute, between two scans', () => {
  const { clock, soon, add } = world();
  assert.equal(soon.isNear, false);
  clock.advance(1000);
  add(30_000);
  assert.equal(soon.isNear, true);
});

it('is not near for an At that runs, or is over', () => {
  const { soon, add } = world();
  add(30_000, { phase: 'RUNNING' });
  add(30_000, { phase: 'DONE' });
  assert.equal(soon.isNear, false);
});

it('looks at no At before the first of them comes near', () => {
  const { clock, soon, add, scans } = world();
  add(60 * minute);
  add(90 * minute);
  for (let passed = 0; passed < 57; passed++) {
    assert.equal(soon.isNear, false);
    clock.advance(minute);
  }
  assert.equal(scans.count, 0);
  clock.advance(minute);
  assert.equal(soon.isNear, true);
  assert.equal(scans.count, 1);
});

/** On which each look at an At takes a tenth of a millisecond. */
class SlowClock extends FakeClock {
  turns = 0;

  override now(): number {
    this.advance(0.1);
    return super.now();
  }

  override turn(): Promise<void> {
    this.turns++;
    return super.turn();
  }
}

it('lets the event loop turn while it looks at ten thousand Ats', async () => {
  const clock = new SlowClock();
  const { soon, add } = world(clock);
  for (let count = 0; count < 10_000; count++) add(60 * minute);
  add(10 * minute);
  clock.advance(9 * minute);
  const before = clock.monotonic();
  const isNear = soon.isNear;
  const lasted = clock.monotonic() - before;
  assert.ok(lasted <= 11, `${lasted} ms in one turn of the event loop`);
  assert.equal(isNear, false, 'the Ats after those are not looked at yet');
  while (!soon.isNear && clock.turns < 1000) await settle();
  assert.equal(soon.isNear, true);
  assert.ok(clock.turns >= 90, `${clock.turns} turns`);
});

it('goes on behind an At that cannot be read', async () => {
  const { clock, soon, ats, add } = world();
  ats.push({ metadata: null } as unknown as At);
  add(10 * minute);
  clock.advance(9 * minute);
  assert.equal(soon.isNear, true);
});
