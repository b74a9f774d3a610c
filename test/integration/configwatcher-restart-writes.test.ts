/** Trouble with the writes of a ConfigWatcher that restart Pods: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findCondition } from '../../src/kubernetes/conditions.ts';
import { Shop } from './configwatcher-shop.ts';
import {
  type Asked,
  failure,
  HostileProxy,
  lostAnswer,
  page,
  page404,
  type Treatment,
} from './hostile-proxy.ts';

const timeout = 180_000;
const replicas = 2;

type Way = 'Evict' | 'Delete' | 'RolloutRestart';

const isRestart: Readonly<Record<Way, (asked: Asked) => boolean>> = {
  Evict: ({ method, path }) => method === 'POST' && path.endsWith('/eviction'),
  Delete: ({ method, path }) => method === 'DELETE' && path.includes('/pods/'),
  RolloutRestart: ({ method, path }) => method === 'PATCH' && path.endsWith('/deployments/webapp'),
};

/** How the API server, or what stands before it, treats the first two of each. */
const troubles = {
  'are done, without an answer,': lostAnswer,
  'are answered 409': failure(409, 'Conflict'),
  'are answered 422': failure(422, 'Invalid'),
  'are answered 500': failure(500, 'InternalError'),
  'are answered 503': failure(503, 'ServiceUnavailable'),
  'are answered by the 404 page of a proxy': page404,
  'are answered by the 502 page of a proxy': page(502, 'Bad Gateway'),
  'are answered by the 503 page of a proxy': page(503, 'Service Unavailable'),
} as const satisfies Readonly<Record<string, Treatment>>;

describe('a ConfigWatcher whose first restarting writes', { concurrency: 8 }, () => {
  for (const type of ['Evict', 'Delete', 'RolloutRestart'] as const) {
    for (const [what, trouble] of Object.entries(troubles)) {
      it(`by ${type} ${what} replaces each Pod once, and counts no failure`, { timeout }, async (t) => {
        const shop = await Shop.open(t);
        const proxy = await HostileProxy.start(t);
        await shop.createConfigMap({ message: 'first' });
        await shop.deploy(replicas);
        await shop.startOperator({ kubeConfig: proxy.kubeConfig });
        await shop.watch({
          ...{ debounce: { quiet: '0s' }, cooldown: { base: '0s' } },
          strategy: { type, maxUnavailable: '100%' },
        });
        await shop.baselined();
        const writes = new Map<string, number>();
        proxy.treat = (asked) => {
          if (!isRestart[type](asked)) return undefined;
          const before = writes.get(asked.path) ?? 0;
          writes.set(asked.path, before + 1);
          return before < 2 ? trouble : undefined;
        };
        await shop.patchConfigMap({ data: { message: 'second' } });
        const { lastRestart, history, conditions } = await shop.restarted(1);
        await shop.allReady(replicas);
        assert.deepEqual(
          [lastRestart?.restarted, lastRestart?.failed, history?.length, shop.seen.length],
          [replicas, 0, 1, 2 * replicas],
        );
        assert.equal(findCondition(conditions, 'Stalled'), undefined);
        assert.equal(await shop.generation('Deployment'), type === 'RolloutRestart' ? 2 : 1);
        // What is done and not answered is found done.
        const each = trouble === lostAnswer ? 1 : 3;
        const targets = type === 'RolloutRestart' ? 1 : replicas;
        assert.deepEqual([...writes.values()], Array(targets).fill(each));
      });
    }
  }
});
