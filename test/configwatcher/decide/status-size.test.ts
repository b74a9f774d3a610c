/** The status stays below 8 KiB, and what it leaves out is nothing that a decision turns on. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { ConfigWatcherSpec } from '../../../src/api/configwatcher.generated.ts';
import type { Steps } from '../../../src/configwatcher/decide/decision.ts';
import { writeState } from '../../../src/configwatcher/decide/watcher-status.ts';
import type { Observed, SourceContent } from '../../../src/configwatcher/facts/observed.ts';
import { maxReverted, readState, type WatcherState } from '../../../src/configwatcher/facts/state.ts';
import { keysHash, statusName } from '../../../src/configwatcher/plan/config-hash.ts';
import { afterwards, decided, found, now, pod, specOf, webapp } from '../../fixtures/configwatcher.ts';
import { fc } from '../../fixtures/property.ts';

const limit = 8 * 1024;
const longKey = 'k'.repeat(253);

interface Size {
  readonly sources: number;
  readonly nameLength: number;
  readonly withKeys: boolean;
  readonly owners: number;
  readonly changes: number;
  /** Which sources are edited by each change: every so many-th. */
  readonly every: number;
  readonly missing: boolean;
}

const largest: Size = {
  ...{ sources: 32, nameLength: 253, withKeys: true, owners: 12, changes: 7, every: 1, missing: false },
};

const sizes: fc.Arbitrary<Size> = fc.record({
  sources: fc.oneof(fc.integer({ min: 1, max: 32 }), fc.constant(16), fc.constant(32)),
  nameLength: fc.oneof(fc.integer({ min: 3, max: 253 }), fc.constant(63), fc.constant(253)),
  withKeys: fc.boolean(),
  owners: fc.integer({ min: 1, max: 12 }),
  changes: fc.integer({ min: 1, max: 7 }),
  every: fc.integer({ min: 1, max: 32 }),
  missing: fc.boolean(),
});

function nameOf(index: number, length: number): string {
  return `${String(index).padStart(2, '0')}${'n'.repeat(length)}`.slice(0, length);
}

function specFor({ sources, nameLength, withKeys }: Size): Partial<ConfigWatcherSpec> {
  const keys = withKeys ? { keys: [longKey] } : {};
  const more = Array.from({ length: sources - 1 }, (_, index) => ({
    ...{ kind: 'Secret', name: nameOf(index + 1, nameLength), ...keys },
  })) as NonNullable<ConfigWatcherSpec['sources']>;
  return {
    ...{ configMap: nameOf(0, nameLength), ...keys, sources: more },
    debounce: { quiet: '0s' },
    cooldown: { base: '1s', max: '1s' },
  };
}

/** The sources at a certain edit; those of Secrets have the longer hashes. */
function contentsAt(facts: Observed['spec'], size: Size, change: number): SourceContent[] {
  assert.ok('sources' in facts);
  return facts.sources.map((source, index) => {
    const edit = index % size.every === 0 ? change : 0;
    const content = found({ [longKey]: `text${edit}text` }, { source, keysHash: keysHash(source.keys) });
    const changedKeys = Array.from({ length: 30 }, (_, key) => `${edit}-${key}-${'k'.repeat(200)}`);
    const hash = source.kind === 'Secret' ? content.hash.replace(':', '-hmac-01234567:') : content.hash;
    return { ...content, hash, changedKeys };
  });
}

/** Everything of a state but what only people read. Of names and hashes what tells them apart. */
function logicOf({ conditions, history, lastRestart, pending, sources, ...rest }: WatcherState): object {
  const { podSelector, ...change } = pending ?? {};
  const owners = pending?.owners?.map(({ uid, wanted, available }) => [uid, wanted, available]);
  const { trigger, owners: shown, ...restart } = lastRestart ?? {};
  const statuses = conditions.map(({ type, status, reason }) => [type, status, reason]);
  const digits = (hash = '') => /^[^:]*:.{0,24}/.exec(hash)?.[0];
  const known = sources.map(({ kind, name, keysHash: keys, hash, pendingHash }) => {
    return [kind, name.slice(0, 7), keys, digits(hash), digits(pendingHash)];
  });
  return { ...rest, sources: known, pending: { ...change, owners }, lastRestart: restart, statuses };
}

function assertSmall({ state }: Steps): void {
  const written = writeState(state);
  const size = Buffer.byteLength(JSON.stringify(written));
  assert.ok(size < limit, `${size} bytes`);
  const read = readState(written);
  assert.deepEqual(logicOf(read), logicOf(state));
  assert.equal(JSON.stringify(writeState(read)), JSON.stringify(written), 'written as it was read');
  // One that lacks its only Pod is known by nothing else.
  assert.ok((written.pending?.owners ?? []).every(({ kind, name }) => kind && name));
}

