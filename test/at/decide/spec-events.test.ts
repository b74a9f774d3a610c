/** What is said of an edit, wherever it leads to at once. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At, AtSpec } from '../../../src/api/at.generated.ts';
import type { Observed } from '../../../src/at/facts/observed.ts';
import {
  accepted,
  condition,
  created,
  decideInParts as decide,
  dueTime,
  edited,
  eventReasons,
  justAfterDue,
  longBeforeDue,
  observing,
  second,
  timeText,
  waiting,
  withStatus,
} from '../../fixtures/at.ts';

const once = { launchGuarantee: 'ExactlyOnce' } as const;
const deprecated = waiting({ launchGuarantee: 'AtMostOnce', command: 'a | b' });
const broken = { command: `'` };
const past = { schedule: timeText(dueTime - 60 * second) };

function after(at: At, observed: Partial<Observed> = {}): At {
  return withStatus(at, decide(observing({ at, now: longBeforeDue, ...observed })).status);
}

const suspended = after(edited(accepted(), { suspend: true }));
const resumed = edited(suspended, { suspend: false });
const moved = edited(accepted(), past);
const operator = waiting({ command: 'a | b' });
const refusal = { reason: 'PodRejected', message: 'quota' };

const rows: { name: string; at: At; observed?: Partial<Observed>; events: string[] }[] = [
  { name: 'a resume', at: resumed, observed: { now: longBeforeDue }, events: ['Resumed', 'Scheduled'] },
  {
    name: 'a resume that launches',
    at: resumed,
    observed: { pod: created(resumed) },
    events: ['Resumed', 'Launched'],
  },
  {
    name: 'a resume that is refused',
    at: resumed,
    observed: { refusal },
    events: ['Resumed', 'PodRejected (W)'],
  },
  {
    name: 'a resume that comes too late',
    at: edited(suspended, { suspend: false, startingDeadlineSeconds: 1 }),
    observed: { now: dueTime + 9 * second, live: true },
    events: ['Resumed', 'MissedDeadline (W)'],
  },
  { name: 'a resume that spoils', at: edited(resumed, broken), events: ['Resumed', 'InvalidCommand (W)'] },
  {
    name: 'a resume that cancels',
    at: edited(resumed, { cancel: true }),
    observed: { live: true },
    events: ['Canceled'],
  },
  {
    name: 'an edit that launches',
    at: moved,
    observed: { pod: created(moved) },
    events: ['Rescheduled', 'Launched'],
  },
  {
    name: 'an edit that is refused',
    at: moved,
    observed: { refusal },
    events: ['Rescheduled', 'PodRejected (W)'],
  },
  {
    name: 'an edit that launches exactly once',
    at: edited(accepted(once), past),
    observed: { pod: created(edited(accepted(once), past)) },
    events: ['Rescheduled', 'Launched'],
  },
  {
    name: 'an edit after the Pod',
    at: moved,
    observed: { pod: created(accepted()) },
    events: ['Launched'],
  },
  {
    name: 'a suspension after the Pod',
    at: suspended,
    observed: { pod: created(accepted()) },
    events: ['Launched'],
  },
  {
    name: 'an edit that mends',
    at: edited(after(edited(accepted(), broken)), { command: 'true' }),
    observed: { now: longBeforeDue },
    events: ['Rescheduled'],
  },
  {
    name: 'a new At that launches',
    at: operator,
    observed: { pod: created(operator) },
    events: ['ShellOperator (W)', 'Launched'],
  },
  {
    name: 'a new At that is refused',
    at: operator,
    observed: { refusal },
    events: ['ShellOperator (W)', 'PodRejected (W)'],
  },
  {
    name: 'a new At with the deprecated name of a guarantee',
    at: deprecated,
    observed: { pod: created(deprecated) },
    events: ['ShellOperator (W)', 'DeprecatedValue (W)', 'Launched'],
  },
];

describe('Events of an edit', () => {
  for (const { name, at, observed, events } of rows) {
    it(`are told once, before what comes of it: ${name}`, () => {
      const seen = observing({ at, now: justAfterDue, ...observed });
      const decision = decide(seen);
      assert.deepEqual(eventReasons(decision), events);
      assert.ok(decision.status, 'with a status that has seen the edit');
      const again = decide({ ...seen, at: withStatus(at, decision.status) });
      const news = ['Resumed', 'Scheduled', 'Rescheduled', 'ShellOperator (W)', 'DeprecatedValue (W)'];
      assert.deepEqual(
        eventReasons(again).filter((reason) => news.includes(reason)),
        [],
      );
    });
  }
});

describe('the condition Suspended', () => {
  const statusOf = (at: At, observed: Partial<Observed> = {}) => after(at, observed).status;

  it('is False after an edit that resumes and spoils', () => {
    assert.equal(condition(statusOf(edited(resumed, broken)), 'Suspended'), 'False Resumed');
  });

  it('stays True in an At that is spoiled while it is suspended', () => {
    assert.equal(condition(statusOf(edited(suspended, broken)), 'Suspended'), 'True Suspended');
  });

  it('is told when what was spoiled and suspended at once is mended', () => {
    const spoiled = after(edited(accepted(), { ...broken, suspend: true }));
    assert.equal(condition(spoiled.status, 'Suspended'), undefined);
    const mended = decide(observing({ at: edited(spoiled, { command: 'true' }), now: longBeforeDue }));
    assert.deepEqual(eventReasons(mended), ['Suspended']);
    assert.equal(condition(mended.status, 'Suspended'), 'True Suspended');
  });

  it('says why the At runs although it is suspended', () => {
    const spec: Partial<AtSpec> = { suspend: true };
    const { status } = after(edited(suspended, spec), { pod: created(accepted()) });
    const told = status?.conditions?.find(({ type }) => type === 'Suspended');
    assert.deepEqual([told?.status, told?.message], ['False', 'the Pod was created before']);
  });
});
