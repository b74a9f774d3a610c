import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configWatchers, configWatchersCom } from '../../src/api/resources.ts';
import { ServedController } from '../../src/configwatcher/served-controller.ts';
import { ApiError } from '../../src/runtime/client/api-error.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { FakeClock, settle } from '../fake/clock.ts';

const notServed = () => new ApiError('not found', 404, { reason: 'NotFound', code: 404 });

function world({ optional = true, either = false } = {}) {
  const served = new Set<string>();
  const calls: string[] = [];
  const stop = new AbortController();
  const clock = new FakeClock();
  const answers: { failure?: Error } = {};
  const looks = { count: 0 };
  const client = {
    async getRaw(path: string) {
      looks.count++;
      if (answers.failure) throw answers.failure;
      const group = path.split('/')[2] ?? '';
      if (!served.has(group)) throw notServed();
      return {
        kind: 'APIResourceList',
        resources: [{ name: 'configwatchers', kind: 'ConfigWatcher', namespaced: true }],
      };
    },
  } as Partial<Client> as Client;
  const controller = new ServedController({
    ...{ name: 'test', client, clock, log: silentLogger, optional },
    resource: optional ? configWatchersCom : configWatchers,
    ...(!optional && { unless: configWatchersCom }),
    ...(either && { orElse: configWatchersCom }),
    make: () => {
      calls.push('made');
      return {
        name: 'inner',
        needsLeaderElection: true,
        async warmUp() {
          calls.push('warm');
        },
        async start() {
          calls.push('started');
        },
      };
    },
  });
  const start = () => controller.start(stop.signal, stop.signal);
  const warmUp = () => controller.warmUp(stop.signal);
  return { served, calls, looks, stop, clock, answers, start, warmUp };
}

describe('a controller of an optional kind', () => {
  it('is not waited for, and begins within a minute of its CRD', async () => {
    const { served, calls, clock, start, warmUp } = world();
    await warmUp();
    const ended = start();
    await settle();
    await clock.advanceAsync(60_000);
    assert.deepEqual(calls, []);
    served.add(configWatchersCom.group);
    await clock.advanceAsync(60_000);
    await ended;
    assert.deepEqual(calls, ['made', 'started']);
  });

  it('looks half-way between the minutes, where the status checks of the other group look', async () => {
    const { looks, clock, stop, start } = world();
    const ended = start();
    await settle();
    await clock.advanceAsync(30_000);
    assert.equal(looks.count, 2);
    await clock.advanceAsync(59_999);
    assert.equal(looks.count, 2);
    await clock.advanceAsync(1);
    assert.equal(looks.count, 3);
    stop.abort();
    await ended;
  });

  it('begins at once where it is served', async () => {
    const { served, calls, start } = world();
    served.add(configWatchersCom.group);
    await start();
    assert.deepEqual(calls, ['made', 'started']);
  });

  it('outlives a discovery that fails', async () => {
    const { served, answers, calls, clock, start } = world();
    served.add(configWatchersCom.group);
    answers.failure = new Error('the server is away');
    const ended = start();
    await settle();
    delete answers.failure;
    await clock.advanceAsync(60_000);
    await ended;
    assert.deepEqual(calls, ['made', 'started']);
  });

  it('ends with the process without ever having begun', async () => {
    const { calls, stop, start } = world();
    const ended = start();
    await settle();
    stop.abort();
    await ended;
    assert.deepEqual(calls, []);
  });
});

describe('a controller of a kind that is expected', () => {
  for (const { what, groups, expected } of [
    { what: 'is warmed up', groups: [configWatchers.group], expected: ['made', 'warm'] },
    { what: 'is missed, where its other group is not served either', groups: [], expected: ['made', 'warm'] },
    {
      what: 'is not missed, where only its other group is served',
      groups: [configWatchersCom.group],
      expected: [],
    },
  ]) {
    it(what, async () => {
      const { served, calls, warmUp } = world({ optional: false });
      for (const group of groups) served.add(group);
      await warmUp();
      assert.deepEqual(calls, expected);
    });
  }

  it('starts the one that was warmed up', async () => {
    const { calls, start, warmUp } = world({ optional: false });
    await warmUp();
    await start();
    assert.deepEqual(calls, ['made', 'warm', 'started']);
  });
});

describe('a controller that takes either kind', () => {
  it('begins where the other one is served', async () => {
    const { served, calls, start, warmUp } = world({ optional: false, either: true });
    served.add(configWatchersCom.group);
    await warmUp();
    await start();
    assert.deepEqual(calls, ['made', 'started']);
  });

  it('begins once with both', async () => {
    const { served, calls, start, warmUp } = world({ optional: false, either: true });
    served.add(configWatchers.group).add(configWatchersCom.group);
    await warmUp();
    await start();
    assert.deepEqual(calls, ['made', 'warm', 'started']);
  });
});
