import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { type KubernetesObject, pods } from '../../../src/kubernetes/objects.ts';
import { ApiError, TransportError } from '../../../src/runtime/client/api-error.ts';
import type { Client, ObjectKey } from '../../../src/runtime/client/client.ts';
import type { Patch } from '../../../src/runtime/client/patch.ts';
import { openGate } from '../../../src/runtime/client/write-gate.ts';
import type { Event } from '../../../src/runtime/events/event.ts';
import { EventBroadcaster } from '../../../src/runtime/events/event-broadcaster.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { FakeClock, settle } from '../../fake/clock.ts';

const launched = { type: 'Normal', reason: 'Launched', action: 'CreatePod', note: 'created it' } as const;

function object(name: string): KubernetesObject {
  return { metadata: { name, namespace: 'team', uid: `uid-of-${name}` } };
}

function apiError(code: number, reason: string, cause?: string): ApiError {
  const details = cause === undefined ? {} : { details: { causes: [{ reason: cause }] } };
  return new ApiError(reason, code, { code, reason, ...details });
}

interface Call {
  readonly verb: 'create' | 'patch';
  readonly name: string;
  readonly at: number;
  readonly body: Partial<Event>;
}

function setUp(options: { rate?: number; queueLimit?: number } = {}) {
  const clock = new FakeClock();
  const calls: Call[] = [];
  const world = { answer: async (_: Call): Promise<void> => {}, gate: openGate, calls, busy: false };
  const call = async (made: Omit<Call, 'at'>) => {
    const whole = { ...made, at: clock.monotonic() };
    calls.push(whole);
    await world.answer(whole);
  };
  const client = {
    create: (_: unknown, event: Event) => call({ verb: 'create', name: event.metadata.name, body: event }),
    patch: (_: unknown, key: ObjectKey, patch: Patch) =>
      call({ verb: 'patch', name: key.name, body: 'body' in patch ? patch.body : {} }),
  } as unknown as Client;
  const registry = new Registry();
  const broadcaster = new EventBroadcaster({
    ...{ client, clock, registry, log: silentLogger, instance: 'host-1', ...options },
    gate: { assertMayWrite: () => world.gate.assertMayWrite() },
    isBusy: () => world.busy,
  });
  const recorder = broadcaster.recorder('example.com/test');
  const record = (name: string, note = 'created it') =>
    recorder.record(pods, object(name), { ...launched, note });
  const count = async (result: string) =>
    Number((await registry.metrics()).match(new RegExp(`result="${result}"} (\\d+)`))?.[1]);
  return { clock, broadcaster, record, world, calls, count };
}

describe('EventBroadcaster: sending', () => {
  it('creates an Event, after record() has returned', async () => {
    const { clock, record, calls, count } = setUp();
    record('a');
    assert.equal(calls.length, 0);
    await clock.advanceAsync(100);
    assert.deepEqual(
      calls.map(({ verb, body }) => [verb, body.regarding?.name, body.reportingController, body.series]),
      [['create', 'a', 'example.com/test', undefined]],
    );
    assert.equal(await count('sent'), 1);
  });

  it('gives each Event of an object its own name', async () => {
    const { clock, record, calls } = setUp();
    for (let index = 0; index < 20; index++) record('a', `note ${index}`);
    await clock.advanceAsync(2000);
    assert.equal(new Set(calls.map(({ name }) => name)).size, 20);
    assert.ok(calls.every(({ name }) => /^a\.[0-9a-f]{15,16}$/.test(name)));
  });

  it('has one call under way at a time', async () => {
    const { clock, record, world, calls } = setUp();
    world.answer = () => new Promise(() => {});
    record('a');
    record('b');
    await clock.advanceAsync(1000);
    assert.equal(calls.length, 1);
  });

  it('forgets none that is recorded just when the last one has been sent', async () => {
    for (let turns = 0; turns < 20; turns++) {
      const { clock, record, world, calls } = setUp();
      let answer = () => {};
      world.answer = () => new Promise((resolve) => (answer = resolve));
      record('first');
      await clock.advanceAsync(100);
      world.answer = async () => {};
      answer();
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      record('second');
      await clock.advanceAsync(100);
      assert.equal(calls.length, 2, `recorded ${turns} microtasks after the answer`);
    }
  });

  it('lets other requests go first, for a while', async () => {
    const { clock, record, world, calls } = setUp();
    world.busy = true;
    record('a');
    await clock.advanceAsync(1000);
    assert.equal(calls.length, 0);
    world.busy = false;
    await clock.advanceAsync(100);
    assert.equal(calls.length, 1);

    world.busy = true;
    record('b');
    record('c');
    await clock.advanceAsync(4900);
    assert.equal(calls.length, 1);
    await clock.advanceAsync(200);
    assert.equal(calls.length, 3, 'all that have waited so long');
  });

  it('does not wait at the end', async () => {
    const { broadcaster, clock, record, world, calls } = setUp();
    world.busy = true;
    record('a');
    await clock.advanceAsync(100);
    const stopped = broadcaster.stop(1000);
    await clock.advanceAsync(100);
    await stopped;
    assert.equal(calls.length, 1);
  });

  it('is not faster than its rate, apart from a second worth after a quiet time', async () => {
    const { clock, record, calls } = setUp({ rate: 10 });
    await clock.advanceAsync(60_000);
    for (let index = 0; index < 100; index++) record(`o${index}`);
    await clock.advanceAsync(500);
    assert.ok(calls.length >= 10 && calls.length <= 16, `${calls.length} at once`);
    const before = calls.length;
    await clock.advanceAsync(5000);
    assert.equal(calls.length - before, 50);
  });

  it('drops what does not fit into its queue, and counts it', async () => {
    const { clock, record, calls, count } = setUp({ queueLimit: 5 });
    for (let index = 0; index < 20; index++) record(`o${index}`);
    await clock.advanceAsync(5000);
    assert.equal(calls.length + (await count('dropped')), 20);
    assert.ok(calls.length >= 5 && calls.length <= 6);
  });

  it('tells of what was dropped when there is room for the next of its series', async () => {
    const { clock, record, world, calls } = setUp({ queueLimit: 1 });
    let release = () => {};
    world.answer = () => new Promise((resolve) => (release = resolve));
    record('first');
    await clock.advanceAsync(100);
    record('second');
    record('dropped');
    world.answer = async () => {};
    release();
    await clock.advanceAsync(1000);
    record('dropped');
    await clock.advanceAsync(1000);
    assert.deepEqual(
      calls.map(({ body }) => [body.regarding?.name, body.series?.count]),
      [
        ['first', undefined],
        ['second', undefined],
        ['dropped', 2],
      ],
    );
  });

  it('throws nothing at a controller that records nonsense', () => {
    const { record } = setUp();
    record(undefined as unknown as string);
    record(null as unknown as string, null as unknown as string);
  });
});

