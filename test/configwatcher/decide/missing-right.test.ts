/** Missing rights: what a ConfigWatcher records although the operator may not do what it needs. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decide } from '../../../src/configwatcher/decide/decide.ts';
import type { Steps } from '../../../src/configwatcher/decide/decision.ts';
import type { Need, Observed } from '../../../src/configwatcher/facts/observed.ts';
import { remember } from '../../../src/configwatcher/facts/restart-memory.ts';
import {
  afterwards,
  anHourAgo,
  decided,
  newContent,
  now,
  observed,
  oldContent,
  ownedBy,
  several,
  specOf,
} from '../../fixtures/configwatcher.ts';

const atOnce = specOf({ debounce: { quiet: '0s' }, cooldown: { base: '0s' } });

function needOf(facts: Partial<Observed>): Need | undefined {
  const decision = decide(observed(facts));
  return 'need' in decision ? decision.need : undefined;
}

function condition({ state }: Steps, type: string) {
  const { status, reason } = state.conditions.find((candidate) => candidate.type === type) ?? {};
  return status && reason ? { status, reason } : undefined;
}

function reasons({ events }: Steps): string[] {
  return events.map(({ reason }) => reason);
}

describe('a missing right', () => {
  it('is a condition, and looked at again later', () => {
    const decision = decided({ forbidden: { verb: 'list', resource: 'pods' } });
    assert.deepEqual(condition(decision, 'Ready'), { status: 'False', reason: 'Forbidden' });
    assert.equal(decision.requeueAfter, 30_000);
  });

  it('does not keep a change from being recorded: Pods made from then on are spared', () => {
    const forbidden = { verb: 'get', resource: 'deployments' };
    const facts = { spec: atOnce, sources: [newContent], pods: several(1), forbidden };
    const decision = decided(facts);
    assert.deepEqual(condition(decision, 'Ready'), { status: 'False', reason: 'Forbidden' });
    assert.equal(decision.state.pending?.cutoff, anHourAgo);
    assert.equal(decision.state.pending?.started, undefined);
    assert.deepEqual([decision.actions, reasons(decision)], [[], ['ChangeDetected']]);
    const next = decided(afterwards(facts, decision, 30_000));
    assert.deepEqual([next.state, next.events], [decision.state, []]);
  });

  it('to change a template is told as well while that is tried again', () => {
    const spec = specOf({ debounce: { quiet: '0s' }, strategy: { type: 'RolloutRestart' } });
    const owners = ownedBy(2, { rollout: { pods: 2, target: { revision: '1', partition: 0 } } });
    const facts = { spec, sources: [newContent], pods: several(2), owners };
    const first = decided(facts);
    const refused = { uid: 'webapp-uid', result: 'Refused', cause: 'Forbidden' } as const;
    const memory = remember(first.memory, [{ ...refused, message: 'patch deployments' }], now, () => 0);
    const told = [100, 3_600_000].map((ms) => {
      const later = decided(afterwards(facts, { ...first, memory }, ms));
      return [later.actions.length, condition(later, 'Ready')?.reason];
    });
    assert.deepEqual(told, [
      [0, 'Forbidden'],
      [1, 'Forbidden'],
    ]);
  });

  it('to list Pods does not keep it either: what is older than the change counts, known or not', () => {
    const forbidden = { verb: 'list', resource: 'pods' };
    const facts = { spec: atOnce, sources: [newContent], forbidden };
    const decision = decided(facts);
    assert.deepEqual(condition(decision, 'Ready'), { status: 'False', reason: 'Forbidden' });
    assert.equal(decision.state.pending?.cutoff, now);
    assert.deepEqual([decision.actions, reasons(decision)], [[], ['ChangeDetected']]);
    const later = { ...afterwards(facts, decision, 60_000), sources: [oldContent] };
    const back = decided(later);
    assert.deepEqual([back.state.pending?.from, back.state.pending?.cutoff], [now, now + 60_000]);
    assert.equal(back.state.pending?.hash, back.state.appliedHash, 'what was made in between is still owed');
  });

  it('to list Pods spares what was made after an edit that nobody saw', () => {
    const forbidden = { verb: 'list', resource: 'pods' };
    const cutoffAfter = (written: number, isFirstLook = true) =>
      decided({ spec: atOnce, sources: [{ ...newContent, isFirstLook, written }], forbidden }).state.pending
        ?.cutoff;
    assert.equal(cutoffAfter(now - 600_000), now - 599_000);
    assert.equal(cutoffAfter(now - 600_000, false), now);
    assert.equal(cutoffAfter(now + 3_600_000), now + 1000, 'a time that somebody has forged');
  });

  it('to list Pods is looked at again while the change waits', () => {
    const forbidden = { verb: 'list', resource: 'pods' };
    const facts = { spec: specOf({ suspend: true }), sources: [newContent], forbidden };
    const first = decided(facts);
    assert.deepEqual(condition(first, 'Ready'), { status: 'False', reason: 'Forbidden' });
    const { forbidden: _, ...later } = afterwards(facts, first, 30_000);
    assert.equal(needOf(later), 'pods');
    const granted = decided({ ...later, pods: several(1) });
    assert.equal(condition(granted, 'Ready')?.status, 'True');
  });
});
