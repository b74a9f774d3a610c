import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherStatus } from '../../../src/api/configwatcher.generated.ts';
import {
  type Restart,
  readState,
  type WatcherState,
  writeState,
} from '../../../src/configwatcher/decide/state.ts';
import { now } from '../../fixtures/configwatcher.ts';

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
    { kind: 'ConfigMap', name: 'webapp-config', hash },
    { kind: 'Secret', name: 's', keysHash: 'v1:0', hash },
  ],
  lastChange: now - 1,
  lastRestartTime: now - 1000,
  cooldownUntil: now + 29_999,
  restartCount: 7,
  matchedPods: 5,
  stalePods: 3,
  strategy: 'Evict',
  pending: { hash, since: now - 2, started: now - 1, cutoff: now - 60_000, reason: 'InProgress' },
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

  it('with everything at its largest, and names of 63 characters, stays below 8 KiB', () => {
    const long = 'n'.repeat(63);
    const condition = {
      type: 'SourceAvailable',
      status: 'False',
      reason: 'SourceMissing',
      message: 'm'.repeat(280),
      lastTransitionTime: '2024-06-01T12:00:00Z',
    } as const;
    const largest: WatcherState = {
      ...full,
      sources: Array(16).fill({ kind: 'ConfigMap', name: long, hash, keysHash: 'v1:0123456789abcdef' }),
      lastRestart: {
        ...restart,
        trigger: { kind: 'ConfigMap', name: long, changedKeys: Array(20).fill('k'.repeat(51)) },
      },
      history: Array(5).fill({ ...restart, trigger: { kind: 'ConfigMap', name: long } }),
      conditions: Array(3).fill(condition),
    };
    const size = JSON.stringify(writeState(largest)).length;
    assert.ok(size < 8 * 1024, `${size} bytes`);
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
});