describe('EventBroadcaster: series', () => {
  it('makes equal records one Event with a count', async () => {
    const { clock, record, calls } = setUp();
    record('a');
    await clock.advanceAsync(1000);
    record('a');
    await clock.advanceAsync(1000);
    assert.deepEqual(
      calls.map(({ verb }) => verb),
      ['create', 'patch'],
    );
    assert.equal(calls[0]?.name, calls[1]?.name);
    assert.deepEqual(calls[1]?.body, {
      series: { count: 2, lastObservedTime: '2024-01-01T00:00:01.000000Z' },
    });
  });

  it('tells the first repetition at once and the others every 30 s, with nothing lost', async () => {
    const { clock, record, calls } = setUp();
    for (let second = 0; second < 60; second++) {
      record('a');
      await clock.advanceAsync(1000);
    }
    await clock.advanceAsync(60_000);
    const counts = calls.map(({ body }) => body.series?.count);
    assert.deepEqual(counts.slice(0, 2), [undefined, 2]);
    assert.ok(counts.length <= 5, `${counts.length} calls`);
    assert.equal(counts.at(-1), 60);
  });

  it('counts what was recorded before the first was sent', async () => {
    const { clock, record, calls } = setUp();
    record('a');
    record('a');
    record('a');
    await clock.advanceAsync(1000);
    assert.deepEqual(
      calls.map(({ verb, body }) => [verb, body.series?.count]),
      [['create', 3]],
    );
  });

  it('counts what was recorded while it was being sent', async () => {
    const { clock, record, world, calls } = setUp();
    let release = () => {};
    world.answer = () => new Promise((resolve) => (release = resolve));
    record('a');
    await clock.advanceAsync(100);
    record('a');
    world.answer = async () => {};
    release();
    await clock.advanceAsync(1000);
    assert.deepEqual(
      calls.map(({ verb, body }) => [verb, body.series?.count]),
      [
        ['create', undefined],
        ['patch', 2],
      ],
    );
  });

  it('begins a new Event after 6 minutes without a repetition', async () => {
    const { clock, record, calls } = setUp();
    record('a');
    await clock.advanceAsync(6 * 60_000);
    record('a');
    await clock.advanceAsync(6 * 60_000 + 1);
    record('a');
    await clock.advanceAsync(1000);
    assert.deepEqual(
      calls.map(({ verb }) => verb),
      ['create', 'patch', 'create'],
    );
  });

  it('begins a new Event when the old one has expired on the server', async () => {
    const { clock, record, world, calls } = setUp();
    record('a');
    await clock.advanceAsync(1000);
    world.answer = async ({ verb }) => {
      if (verb === 'patch') throw apiError(404, 'NotFound');
    };
    record('a');
    await clock.advanceAsync(1000);
    record('a');
    await clock.advanceAsync(1000);
    assert.deepEqual(
      calls.map(({ verb }) => verb),
      ['create', 'patch', 'create'],
    );
  });

  it('is not shared by objects of the same name with another uid', async () => {
    const { clock, broadcaster, calls } = setUp();
    const recorder = broadcaster.recorder('example.com/test');
    for (const uid of ['one', 'two']) {
      recorder.record(pods, { metadata: { name: 'a', namespace: 'team', uid } }, launched);
    }
    await clock.advanceAsync(1000);
    assert.equal(calls.length, 2);
  });

  it('stops one object from flooding: 25, then one every 5 minutes', async () => {
    const { clock, broadcaster, record, calls } = setUp();
    for (let index = 0; index < 100; index++) record('a', `note ${index}`);
    record('b');
    await clock.advanceAsync(10_000);
    assert.equal(calls.filter(({ name }) => name.startsWith('a.')).length, 25);
    assert.equal(calls.filter(({ name }) => name.startsWith('b.')).length, 1);
    const again = { metadata: { name: 'a', namespace: 'team', uid: 'of-its-successor' } };
    broadcaster.recorder('example.com/test').record(pods, again, { ...launched, note: 'a new life' });
    await clock.advanceAsync(10_000);
    assert.equal(calls.at(-1)?.body.note, 'a new life', 'an object of the same name has its own limit');
    await clock.advanceAsync(5 * 60_000);
    record('a', 'one more');
    record('a', 'one too many');
    await clock.advanceAsync(10_000);
    assert.equal(calls.filter(({ name }) => name.startsWith('a.')).length, 27);
  });
});

