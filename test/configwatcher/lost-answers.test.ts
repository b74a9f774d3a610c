/** Restarting writes whose answer never comes, or that cannot be sent: what status and metrics say afterwards. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherSpec } from '../../src/api/configwatcher.generated.ts';
import { TransportError } from '../../src/runtime/client/api-error.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { converge, Operator } from './operator.ts';
import { World } from './world.ts';

/** Where a connection breaks: before the API server has the write, or before the operator has the answer. */
type Fault = 'Unsent' | 'Unheard' | 'Unanswered' | undefined;

/** A world whose connection breaks at the restarting writes of those numbers, counted from 1. */
class FaultyWorld extends World {
  faults: ReadonlyMap<number, Fault> = new Map();
  #writes = 0;

  override client(...parameters: Parameters<World['client']>): Client {
    const client = super.client(...parameters);
    const withFault = async <T>(write: () => Promise<T>): Promise<T> => {
      const fault = this.faults.get(++this.#writes);
      if (fault === 'Unsent') throw new TransportError('ECONNREFUSED', false);
      if (fault === 'Unheard') throw new TransportError('socket hang up', true);
      const answer = await write();
      if (fault === 'Unanswered') throw new TransportError('socket hang up', true);
      return answer;
    };
    return {
      ...client,
      evict: (key, options) => withFault(() => client.evict(key, options)),
      delete: (resource, key, options) => withFault(() => client.delete(resource, key, options)),
      patch: (resource, key, patch, options) => withFault(() => client.patch(resource, key, patch, options)),
    };
  }
}

/** An edit has been made, and no pass has seen it yet. */
async function begun(
  spec: Partial<ConfigWatcherSpec>,
  replicas: number,
  faults: readonly (readonly [number, Fault])[],
): Promise<{ world: World; operator: Operator }> {
  const world = new FaultyWorld({ cooldown: { base: '0s' }, debounce: { quiet: '0s' }, ...spec });
  world.addWorkload('web', replicas);
  world.step(10_000);
  const operator = new Operator(world, 'operator');
  await converge(world, [operator]);
  world.faults = new Map(faults);
  world.edit({ message: 'second' });
  return { world, operator };
}

async function restart(...parameters: Parameters<typeof begun>): ReturnType<typeof begun> {
  const { world, operator } = await begun(...parameters);
  await converge(world, [operator]);
  return { world, operator };
}

async function assertCounted(
  { world, operator }: { world: World; operator: Operator },
  type: string,
  replicas: number,
): Promise<void> {
  const served = world.livePods().map(({ content }) => content);
  assert.deepEqual(new Set(served), new Set([world.content]));
  const { status } = world.watcher;
  const { restarted, failed, completionTime } = status?.lastRestart ?? {};
  assert.deepEqual({ restarted, failed }, { restarted: replicas, failed: 0 });
  assert.ok(completionTime);
  assert.equal(status?.restartCount, 1);
  assert.ok(status?.lastRestartTime);
  assert.equal(await operator.metric('pods_restarted_total'), replicas);
  assert.equal(await operator.metric(`restarts_total{strategy="${type}",result="completed"}`), 1);
}

describe('a restarting write without an answer', () => {
  for (const type of ['Auto', 'Evict', 'Delete', 'RolloutRestart'] as const) {
    it(`by ${type} counts as done when it was done`, async () => {
      for (const replicas of [1, 4]) {
        const after = await restart({ strategy: { type } }, replicas, [[1, 'Unanswered']]);
        await assertCounted(after, type, replicas);
        const { rollouts, restarts } = after.world;
        assert.equal(
          type === 'RolloutRestart' || type === 'Auto' ? rollouts.length : restarts.length / replicas,
          1,
        );
      }
    });

    it(`by ${type} is made again, and counts once, when it was not`, async () => {
      const after = await restart({ strategy: { type } }, 2, [[1, 'Unheard']]);
      await assertCounted(after, type, 2);
    });
  }

  it('counts as done when an edit overtakes the restart', async () => {
    const strategy = { type: 'Evict', maxUnavailable: '50%' } as const;
    const { world, operator } = await begun({ strategy }, 2, [[1, 'Unanswered']]);
    operator.sync();
    await operator.reconcile();
    assert.equal(world.restarts.length, 1);
    world.step(300);
    world.edit({ message: 'third' });
    await converge(world, [operator]);
    const { history = [] } = world.watcher.status ?? {};
    const counts = history.map(({ restarted }) => restarted);
    assert.equal(counts.at(-1), 1, 'the overtaken one');
    assert.equal(await operator.metric('pods_restarted_total'), world.restarts.length);
  });
});

describe('a batch of which one write cannot be sent', () => {
  for (const type of ['Evict', 'Delete'] as const) {
    it(`by ${type} counts all that were`, async () => {
      const strategy = { type, maxUnavailable: '100%' } as const;
      await assertCounted(await restart({ strategy }, 4, [[4, 'Unsent']]), type, 4);
    });
  }

  it('fails the pass, and keeps what the API server said to the others', async () => {
    const strategy = { type: 'Evict', maxUnavailable: '100%' } as const;
    const { world, operator } = await begun({ strategy }, 4, [[4, 'Unsent']]);
    world.minAvailable = 4;
    operator.sync();
    await operator.reconcile();
    assert.match(String(operator.lastError), /ECONNREFUSED/);
    const tries = () => world.requests.filter((request) => request === 'evict pods').length;
    assert.equal(tries(), 3);
    operator.sync();
    await operator.reconcile();
    assert.equal(tries(), 4, 'the three that were refused wait');
  });
});
