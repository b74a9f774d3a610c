import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import { ReadAhead } from '../../../src/at/act/read-ahead.ts';
import type { ListOptions } from '../../../src/runtime/client/client.ts';
import { FakeClock } from '../../fake/clock.ts';
import { accepted } from '../../fixtures/at.ts';

const { signal } = new AbortController();

function some(count: number, { namespace = 'default', version = '7' } = {}): At[] {
  return Array.from({ length: count }, (_, index) => {
    const [at, name] = [accepted(), `at-${index}`];
    const metadata = {
      ...at.metadata,
      namespace,
      name,
      uid: `${namespace}-${name}`,
      resourceVersion: version,
    };
    return { ...at, metadata };
  });
}

/** One whose namespace holds these Ats, with what it lists. */
function opened(stored: readonly At[], { cached = stored, fails = false, hangs = false } = {}) {
  const clock = new FakeClock();
  const lists: string[] = [];
  const list = async (_: unknown, { namespace = '', transform, signal: end }: ListOptions) => {
    lists.push(namespace);
    if (fails) throw new Error('no answer');
    if (hangs) await new Promise((_resolve, reject) => end?.addEventListener('abort', reject));
    return { items: stored.flatMap((at) => transform?.(at) ?? []), resourceVersion: '9' };
  };
  const ats = { list: () => [...cached], get: () => undefined, byIndex: () => [], size: cached.length };
  return { clock, lists, ahead: new ReadAhead({ client: { list } as never, ats, clock }) };
}

describe('the read-ahead of a standby', () => {
  it('reads eight Ats of a namespace by one list, and shows each of them once', async () => {
    const ats = some(9);
    const { ahead, lists } = opened(ats);
    const reading = ahead.read(ats.slice(0, 8), signal);
    assert.ok(ahead.isReading('default'));
    await reading;
    assert.ok(!ahead.isReading('default'));
    const names = ats.map((at) => ahead.take(at)?.metadata.name);
    assert.deepEqual(names, [...ats.slice(0, 8).map(({ metadata }) => metadata.name), undefined]);
    assert.equal(ahead.take(ats[0]!), undefined);
    assert.deepEqual(lists, ['default']);
  });

  it('sends nothing for fewer, for a few of very many, and while a list is recent', async () => {
    const ats = some(81);
    const { ahead, lists, clock } = opened(ats);
    assert.equal(ahead.read(ats.slice(0, 7), signal), undefined);
    await ahead.read(ats.slice(0, 9), signal);
    assert.equal(ahead.read(ats, signal), undefined);
    clock.advance(60_000);
    assert.equal(ahead.read(ats.slice(0, 8), signal), undefined);
    assert.equal(lists.length, 1);
  });

  it('sends four lists at a time, and none of a namespace that is too large', async () => {
    const namespaces = Array.from({ length: 6 }, (_, index) => some(8, { namespace: `ns-${index}` }));
    const { ahead, lists } = opened([], { cached: namespaces[0] ?? [] });
    const reading = ahead.read(namespaces.flat(), signal);
    assert.equal(lists.length, 4);
    await reading;
    await ahead.read(namespaces.flat(), signal);
    assert.deepEqual(lists, ['ns-0', 'ns-1', 'ns-2', 'ns-3', 'ns-4', 'ns-5']);
    const crowd = some(2001);
    assert.equal(opened(crowd).ahead.read(crowd, signal), undefined);
  });

  it('shows nothing that is three seconds old, or older than what the watch has shown', async () => {
    const ats = some(8);
    const { ahead, clock } = opened(ats);
    await ahead.read(ats, signal);
    const [first, second, third] = ats as [At, At, At];
    const newer = { ...first, metadata: { ...first.metadata, resourceVersion: '8' } };
    assert.equal(ahead.take(newer), undefined);
    assert.equal(ahead.take(second)?.metadata.name, 'at-1');
    clock.advance(3000);
    assert.equal(ahead.take(third), undefined);
  });

  it('lists again after three seconds, and after a minute where most of the last list was of no use', async () => {
    const ats = some(8);
    const { ahead, lists, clock } = opened(ats);
    await ahead.read(ats, signal);
    for (const at of ats.slice(0, 4)) ahead.take(at);
    clock.advance(3000);
    await ahead.read(ats, signal);
    assert.equal(lists.length, 2);
    for (const at of ats.slice(0, 3)) ahead.take(at);
    clock.advance(59_000);
    assert.equal(ahead.read(ats, signal), undefined);
    clock.advance(1000);
    await ahead.read(ats, signal);
    assert.equal(lists.length, 3);
  });

  it('leaves the Ats to be read one by one where the list fails, or no longer holds them', async () => {
    const ats = some(8);
    for (const { ahead, clock, lists } of [opened(ats, { fails: true }), opened([], { cached: ats })]) {
      await ahead.read(ats, signal);
      assert.equal(ahead.take(ats[0]!), undefined);
      assert.ok(!ahead.isReading('default'));
      clock.advance(3000);
      assert.equal(ahead.read(ats, signal), undefined, 'the next one would fail as well');
      clock.advance(57_000);
      await ahead.read(ats, signal);
      assert.equal(lists.length, 2);
    }
  });

  it('waits for a second at most', async () => {
    const ats = some(8);
    const { ahead, clock } = opened(ats, { hangs: true });
    const reading = ahead.read(ats, signal);
    clock.advance(1000);
    await reading;
    assert.deepEqual([ahead.isReading('default'), ahead.read(ats, signal)], [false, undefined]);
  });

  it('counts the time in which the machine was suspended', async () => {
    const ats = some(8);
    const { ahead, clock } = opened(ats);
    await ahead.read(ats, signal);
    clock.suspend(3_600_000);
    assert.equal(ahead.take(ats[0]!), undefined);
  });
});
