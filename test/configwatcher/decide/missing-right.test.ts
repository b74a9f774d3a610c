/** Missing rights: what a ConfigWatcher records although the operator may not do what it needs. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Steps } from '../../../src/configwatcher/decide/decision.ts';
import {
  afterwards,
  anHourAgo,
  decided,
  newContent,
  now,
  oldContent,
  several,
  specOf,
} from '../../fixtures/configwatcher.ts';

const atOnce = specOf({ debounce: { quiet: '0s' }, cooldown: { base: '0s' } });

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
});
