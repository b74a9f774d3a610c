import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherSpec } from '../../../src/api/configwatcher.generated.ts';
import { isRunning, mayRestartNow, type Wait, waitOf } from '../../../src/configwatcher/decide/pending.ts';
import type { Pending, WatcherState } from '../../../src/configwatcher/facts/state.ts';
import { applied, newContent, now, specOf } from '../../fixtures/configwatcher.ts';

const seconds = 1000;

const waiting: Pending = { hash: newContent.hash, since: now - 10 * seconds, reason: 'Debounce' };
const running: Pending = { ...waiting, started: now - 5 * seconds };

interface Facts {
  readonly spec?: Partial<ConfigWatcherSpec>;
  readonly pending?: Partial<Pending>;
  readonly state?: Partial<WatcherState>;
  readonly sourceMissing?: boolean;
  readonly atOnce?: boolean;
}

function wait({
  spec = {},
  pending = {},
  state = {},
  sourceMissing = false,
  atOnce = false,
}: Facts): Wait | undefined {
  const whole = { ...applied(), lastChange: now - 10 * seconds, ...state };
  return waitOf(specOf(spec), whole, { ...waiting, ...pending }, { sourceMissing, atOnce, now });
}

describe('a change waits', () => {
  const soon = now + seconds;
  const rows: { what: string; facts: Facts; expected: Wait | undefined }[] = [
    { what: 'for nothing when all is over', facts: {}, expected: undefined },
    {
      what: 'for a pause between edits',
      facts: { state: { lastChange: now - seconds } },
      expected: { reason: 'Debounce', until: soon },
    },
    {
      what: 'not at all with quiet 0s',
      facts: { state: { lastChange: now }, spec: { debounce: { quiet: '0s' } } },
      expected: undefined,
    },
    {
      what: 'no longer than the maximum',
      facts: { state: { lastChange: now }, spec: { debounce: { quiet: '10s', max: '11s' } } },
      expected: { reason: 'Debounce', until: soon },
    },
    {
      what: 'for a pause between edits, also by the clock of a process that is ahead by less than a second',
      facts: { state: { lastChange: now + 20 } },
      expected: { reason: 'Debounce', until: now + 20 + 2 * seconds },
    },
    {
      what: 'not for a clock that was set back',
      facts: { state: { lastChange: now + 3600 * seconds }, pending: { since: now + 3600 * seconds } },
      expected: undefined,
    },
    {
      what: 'for the cooldown',
      facts: { state: { cooldownUntil: soon } },
      expected: { reason: 'Cooldown', until: soon },
    },
    {
      what: 'for no cooldown and no window where it replaces a content that breaks its Pods',
      facts: {
        state: { cooldownUntil: soon },
        spec: { windows: [{ schedule: '0 3 * * *', duration: '1h' }] },
        pending: { repairs: 3 },
      },
      expected: undefined,
    },
    {
      what: 'for the cooldown again after three of those in a row',
      facts: { state: { cooldownUntil: soon }, pending: { repairs: 4 } },
      expected: { reason: 'Cooldown', until: soon },
    },
    {
      what: 'for neither debounce, cooldown nor window when a user asks for it at once',
      facts: {
        atOnce: true,
        state: { lastChange: now, cooldownUntil: soon },
        spec: { windows: [{ schedule: '0 3 * * *', duration: '1h' }] },
      },
      expected: undefined,
    },
    {
      what: 'for the end of the suspension, also when a user asks for it at once',
      facts: { atOnce: true, spec: { suspend: true } },
      expected: { reason: 'Suspended' },
    },
    {
      what: 'for the cooldown, when an edit comes in it',
      facts: { state: { cooldownUntil: now + 5 * seconds, lastChange: now } },
      expected: { reason: 'Cooldown', until: now + 5 * seconds },
    },
    {
      what: 'for a pause between edits, when that ends after the cooldown',
      facts: { state: { cooldownUntil: soon, lastChange: now } },
      expected: { reason: 'Debounce', until: now + 2 * seconds },
    },
    {
      what: 'not for a cooldown that was switched off in it',
      facts: { state: { cooldownUntil: soon }, spec: { cooldown: { base: '0s' } } },
      expected: undefined,
    },
    {
      what: 'not for a cooldown longer than there can be one',
      facts: { state: { cooldownUntil: now + 3600 * seconds } },
      expected: undefined,
    },
    {
      what: 'for the next window',
      facts: { spec: { windows: [{ schedule: '30 12 * * *', duration: '10m' }] } },
      expected: { reason: 'Window', until: now + 1800 * seconds },
    },
    {
      what: 'not inside a window',
      facts: { spec: { windows: [{ schedule: '50 11 * * *', duration: '11m' }] } },
      expected: undefined,
    },
    {
      what: 'for no window once it runs',
      facts: { pending: running, spec: { windows: [{ schedule: '30 12 * * *', duration: '10m' }] } },
      expected: undefined,
    },
    { what: 'while suspended', facts: { spec: { suspend: true } }, expected: { reason: 'Suspended' } },
    { what: 'in a dry run', facts: { spec: { dryRun: true } }, expected: { reason: 'DryRun' } },
    {
      what: 'in a dry run for no cooldown',
      facts: { spec: { dryRun: true }, state: { cooldownUntil: soon } },
      expected: { reason: 'DryRun' },
    },
    {
      what: 'in a dry run for the pause first, so that there is one Event per content',
      facts: { spec: { dryRun: true }, state: { lastChange: now - seconds } },
      expected: { reason: 'Debounce', until: soon },
    },
    {
      what: 'for a missing source, without which no new Pod could start',
      facts: { sourceMissing: true },
      expected: { reason: 'SourceMissing' },
    },
    {
      what: 'not for a missing source when its deletion is to restart',
      facts: { sourceMissing: true, spec: { onDelete: 'Restart' } },
      expected: undefined,
    },
    {
      what: 'no more for debounce and cooldown once it runs',
      facts: { pending: running, state: { cooldownUntil: soon, lastChange: now } },
      expected: undefined,
    },
    {
      what: 'between batches too, while suspended',
      facts: { pending: running, spec: { suspend: true } },
      expected: { reason: 'Suspended' },
    },
  ];
  for (const { what, facts, expected } of rows) {
    it(what, () => assert.deepEqual(wait(facts), expected));
  }

  it('again, when another edit came after the start', () => {
    assert.equal(isRunning(running), true);
    assert.equal(isRunning({ ...running, since: now }), false);
  });
});

describe('what a restart takes is read ahead', () => {
  it('also where an edit has ended its cooldown by lowering the longest gap', () => {
    const counts = { restarted: 1, skippedFresh: 0, skippedUnmanaged: 0, failed: 0 };
    const state = {
      ...applied(),
      ...{ lastChange: now - 10 * seconds, cooldownUntil: now + 60 * seconds, pending: waiting },
      lastRestart: { id: 'before', start: now - 100 * seconds, ...counts },
    };
    const within = (max: string) => mayRestartNow(specOf({ cooldown: { base: '10s', max } }), state, now);
    assert.deepEqual([within('200s'), within('99s')], [false, true]);
  });
});
