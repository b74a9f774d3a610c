/** When to look again at an At whose status the API server finds not valid, such as by a mistake in a policy. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AtSpec } from '../../../src/api/at.generated.ts';
import { launchPriority } from '../../../src/at/facts/queue-priority.ts';
import {
  accepted,
  created,
  decideInParts as decide,
  dueTime,
  edited,
  observing,
  timeText,
  waiting,
} from '../../fixtures/at.ts';

const once = { launchGuarantee: 'ExactlyOnce' } as const;

describe('an At whose status is refused', () => {
  for (const spec of [{}, once] satisfies Partial<AtSpec>[]) {
    const guarantee = 'launchGuarantee' in spec ? spec.launchGuarantee : 'AtLeastOnce';

    it(`is looked at when it is due, however long its status was refused before: ${guarantee}`, () => {
      for (const at of [waiting(spec), edited(accepted(spec), { schedule: timeText(dueTime) })]) {
        const look = (now: number) => {
          const { requeueAt, requeueAfter, priority } = decide(observing({ at, now, unwritable: 20 }));
          return [requeueAt, requeueAfter, priority];
        };
        // The next look before that knows better.
        assert.deepEqual(look(dueTime - 300_001), [undefined, 300_000, undefined]);
        assert.deepEqual(look(dueTime - 300_000), [dueTime, 300_000, launchPriority]);
      }
    });

    it(`is looked at every ten seconds while it is due: ${guarantee}`, () => {
      const at = waiting(spec);
      const pod = created(at);
      const waits = [1, 2, 6, 7, 20].map((unwritable) => {
        const decision = decide(observing({ at, pod, now: dueTime + 60_000, unwritable }));
        assert.equal(decision.requeueAt, undefined);
        return decision.requeueAfter;
      });
      assert.deepEqual(waits, [250, 500, 8000, 10_000, 10_000]);
    });
  }

  it('is left alone for minutes where no launch waits for the status', () => {
    for (const spec of [{ suspend: true }, { cancel: true }, { command: "echo 'open" }]) {
      const { requeueAt, requeueAfter } = decide(
        observing({ at: waiting(spec), now: dueTime + 1, live: true, unwritable: 20 }),
      );
      assert.deepEqual([requeueAt, requeueAfter], [undefined, 300_000]);
    }
  });
});
