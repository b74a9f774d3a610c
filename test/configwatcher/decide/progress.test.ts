import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decide } from '../../../src/configwatcher/decide/decide.ts';
import { writeState } from '../../../src/configwatcher/decide/watcher-status.ts';
import type { Observed } from '../../../src/configwatcher/facts/observed.ts';
import { remember } from '../../../src/configwatcher/facts/restart-memory.ts';
import { readState } from '../../../src/configwatcher/facts/state.ts';
import {
  afterwards,
  decided,
  newContent,
  now,
  observed,
  ownedBy,
  pod,
  several,
  specOf,
  webapp,
} from '../../fixtures/configwatcher.ts';

/** A change that was seen just now, with nothing in the way of its restart. */
function changed(overrides: Partial<Observed>): Partial<Observed> {
  const spec = specOf({ debounce: { quiet: '0s' }, cooldown: { base: '0s' } });
  return { spec, sources: [newContent], owners: ownedBy(2), ...overrides };
}

describe('a restart that runs', () => {
  it('that is suspended in the middle of a batch counts what the batch has taken', () => {
    const pods = several(4);
    const facts = changed({ pods, owners: ownedBy(4) });
    const started = decided({
      ...facts,
      spec: specOf({ debounce: { quiet: '0s' }, strategy: { maxUnavailable: '50%' } }),
    });
    const { pods: _, ...later } = { ...afterwards(facts, started, 1000), spec: specOf({ suspend: true }) };
    assert.deepEqual(decide(observed(later)), { need: 'pods' });
    const gone = [...pods.slice(0, 2), ...several(2, { created: now + 1000 })];
    const held = decided({ ...later, pods: gone });
    const { stalePods, pending, lastRestart } = held.state;
    assert.deepEqual([stalePods, lastRestart?.restarted, pending?.reason], [2, 2, 'Suspended']);
    const { pods: __, ...after } = afterwards(later, held, 1000);
    assert.equal(decided(after).state.stalePods, 2, 'and looks no more');
  });

  it('takes no Pod while the clock of the server is behind its cutoff', () => {
    const pods = several(2, { created: now - 2000 });
    const hour = 3_600_000;
    const started = decided({ ...changed({ pods }), now: now + hour });
    const pending = { ...started.state.pending!, cutoff: now + hour - 1000 };
    const set = { ...started.state, pending };
    const back = decided({ ...afterwards(changed({ pods }), { ...started, state: set }, 0), now });
    assert.deepEqual([back.actions, back.requeueAfter], [[], hour]);
  });

  it('never takes its replacements, whatever forged cutoff it has', () => {
    const pods = several(2);
    const { state } = decided(changed({ pods }));
    const pending = { ...state.pending!, cutoff: now + 1e10 };
    const next = decided({
      ...changed({ state: readState(writeState({ ...state, pending })) }),
      pods: [pods[1]!, pod({ created: now + 1000 })],
      now: now + 15_000,
    });
    assert.deepEqual(
      next.actions.flatMap((action) => ('pod' in action ? action.pod.uid : [])),
      [pods[1]!.uid],
    );
  });

  it('tries every owner, and has no more of them in status than there is room for by name, although budgets keep them all', () => {
    const controllers = Array.from({ length: 60 }, (_, index) => ({ ...webapp, uid: `rs-${index}` }));
    const owners = new Map(
      controllers.map((reference) => [reference.uid, { reference, wanted: 1, makesSelectedPods: true }]),
    );
    const pods = controllers.map((controller) => pod({ controller }));
    const strategy = { type: 'Evict', maxOwners: 50, canary: false } as const;
    const spec = specOf({ debounce: { quiet: '0s' }, cooldown: { base: '0s' }, strategy });
    const facts = changed({ spec, pods, owners });
    const first = decided(facts);
    const refused = first.actions.flatMap((action) =>
      'pod' in action
        ? [{ uid: action.pod.uid, result: 'Refused', cause: 'Budget', message: 'no' } as const]
        : [],
    );
    const memory = remember(first.memory, refused, now, () => 0);
    const second = decided(afterwards(facts, { state: first.state, memory }, 100));
    const { owners: places = [] } = writeState(second.state).pending ?? {};
    assert.ok(places.length > 35 && places.length <= 50, `${places.length} places`);
    assert.deepEqual([first.actions.length, second.actions.length], [places.length, 60 - places.length]);
    assert.ok(places.every(({ name }) => name === webapp.name));
  });
});
