import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findCondition } from '../../../src/kubernetes/conditions.ts';
import {
  afterwards,
  applied,
  decided,
  newContent,
  now,
  several,
  specOf,
} from '../../fixtures/configwatcher.ts';

describe('Progressing names the end of a wait', () => {
  const atOnce = { debounce: { quiet: '0s' } };
  const rows = [
    {
      what: 'for a window',
      spec: { ...atOnce, windows: [{ schedule: '30 12 * * *', duration: '10m' }] },
      expected: ['Window', 'a change waits for the next window (until 2024-06-01T12:30:00Z)'],
    },
    {
      what: 'for the cooldown',
      spec: { ...atOnce, windows: [{ schedule: '30 12 * * *', duration: '10m' }] },
      cooldownUntil: now + 60_000,
      expected: [
        'Cooldown',
        'a change waits, because the last restart was a short time ago (until 2024-06-01T12:01:00Z)',
      ],
    },
    {
      what: 'for more edits, where it moves, not',
      spec: {},
      expected: ['Debounce', 'a change was seen; waiting for further edits'],
    },
  ];
  for (const { what, spec, cooldownUntil, expected } of rows) {
    it(what, () => {
      const state = { ...applied(), ...(cooldownUntil !== undefined && { cooldownUntil }) };
      const facts = { state, spec: specOf(spec), sources: [newContent], pods: several(1) };
      const first = decided(facts);
      // A later look says the same, or the status would be written at each.
      for (const decision of [first, decided(afterwards(facts, first, 1000))]) {
        const { reason, message } = findCondition(decision.state.conditions, 'Progressing') ?? {};
        assert.deepEqual([reason, message], expected);
      }
    });
  }
});
