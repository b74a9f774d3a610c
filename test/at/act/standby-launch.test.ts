import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import { ats } from '../../../src/api/resources.ts';
import { LaunchTurns } from '../../../src/at/act/launch-turns.ts';
import { Memory } from '../../../src/at/act/memory.ts';
import { StandbyLaunch } from '../../../src/at/act/standby-launch.ts';
import type { InformerHandler } from '../../../src/runtime/cache/informer.ts';
import { ApiError } from '../../../src/runtime/client/api-error.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { FakeClock } from '../../fake/clock.ts';
import { accepted, created, dueTime, finished, launched, noDeparted } from '../../fixtures/at.ts';

const context = { signal: new AbortController().signal, log: silentLogger, reconcileID: 'test' };

/** A standby whose caches show this At without a Pod, also where another replica has made it, and what it sends. */
function standby(at: At, { stoppedMs = 0, isMade = false } = {}) {
  const sent: string[] = [];
  const clock = new FakeClock({ now: dueTime + 1500 });
  const turns = new LaunchTurns(clock);
  const client = {
    get: async (resource: unknown) => {
      sent.push(resource === ats ? 'get at' : 'get pod');
      clock.advance(stoppedMs);
      if (resource === ats) return at;
      if (isMade) return created(at);
      throw new ApiError('not there', 404, { reason: 'NotFound' });
    },
    list: async () => {
      sent.push('list ats');
      return { items: [at], resourceVersion: '9' };
    },
    create: async () => {
      sent.push('create');
      if (isMade) throw new ApiError('it exists', 409, { reason: 'AlreadyExists' });
      return created(at);
    },
    patchStatus: async () => {
      sent.push('status');
      return at;
    },
  };
  const handlers: InformerHandler<At>[] = [];
  const memory = new Memory();
  const launch = new StandbyLaunch({
    ...{ client: client as unknown as Client, clock, tracks: true },
    ats: { get: () => at, list: () => [at], byIndex: () => [] } as never,
    pods: { get: () => undefined, list: () => [], byIndex: () => [] } as never,
    departed: noDeparted,
    atInformer: {
      addHandler: (handler) => {
        handlers.push(handler);
        return () => void handlers.pop();
      },
    },
    ...{ memory, turns },
  });
  return { sent, turns, memory, handlers, standby: launch, launch: () => launch.launch(at, context) };
}

describe('a standby', () => {
  it('reads the At, and creates its Pod', async () => {
    const { sent, launch } = standby(accepted());
    await launch();
    assert.deepEqual(sent, ['get at', 'create']);
  });

  it('creates the Pod of an At that a list has shown among others', async () => {
    const { sent, launch, standby: it } = standby(accepted());
    await it.readAhead(Array(8).fill(accepted()), context.signal);
    await launch();
    assert.deepEqual(sent, ['list ats', 'create']);
  });

  it('does not rely on a read during which the process was stopped: the At may be suspended by now', async () => {
    const { sent, launch } = standby(accepted(), { stoppedMs: 60_000 });
    await launch();
    assert.deepEqual(sent, ['get at']);
  });

  it('looks seldom at an At that the leader has to end', async () => {
    const { sent, launch } = standby(accepted({ startingDeadlineSeconds: 1 }));
    const { requeueAfter = 0 } = await launch();
    assert.ok(!sent.includes('create'));
    assert.ok(requeueAfter >= 10_000, `looks again after ${requeueAfter} ms`);
  });

  it('looks no sooner than at its turn at an At of a namespace whose quota is full', async () => {
    const { sent, turns, launch } = standby(accepted());
    const quota = { reason: 'PodRejected', message: 'exceeded quota: q' };
    const version = { uid: 'u', generation: 1 };
    for (const name of 'abcdefgh') {
      turns.failed({ key: `default/${name}`, namespace: 'default', version }, 'q pods', quota);
    }
    assert.deepEqual(await launch(), { requeueAfter: 250 }, 'the next turn is that of the newcomer');
    assert.deepEqual(sent, []);
  });

  it('leaves the record of a launch that is not ExactlyOnce to the leader, also where the Pod is gone', async () => {
    const { sent, launch } = standby(accepted());
    await launch();
    const { requeueAfter = 0 } = await launch();
    assert.ok(!sent.includes('status'), `sent ${sent.join(', ')}`);
    assert.ok(requeueAfter >= 10_000, `looks again after ${requeueAfter} ms`);
  });

  it('remembers which Pod it has created, also when the At is launchable no more, until it is DONE or gone', async () => {
    const at = accepted();
    const ends: ((handler: InformerHandler<At>) => void)[] = [
      ({ onUpdate }) => onUpdate?.(at, finished()),
      ({ onDelete }) => onDelete?.(at),
    ];
    for (const end of ends) {
      const { launch, standby: it, memory, handlers } = standby(at);
      await launch();
      it.forget(at);
      assert.equal(memory.recall(at).launch?.podUID, 'pod-uid-1');
      for (const { onUpdate } of handlers) onUpdate?.(at, launched());
      assert.deepEqual([memory.size, it.hasLaunched('at-uid')], [1, true]);
      for (const handler of handlers) end(handler);
      assert.deepEqual([memory.size, it.hasLaunched('at-uid')], [0, false]);
    }
  });

  it('remembers which Pod a read has shown of an At that is launchable no more', async () => {
    const at = accepted();
    const { launch, standby: it, memory, handlers } = standby(at, { isMade: true });
    await launch();
    it.forget(at);
    assert.deepEqual([it.hasLaunched('at-uid'), memory.recall(at).launch?.podUID], [false, 'pod-uid-1']);
    for (const { onDelete } of handlers) onDelete?.(at);
    assert.equal(memory.size, 0);
  });

  it('remembers nothing of an At that it has not launched', async () => {
    const at = accepted({ startingDeadlineSeconds: 1 });
    const { launch, standby: it, memory } = standby(at);
    await launch();
    it.forget(at);
    assert.equal(memory.size, 0);
  });

  it('leaves what it remembers to the leader that it becomes', async () => {
    const at = accepted();
    const { launch, standby: it, memory, handlers } = standby(at);
    await launch();
    it.stop();
    assert.deepEqual([handlers.length, memory.size], [0, 1]);
  });
});
