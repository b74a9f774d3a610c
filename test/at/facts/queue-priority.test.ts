import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import {
  dryRunPriority,
  launchPriority,
  queuePriority,
  retryPriority,
} from '../../../src/at/facts/queue-priority.ts';
import { initialListPriority } from '../../../src/runtime/controller/source.ts';
import {
  accepted,
  decideInParts as decide,
  dueTime,
  edited,
  launched,
  observing,
  second,
  waiting,
  withStatus,
} from '../../fixtures/at.ts';

const held = withStatus(
  waiting(),
  decide(observing({ refusal: { reason: 'PodRejected', message: 'exceeded quota' } })).status,
);

describe('the queue priority of an At', () => {
  interface Row {
    readonly name: string;
    readonly at: At;
    readonly now: number;
    readonly initial?: boolean;
    readonly is: number;
  }
  const rows: readonly Row[] = [
    { name: 'due', at: accepted(), now: dueTime, is: launchPriority },
    { name: 'due, found at the start', at: accepted(), now: dueTime, initial: true, is: launchPriority },
    { name: 'new and due', at: waiting(), now: dueTime, is: launchPriority },
    { name: 'due in 120 s', at: accepted(), now: dueTime - 120 * second, is: launchPriority },
    { name: 'due later', at: accepted(), now: dueTime - 121 * second, is: 0 },
    {
      name: 'due later, found at the start',
      ...{ at: accepted(), now: dueTime - 121 * second, initial: true, is: initialListPriority },
    },
    { name: 'new and due in 10 s', at: waiting(), now: dueTime - 10 * second, is: launchPriority },
    { name: 'new and due later', at: waiting(), now: dueTime - 11 * second, is: 0 },
    { name: 'running', at: launched(), now: dueTime, is: 0 },
    { name: 'never to run', at: waiting({ command: `echo "it's` }), now: dueTime, is: 0 },
    { name: 'refused', at: held, now: dueTime, is: retryPriority },
    { name: 'refused, found at the start', at: held, now: dueTime, initial: true, is: retryPriority },
    { name: 'refused, then edited', at: edited(held, { image: 'alpine' }), now: dueTime, is: launchPriority },
  ];
  for (const { name, at, now, initial = false, is } of rows) {
    it(`is ${is} of one that is ${name}`, () => assert.equal(queuePriority(at, now, initial), is));
  }

  it('of a refused one is behind everything else', () => {
    assert.ok(retryPriority < Math.min(dryRunPriority, initialListPriority));
  });
});