describe('EventBroadcaster: failures', () => {
  for (const row of [
    { what: '500', error: apiError(500, 'InternalError'), tries: 3 },
    { what: '429', error: apiError(429, 'TooManyRequests'), tries: 3 },
    { what: 'no answer', error: new TransportError('cut', true), tries: 3 },
    { what: '403', error: apiError(403, 'Forbidden'), tries: 1 },
    { what: 'namespace terminating', error: apiError(403, 'Forbidden', 'NamespaceTerminating'), tries: 1 },
    { what: 'namespace gone', error: apiError(404, 'NotFound'), tries: 1 },
    { what: '404 of a proxy', error: apiError(404, ''), tries: 3 },
    { what: '422', error: apiError(422, 'Invalid'), tries: 1 },
  ]) {
    it(`tries ${row.tries} times on ${row.what}, then goes on with the next`, async () => {
      const { clock, record, world, calls, count } = setUp();
      world.answer = async ({ name }) => {
        if (name.startsWith('a.')) throw row.error;
      };
      record('a');
      record('b');
      await clock.advanceAsync(10_000);
      assert.equal(calls.filter(({ name }) => name.startsWith('a.')).length, row.tries);
      assert.equal(calls.filter(({ name }) => name.startsWith('b.')).length, 1);
      assert.deepEqual([await count('failed'), await count('sent')], [1, 1]);
    });
  }

  it('waits between its tries also when the Retry-After is no number', async () => {
    const { clock, record, world, calls } = setUp();
    world.answer = async () => {
      throw new ApiError('slow down', 429, { code: 429 }, Number.NaN);
    };
    record('a');
    await clock.advanceAsync(900);
    assert.equal(calls.length, 1);
    await clock.advanceAsync(10_000);
    assert.equal(calls.length, 3);
  });

  it('finds a creation done whose answer was lost', async () => {
    const { clock, record, world, calls, count } = setUp();
    const errors = [new TransportError('cut', true), apiError(409, 'AlreadyExists')];
    world.answer = async () => {
      const error = errors.shift();
      if (error) throw error;
    };
    record('a');
    await clock.advanceAsync(10_000);
    assert.equal(calls.length, 2);
    assert.equal(calls[0]?.name, calls[1]?.name);
    assert.equal(await count('sent'), 1);
  });

  it('sends nothing while this process may not write', async () => {
    const { clock, record, world, calls, count } = setUp();
    world.gate = {
      assertMayWrite() {
        throw new TransportError('closed', false);
      },
    };
    record('a');
    await clock.advanceAsync(10_000);
    assert.equal(calls.length, 0);
    assert.equal(await count('dropped'), 1);
  });
});

describe('EventBroadcaster: stop', () => {
  it('sends what is waiting without regard to the rate, and then nothing ever', async () => {
    const { clock, broadcaster, record, calls } = setUp({ rate: 1 });
    for (let index = 0; index < 50; index++) record(`o${index}`);
    record('o0');
    let stopped = false;
    void broadcaster.stop(2000).then(() => {
      stopped = true;
    });
    await clock.advanceAsync(1500);
    assert.equal(calls.length, 50);
    assert.equal(stopped, true);
    record('late');
    await clock.advanceAsync(60_000);
    assert.equal(calls.length, 50);
    assert.equal(clock.pendingTimers, 0);
  });

  it('sends the count of a series that was told only recently', async () => {
    const { clock, broadcaster, record, calls } = setUp();
    for (let second = 0; second < 5; second++) {
      record('a');
      await clock.advanceAsync(1000);
    }
    await broadcaster.stop(2000);
    assert.equal(calls.at(-1)?.body.series?.count, 5);
    assert.equal(clock.pendingTimers, 0);
  });

  it('does not take longer than its limit', async () => {
    const { clock, broadcaster, record, world } = setUp();
    world.answer = () => new Promise(() => {});
    record('a');
    await clock.advanceAsync(100);
    let stopped = false;
    void broadcaster.stop(2000).then(() => {
      stopped = true;
    });
    await clock.advanceAsync(2000);
    await settle();
    assert.equal(stopped, true);
  });
});
