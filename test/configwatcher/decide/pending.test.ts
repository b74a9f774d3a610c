import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherSpec } from '../../../src/api/configwatcher.generated.ts';
import { cooldownAfter, isRunning, type Wait, waitOf } from '../../../src/configwatcher/decide/pending.ts';
import type { Pending, Restart, WatcherState } from '../../../src/configwatcher/facts/state.ts';
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

describe('the cooldown', () => {
  const spec = specOf({ cooldown: { base: '30s', max: '200s' } });
  const restart: Restart = {
    id: 'x',
    start: now - 100 * seconds,
    restarted: 1,
    skippedFresh: 0,
    skippedUnmanaged: 0,
    failed: 0,
  };
  const cooldown = (state: Partial<WatcherState>, pending: Partial<Pending> = {}) => {
    const after = cooldownAfter(spec, { ...applied(), ...state }, { ...waiting, ...pending }, now);
    return after && [after.until - now, after.waits];
  };

  it('is the base after the first restart', () => {
    assert.deepEqual(cooldown({}), [30 * seconds, 0]);
  });

  it('doubles after a restart that had to wait, up to the maximum, and counts on', () => {
    const waited = (cooldownWaits: number) =>
      cooldown(
        { lastRestart: restart, cooldownUntil: now, lastChange: now - 20 * seconds, cooldownWaits },
        { since: now - 20 * seconds },
      );
    assert.deepEqual(waited(0), [60 * seconds, 1]);
    assert.deepEqual(waited(1), [120 * seconds, 2]);
    assert.deepEqual(waited(2), [200 * seconds, 3]);
    assert.deepEqual(waited(1e9), [200 * seconds, 1e9 + 1]);
  });

  it('doubles also when edits went on until after it was over', () => {
    const state = { lastRestart: restart, cooldownUntil: now - seconds, lastChange: now, cooldownWaits: 1 };
    assert.deepEqual(cooldown(state, { since: now - 30 * seconds }), [120 * seconds, 2]);
  });

  it('stays as it is after a restart that did not have to wait', () => {
    const state = {
      lastRestart: restart,
      cooldownUntil: restart.start + 60 * seconds,
      lastChange: now - 5 * seconds,
      cooldownWaits: 1,
    };
    assert.deepEqual(cooldown(state, { since: now - 5 * seconds }), [60 * seconds, 1]);
  });

  it('stays as it is after a repair that did not have to wait, and grows with the first that had to', () => {
    const state = { lastRestart: restart, cooldownUntil: now + 60 * seconds, cooldownWaits: 1 };
    const repaired = (repairs: number) => cooldown(state, { since: now - 5 * seconds, repairs });
    assert.deepEqual([1, 3].map(repaired), [
      [60 * seconds, 1],
      [60 * seconds, 1],
    ]);
    assert.deepEqual(repaired(4), [120 * seconds, 2]);
  });

  it('is the base again after a time as long as the maximum without a change', () => {
    const start = now - 300 * seconds;
    const state = {
      lastRestart: { ...restart, start },
      cooldownUntil: start + 120 * seconds,
      lastChange: now,
      cooldownWaits: 2,
    };
    assert.deepEqual(cooldown(state, { since: now }), [30 * seconds, 0]);
  });

  it('is off with base 0s', () => {
    const off = specOf({ cooldown: { base: '0s' } });
    assert.equal(cooldownAfter(off, applied(), waiting, now), undefined);
  });
});