/** Several changes one after another, each seen through to the end but the last, which gets stuck. */
function play(size: Size): Steps {
  const spec = specOf({ ...specFor(size), strategy: { progressDeadlineSeconds: 60 } });
  const uids = Array.from({ length: size.owners }, (_, index) => `owner-${index}`);
  const owners = new Map(
    uids.map((uid) => [
      uid,
      { reference: { ...webapp, name: uid.padEnd(253, 'o'), uid }, makesSelectedPods: false },
    ]),
  );
  const pods = (created: number) =>
    uids.flatMap((uid) => [0, 1].map(() => pod({ controller: { ...webapp, uid }, created })));
  let facts: Partial<Observed> = { spec, owners, state: readState(), sources: contentsAt(spec, size, 0) };
  let decision = decided(facts);
  const next = (more: Partial<Observed>, ms: number) => {
    const state = readState(writeState(decision.state));
    facts = { ...afterwards(facts, { ...decision, state }, ms), ...more };
    decision = decided(facts);
    assertSmall(decision);
    const again = decided(afterwards(facts, { ...decision, state: readState(writeState(decision.state)) }));
    assert.deepEqual(writeState(again.state), writeState(decision.state), 'a second look changes nothing');
  };
  for (let change = 1; change <= size.changes; change++) {
    const at = facts.now ?? now;
    next({ sources: contentsAt(spec, size, change), pods: pods(at - 60_000) }, 10_000);
    if (change < size.changes) next({ pods: pods(at + 20_000) }, 10_000);
  }
  next({}, 120_000);
  assert.equal(decision.state.pending?.reason, 'Stalled');
  if (size.missing) next({ sources: facts.sources!.map((one) => ({ ...one, present: false })) }, 1000);
  return decision;
}

describe('the size of the status', () => {
  it('is below 8 KiB at the largest spec, with nothing lost that a decision turns on', () => {
    for (const missing of [false, true]) {
      const { state } = play({ ...largest, missing });
      assert.equal(state.sources.length, 32);
      assert.ok(state.sources.every(({ pendingHash }) => pendingHash));
      assert.deepEqual(writeState(state).lastRestart?.trigger?.changedKeys, ['+30']);
      const revertedOwners = Array.from({ length: maxReverted }, () => randomUUID());
      const reverted = { ...state, pending: { ...state.pending!, revertedOwners } };
      assert.ok(Buffer.byteLength(JSON.stringify(writeState(reverted))) < limit);
      assertSmall(decided({ state, spec: { invalid: '\u0001'.repeat(512) } }));
    }
  });

  it('is below 8 KiB at any spec', () => {
    fc.assert(
      fc.property(sizes, (size) => {
        play(size);
      }),
      { numRuns: 60 },
    );
  });

  it('of few sources leaves nothing out', () => {
    const { state } = play({ ...largest, sources: 3, nameLength: 40 });
    const { history = [], lastRestart, conditions } = writeState(state);
    assert.deepEqual(
      history.map(({ trigger }) => trigger?.name),
      Array(5).fill(nameOf(0, 40)),
    );
    assert.equal(lastRestart?.trigger?.changedKeys?.at(-1), '+25');
    assert.deepEqual(conditions, state.conditions);
    assert.equal(writeState(state).pending?.podSelector, 'app=webapp');
  });
});

describe('a source of a status without room', () => {
  it('is compared as ever: nothing changes unless its content does', () => {
    const size = { ...largest, owners: 1, changes: 1 };
    const { state } = play(size);
    const written = writeState(state);
    assert.ok(
      written.sources?.every(({ name, hash }) => name.length === 20 && hash?.split(':')[1]?.length === 24),
    );
    const spec = specOf(specFor(size));
    const facts = { spec, state: readState(written), pods: [], owners: new Map() };
    const same = decided({ ...facts, sources: contentsAt(spec, size, 1) });
    assert.deepEqual([same.edits, same.state.appliedHash], [0, state.pending?.hash]);
    const [first, ...others] = contentsAt(spec, size, 1);
    const edited = contentsAt(spec, size, 2)[0]!;
    const other = decided({ ...facts, sources: [edited, ...others] });
    assert.equal(other.edits, 1);
    assert.notEqual(first?.hash, edited.hash);
    const back = decided({ ...facts, sources: contentsAt(spec, size, 0) });
    assert.deepEqual(
      [back.edits, back.state.appliedHash],
      [1, state.appliedHash],
      'back to the applied contents',
    );
  });
});

describe('a long name in the status', () => {
  it('is cut, and can be no name of another object', () => {
    const [one, other] = [`${'n'.repeat(200)}a`, `${'n'.repeat(200)}b`];
    assert.equal(statusName(one).length, 63);
    assert.match(statusName(one), /^n{50}~[0-9a-f]{12}$/);
    assert.notEqual(statusName(one), statusName(other));
    assert.equal(statusName(statusName(one)), statusName(one));
    assert.equal(statusName('n'.repeat(63)), 'n'.repeat(63));
  });
});
