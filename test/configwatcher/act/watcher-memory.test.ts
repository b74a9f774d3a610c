/** What a process may take for known of a watcher's status, and since when. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WatcherMemory } from '../../../src/configwatcher/act/watcher-memory.ts';
import { emptyMemory } from '../../../src/configwatcher/facts/restart-memory.ts';
import type { WatcherState } from '../../../src/configwatcher/facts/state.ts';
import type { SourceHash } from '../../../src/configwatcher/plan/config-hash.ts';
import { FakeClock } from '../../fake/clock.ts';
import { applied, watching } from '../../fixtures/configwatcher.ts';

const key = 'shop/webapp-config-watcher';
const state = applied();
const of = (sources: Partial<SourceHash>): WatcherState => ({
  ...state,
  sources: state.sources.map((one) => ({ ...one, ...sources })),
});
const atVersion = (resourceVersion: string) => {
  const { metadata, ...rest } = watching();
  return { ...rest, metadata: { ...metadata, resourceVersion } };
};

/** A memory of version 8, which says `after` in place of `before` known since 1000; a second later. */
async function written({ before = state, after = state }: { before?: WatcherState; after?: WatcherState }) {
  const clock = new FakeClock({ monotonic: 2000 });
  const memory = new WatcherMemory(clock);
  const facts = { watcher: watching(), state: before, knownSince: 1000 };
  memory.written(key, facts, { state: after, memory: emptyMemory, version: '8' });
  await clock.advance(1000);
  return (version: string) => memory.knownSince(key, atVersion(version));
}

describe('what the status says of the sources is known', () => {
  it('since it was, after an own write that says the same of them, with or without room', async () => {
    const { hash } = state.sources[0]!;
    for (const after of [{ ...state, restartCount: 3 }, of({ hash: hash.slice(0, 27) })]) {
      const knownSince = await written({ after });
      assert.equal(knownSince('8'), 1000);
    }
  });

  it('since the own write that says something else of them', async () => {
    for (const other of [{ hash: `v1:${'c'.repeat(24)}` }, { keysHash: 'v1:1' }, { name: 'another' }]) {
      const knownSince = await written({ after: of(other) });
      assert.equal(knownSince('8'), 2000, JSON.stringify(other));
    }
    const knownSince = await written({ after: { ...state, sources: [] } });
    assert.equal(knownSince('8'), 2000);
  });

  it('since now where another version is there: the sources may have changed and changed back', async () => {
    const knownSince = await written({});
    for (const version of ['7', '9']) assert.equal(knownSince(version), 3000, version);
  });

  it('since now where nothing is known', () => {
    const memory = new WatcherMemory(new FakeClock({ monotonic: 5000 }));
    assert.equal(memory.knownSince(key, watching()), 5000);
  });
});
