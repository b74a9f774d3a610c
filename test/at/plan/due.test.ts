import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import { dueTime as dueTimeOf, isDue } from '../../../src/at/plan/due.ts';
import { accepted, dueTime, justBeforeDue, launched, waiting, withStatus } from '../../fixtures/at.ts';

const never = Number.POSITIVE_INFINITY;

describe('the time at which an At is due', () => {
  const rows: readonly { readonly name: string; readonly at: At; readonly due: number }[] = [
    { name: 'a new one', at: waiting(), due: dueTime },
    { name: 'an accepted one', at: accepted(), due: dueTime },
    {
      name: 'one that was edited since it was accepted',
      at: withStatus(waiting({ schedule: '2031-01-01T00:00:00Z' }, { generation: 2 }), accepted().status),
      due: Date.UTC(2031, 0, 1),
    },
    { name: 'a suspended one', at: waiting({ suspend: true }), due: never },
    { name: 'a canceled one', at: waiting({ cancel: true }), due: never },
    {
      name: 'one that is being deleted',
      at: waiting({}, { deletionTimestamp: '2030-01-31T08:00:00Z' }),
      due: never,
    },
    { name: 'one that runs', at: launched(), due: never },
    { name: 'one whose schedule is none', at: waiting({ schedule: 'soon' }), due: never },
    { name: 'one whose command is none', at: waiting({ command: `echo "it's` }), due: never },
    { name: 'one of a lax CRD', at: waiting({ command: ['echo'] as unknown as string }), due: never },
    {
      name: 'one whose status tells no time',
      at: withStatus(waiting(), { phase: 'PENDING', observedGeneration: 1 }),
      due: never,
    },
  ];
  for (const { name, at, due } of rows) {
    it(`is known of ${name}`, () => assert.equal(dueTimeOf(at), due));
  }

  it('has come at that instant, and not before', () => {
    assert.deepEqual([isDue(waiting(), justBeforeDue), isDue(waiting(), dueTime)], [false, true]);
  });
});
