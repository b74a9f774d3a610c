import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherStatus } from '../../../src/api/configwatcher.generated.ts';
import { decide } from '../../../src/configwatcher/decide/decide.ts';
import { writeState } from '../../../src/configwatcher/decide/watcher-status.ts';
import { type Restart, readState, type WatcherState } from '../../../src/configwatcher/facts/state.ts';
import { validateConfigWatcher } from '../../../src/schema/validate.ts';
import { newContent, now, observed, ownedBy, pod, watching } from '../../fixtures/configwatcher.ts';

const hash = `v1:${'a'.repeat(64)}`;

const restart: Restart = {
  id: '0123456789',
  start: now - 5250,
  completion: now - 250,
  trigger: { kind: 'ConfigMap', name: 'webapp-config', changedKeys: ['message'] },
  restarted: 4,
  skippedFresh: 1,
  skippedUnmanaged: 2,
  failed: 0,
};
const { changedKeys, ...trigger } = restart.trigger!;

const full: WatcherState = {
  observedGeneration: 3,
  appliedHash: hash,
  sources: [
    { kind: 'ConfigMap', name: 'webapp-config', hash, pendingHash: `v1:${'b'.repeat(64)}` },
    { kind: 'Secret', name: 's', keysHash: 'v1:0', hash },
  ],
  lastChange: now - 1,
  lastRestartTime: now - 1000,
  cooldownUntil: now + 29_999,
  cooldownWaits: 2,
  restartCount: 7,
  matchedPods: 5,
  stalePods: 3,
  skippedPods: 2,
  strategy: 'Evict',
  restartNow: 'please',
  pending: {
    hash,
    since: now - 2,
    started: now - 1,
    cutoff: now - 60_000,
    from: now - 61_000,
    total: 4,
    proven: true,
    repairs: 1,
    owners: [{ kind: 'Deployment', name: 'web', uid: 'u-0', wanted: 4, available: 3, templateChanged: true }],
    revertedOwners: ['u-1', 'u-2'],
    reason: 'InProgress',
  },
  lastRestart: restart,
  history: [{ ...restart, trigger }],
  conditions: [],
};

describe('the status', () => {
  it('is read back as it was written', () => {
    assert.deepEqual(readState(writeState(full)), full);
    assert.deepEqual(writeState(readState(writeState(full))), writeState(full));
  });

  it('of a new watcher is empty', () => {
    const state = readState({ observedGeneration: -1 });
    assert.deepEqual([state.appliedHash, state.pending, state.history], [undefined, undefined, []]);
  });

  it('keeps the names of keys out of the history, and five entries', () => {
    const { history = [] } = writeState({ ...full, history: Array(9).fill(restart) });
    assert.equal(history.length, 5);
    assert.ok(!JSON.stringify(history).includes('message'));
  });

  const forged: [string, object][] = [
    ['a pending change without an instant', { pending: { hash, since: 'soon' } }],
    ['a pending change that is a string', { pending: 'yes' }],
    ['an instant of another kind', { lastChangeTime: 5, cooldownUntil: {} }],
    ['sources without hashes', { sources: [{ kind: 'ConfigMap', name: 'a' }] }],
    ['history of nothing', { history: [{}] }],
  ];
  for (const [what, status] of forged) {
    it(`does not choke on ${what}`, () => {
      const state = readState(status as ConfigWatcherStatus);
      assert.deepEqual(
        [state.pending, state.lastChange, state.sources, state.history],
        [undefined, undefined, [], []],
      );
    });
  }

  it('of any other types is read as a state that can be decided on and written', () => {
    const status = writeState(full);
    const wrong = [5, -1, 0.5, 'x', '', true, null, [], {}, [7], [null], { a: 1 }];
    let forgeries = 0;
    for (const path of pathsOf(status)) {
      for (const value of wrong) {
        const state = readState(replaced(status, path, value) as ConfigWatcherStatus);
        const facts = { state, sources: [newContent], pods: [pod()], owners: ownedBy(1) };
        const decision = decide(observed(facts));
        const [first] = 'need' in decision ? [] : decision.effects;
        const written = writeState(first?.type === 'WriteStatus' ? first.state : state);
        const { problems } = validateConfigWatcher({ ...watching(), status: written });
        assert.deepEqual(problems, [], `${path.join('.')} = ${JSON.stringify(value)}`);
        forgeries++;
      }
    }
    assert.ok(forgeries > 500, `only ${forgeries}`);
  });
});

/** Of every value in it, the lists and objects included. */
function pathsOf(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return [[]];
  const inner = Object.entries(value).flatMap(([key, one]) => pathsOf(one).map((path) => [key, ...path]));
  return [[], ...inner];
}

function replaced(value: unknown, [key, ...rest]: readonly string[], by: unknown): unknown {
  if (key === undefined) return by;
  if (Array.isArray(value)) {
    return value.map((one, index) => (String(index) === key ? replaced(one, rest, by) : one));
  }
  const object = value as Record<string, unknown>;
  return { ...object, [key]: replaced(object[key], rest, by) };
}
