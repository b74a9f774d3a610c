import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cooldownAfter } from '../../../src/configwatcher/decide/pending.ts';
import type { Pending, Restart, WatcherState } from '../../../src/configwatcher/facts/state.ts';
import { applied, decided, newContent, now, several, specOf } from '../../fixtures/configwatcher.ts';

const seconds = 1000;

const waiting: Pending = { hash: newContent.hash, since: now - 10 * seconds, reason: 'Debounce' };

const restart: Restart = {
  id: 'x',
  start: now - 100 * seconds,
  restarted: 1,
  skippedFresh: 0,
  skippedUnmanaged: 0,
  failed: 0,
};

describe('the cooldown', () => {
  const spec = specOf({ cooldown: { base: '30s', max: '200s' } });
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

describe('an edit in the cooldown', () => {
  const lastRestart = { ...restart, start: now - 10 * seconds, completion: now - 10 * seconds };

  it('is told to wait, and five in a row to look for a loop', () => {
    const base = 30_000;
    for (const [gap, cooldownWaits, hint] of [
      [base, 0, false],
      [8 * base, 3, false],
      [16 * base, 4, true],
    ] as const) {
      const state = { ...applied(), lastRestart, cooldownUntil: lastRestart.start + gap, cooldownWaits };
      const spec = specOf({ debounce: { quiet: '0s' } });
      const decision = decided({ state, spec, sources: [newContent], pods: several(1) });
      const { note } = decision.events.find(({ reason }) => reason === 'CooldownActive') ?? {};
      assert.match(note ?? '', /^the next restart starts in /);
      assert.equal(note?.includes('rewrites its own configuration'), hint);
      assert.deepEqual([decision.state.pending?.reason, decision.actions], ['Cooldown', []]);
    }
  });

  it('waits for the longest gap alone where that was lowered in a longer one', () => {
    const { start } = lastRestart;
    const before = { ...applied(), lastRestart, cooldownUntil: start + 600_000, cooldownWaits: 5 };
    const spec = specOf({ debounce: { quiet: '0s' }, cooldown: { base: '5s', max: '1m' } });
    const steps = decided({ state: before, spec, sources: [newContent], pods: several(1) });
    const { state, actions, requeueAfter } = steps;
    assert.deepEqual([state.pending?.reason, state.cooldownUntil], ['Cooldown', start + 60_000]);
    assert.deepEqual([actions, requeueAfter], [[], 50_000]);
  });
});
