/**
 * kill −9 of the whole operator at each write of one restart: when the API server has answered and no client has seen
 * the answer. Another process takes over. The writes are those of a restart without a kill. A kill right before a
 * write leaves what one after the write before it leaves, so that only the first has one.
 */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { ConfigWatcherStatus } from '../../../src/api/configwatcher.generated.ts';
import { OperatorProcess } from '../configwatcher-process.ts';
import { Shop } from '../configwatcher-shop.ts';
import { eventually } from '../support.ts';
import { countWrites, isSpare, type KilledLife, type KillStory, killAtEach, lifeOf } from './kill-points.ts';

const killer = new URL('./at-killer.mjs', import.meta.url).href;
const timeout = 290_000;
const replicas = 2;
/** Lives at the same time, of each story. */
const workers = 2;

interface Story extends KillStory {
  readonly type: 'Evict' | 'Delete' | 'RolloutRestart';
  /** The Pods of a StatefulSet have the same names in each life, and so have the writes that concern them. */
  readonly kind: 'StatefulSet' | 'Deployment';
  /** How many templates the owner has had in the end. */
  readonly generations: number;
}

const status = 'PUT configwatchers/webapp-config-watcher/status';

const stories: readonly Story[] = [
  {
    ...{ type: 'Evict', kind: 'StatefulSet', own: /^PUT|eviction/, generations: 1 },
    writes: {
      [status]: 4,
      'POST pods/webapp-0/eviction': 1,
      'POST pods/webapp-1/eviction': 1,
      'POST events': 4,
    },
  },
  {
    ...{ type: 'Delete', kind: 'StatefulSet', own: /^DELETE|events/, generations: 1 },
    writes: { [status]: 4, 'DELETE pods/webapp-0': 1, 'DELETE pods/webapp-1': 1, 'POST events': 4 },
  },
  {
    ...{ type: 'RolloutRestart', kind: 'Deployment', own: /^PUT|^PATCH/, generations: 2 },
    writes: { [status]: 4, 'PATCH deployments/webapp': 1, 'POST events': 4 },
  },
];

interface Life extends KilledLife {
  /** What does not depend on names and times. */
  readonly end: object;
}

/** Runs the operator until `end`, again after each kill; only the first process meets `killAt`. */
async function operate(
  t: TestContext,
  namespace: string,
  killAt: string,
  end: AbortSignal,
): Promise<() => string> {
  const processes: OperatorProcess[] = [];
  const next = () => {
    const env = { KILL_AT: processes.length === 0 ? killAt : '' };
    const args = ['--log-level=error'];
    const process = new OperatorProcess(t, namespace, args, { nodeFlags: ['--import', killer], env });
    processes.push(process);
    void process.ended.then(() => {
      if (!end.aborted) next();
    });
  };
  next();
  end.addEventListener('abort', () => {
    for (const process of processes) void process.kill();
  });
  return () => processes.map(({ output }) => output).join('');
}

function endOf({ restartCount, history, lastRestart, pending, stalePods }: ConfigWatcherStatus): object {
  const { restarted, failed, trigger } = lastRestart ?? {};
  return {
    restartCount,
    restarts: history?.length,
    restarted,
    failed,
    trigger: trigger?.name,
    pending,
    stalePods,
  };
}

/** A baseline and one restart, with a kill at one of the writes. It is over when all Events are sent. */
async function live(t: TestContext, story: Story, killAt = ''): Promise<Life> {
  const shop = await Shop.open(t);
  await shop.createConfigMap({ message: 'first' });
  await shop.deploy(replicas, story.kind);
  const { type, kind } = story;
  await shop.watch({ debounce: { quiet: '0s' }, cooldown: { base: '0s' }, strategy: { type } });
  const end = new AbortController();
  const output = await operate(t, shop.namespace, killAt, end.signal);
  try {
    await shop.baselined();
    await shop.olderThanEdits();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const last = await shop.restarted(1);
    await shop.allReady(replicas);
    // Events are sent behind the status.
    const isOver = () => {
      const { writes, kills } = lifeOf(output());
      return killAt === ''
        ? (countWrites(writes)['POST events'] ?? 0) >= (story.writes['POST events'] ?? 0)
        : kills.length > 0 || isSpare(story, killAt);
    };
    await eventually(isOver, { timeout: 60_000, message: `all is written, or killed ${killAt}` });
    const generation = await shop.generation(kind);
    return {
      ...lifeOf(output()),
      end: { ...endOf(last), pods: shop.seen.length, generation },
    };
  } catch (cause) {
    throw new Error(`killed ${killAt}; the operators said: ${output().slice(-2000)}`, { cause });
  } finally {
    end.abort();
    await shop.close();
  }
}

describe('a ConfigWatcher whose operator is killed with SIGKILL', { concurrency: stories.length }, () => {
  for (const story of stories) {
    const { type, kind, generations } = story;
    it(`at any write of a restart by ${type} restarts each Pod of a ${kind} once`, { timeout }, async (t) => {
      const recorded = await live(t, story);
      const once = { restartCount: 1, restarts: 1, restarted: replicas, failed: 0, trigger: 'webapp-config' };
      assert.deepEqual(recorded.end, {
        ...once,
        ...{ pending: undefined, stalePods: 0, pods: 2 * replicas, generation: generations },
      });
      const again = (killAt: string) => live(t, story, killAt);
      await killAtEach(story, recorded, workers, again, (life, killAt) => {
        assert.deepEqual(life.end, recorded.end, `killed ${killAt}`);
      });
    });
  }
});
