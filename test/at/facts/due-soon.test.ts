import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import { DueSoon } from '../../../src/at/facts/due-soon.ts';
import { formatMilliTime } from '../../../src/kubernetes/time.ts';
import type { Informer, InformerHandler } from '../../../src/runtime/cache/informer.ts';
import { FakeClock } from '../../fake/clock.ts';

const minute = 60_000;

function world() {
  const clock = new FakeClock();
  const handlers: InformerHandler<At>[] = [];
  const ats: At[] = [];
  const informer = {
    addHandler: (handler: InformerHandler<At>) => handlers.push(handler),
    lister: { list: () => ats },
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
  return { clock, soon, add };
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
