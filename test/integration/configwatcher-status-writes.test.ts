/** Trouble with the writes of a ConfigWatcher's status, which come before and between those that restart Pods. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Shop } from './configwatcher-shop.ts';
import { type Asked, failure, Hold, HostileProxy, type Treatment } from './hostile-proxy.ts';
import { eventually } from './support.ts';

const timeout = 320_000;
const replicas = 2;
/** A write is given up after five seconds; a busy machine may need as long again, and more, to do so. */
const givenUpWithinMs = 20_000;

/** How a write is disturbed; `onOver` is to be called when it has ended for its client. */
type Trouble = (onOver: (afterMs: number) => void) => Treatment;

interface Row {
  readonly what: string;
  readonly trouble: Trouble;
  /** Whether the API server carries it out all the same. */
  readonly isDone: boolean;
  /** How often in a row each write is disturbed. */
  readonly times: number;
}

function answered(code: number, reason: string): Pick<Row, 'what' | 'trouble' | 'isDone' | 'times'> {
  const trouble: Trouble = (onOver) => {
    onOver(0);
    return failure(code, reason);
  };
  return { what: `is first answered ${code}`, trouble, isDone: false, times: 2 };
}

const rows: readonly Row[] = [
  answered(409, 'Conflict'),
  answered(422, 'Invalid'),
  answered(500, 'InternalError'),
  {
    what: 'first gets lost, without an answer',
    trouble: (onOver) => ({ onGivenUp: onOver }),
    ...{ isDone: false, times: 1 },
  },
  {
    what: 'is first done, without an answer',
    trouble: (onOver) => {
      const hold = new Hold();
      hold.begin();
      const through = hold.through();
      const since = performance.now();
      through.on('close', () => onOver(performance.now() - since));
      return { through };
    },
    ...{ isDone: true, times: 1 },
  },
];

function isStatusWrite({ method, path }: Asked): boolean {
  return method === 'PUT' && path.endsWith('/configwatchers/webapp-config-watcher/status');
}

describe('a ConfigWatcher of which each write of its status', { concurrency: 5 }, () => {
  for (const { what, trouble, isDone, times } of rows) {
    for (const type of ['Evict', 'RolloutRestart'] as const) {
      it(`${what}, restarts each Pod once by ${type}`, { timeout }, async (t) => {
        const proxy = await HostileProxy.start(t);
        const shop = await Shop.watched(t, replicas, {
          strategy: { type },
          operator: { kubeConfig: proxy.kubeConfig },
        });

        let begun = 0;
        const over: number[] = [];
        const disturbed = (): Treatment => {
          begun++;
          return trouble((afterMs) => over.push(afterMs));
        };
        proxy.treat = (asked) => (isStatusWrite(asked) ? disturbed() : undefined);
        await shop.patchConfigMap({ data: { message: 'second' } });
        await eventually(() => over.length >= 2, { timeout: 60_000, message: 'it is tried again' });
        if (!isDone) {
          const { pending, restartCount } = await shop.status();
          assert.deepEqual([pending, restartCount, shop.seen.length], [undefined, 0, replicas]);
        }

        let left = times;
        proxy.treat = (asked) => {
          if (!isStatusWrite(asked)) return undefined;
          if (left-- > 0) return disturbed();
          left = times;
          return undefined;
        };
        // A write that hangs costs seconds each time.
        const { lastRestart, history } = await shop.until(
          'its restart is done',
          ({ restartCount, pending }) => restartCount === 1 && pending === undefined,
          { timeout: 200_000 },
        );
        await shop.allReady(replicas);
        await shop.quiet();
        assert.deepEqual(
          [lastRestart?.restarted, lastRestart?.failed, history?.length, shop.seen.length],
          [replicas, 0, 1, 2 * replicas],
        );
        assert.equal(await shop.generation('Deployment'), type === 'Evict' ? 1 : 2);
        assert.ok(begun >= 2 + times, `${begun} were disturbed`);
        await eventually(() => over.length === begun, { message: 'each that hung has been given up' });
        assert.ok(Math.max(...over) <= givenUpWithinMs, `after ${Math.max(...over)} ms`);
      });
    }
  }
});
