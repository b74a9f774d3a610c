/** Trouble with the writes of a ConfigWatcher that restart Pods: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findCondition } from '../../src/kubernetes/conditions.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import type { ApiError } from '../../src/runtime/client/api-error.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { recordingLogger } from '../runtime/controller/fixtures.ts';
import { deletePod } from './configwatcher-evictions.ts';
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

/** A write that restarts a Pod, and with which code the API server has refused it. */
interface Write {
  readonly pod: string;
  readonly refused: number | undefined;
}

/** For `onConnect` of an operator: notes these writes, and before the first one something happens to its Pod. */
function beforeFirstRestart(
  happen: (pod: string) => Promise<void>,
  writes: Write[],
): (client: Client) => void {
  let isFirst = true;
  const note = async <R>(pod: string, send: () => Promise<R>): Promise<R> => {
    const wasFirst = isFirst;
    isFirst = false;
    if (wasFirst) await happen(pod);
    const sent = send();
    const refusal = await sent.then(
      () => undefined,
      (error: ApiError) => error,
    );
    writes.push({ pod, refused: refusal?.code });
    return sent;
  };
  return (client) => {
    const [evict, remove] = [client.evict.bind(client), client.delete.bind(client)];
    client.evict = (key, options) => note(key.name, () => evict(key, options));
    client.delete = (resource, key, options) => {
      const send = () => remove(resource, key, options);
      return resource.plural === pods.plural ? note(key.name, send) : send();
    };
  };
}

describe('a ConfigWatcher whose first restarting writes', { concurrency: 8 }, () => {
  for (const type of ['Evict', 'Delete', 'RolloutRestart'] as const) {
    for (const [what, trouble] of Object.entries(troubles)) {
      it(`by ${type} ${what} replaces each Pod once, and counts no failure`, { timeout }, async (t) => {
        const proxy = await HostileProxy.start(t);
        const shop = await Shop.watched(t, replicas, {
          strategy: { type, maxUnavailable: '100%' },
          operator: { kubeConfig: proxy.kubeConfig },
        });
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

  for (const [type, kind, code, done] of [
    ['Evict', 'Deployment', 404, 'evicted a Pod'],
    ['Evict', 'StatefulSet', 409, 'evicted a Pod'],
    ['Delete', 'Deployment', 404, 'deleted a Pod'],
    ['Delete', 'StatefulSet', 409, 'deleted a Pod'],
  ] as const) {
    it(`by ${type} come after a Pod of a ${kind} has gone leaves the new one alone, and counts no failure`, {
      timeout,
    }, async (t) => {
      const shop = await Shop.open(t);
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(replicas, kind);
      const [writes, log] = [[] as Write[], recordingLogger()];
      const goes = (pod: string) => deletePod(shop, pod, { comesBack: kind === 'StatefulSet' });
      await shop.startOperator({ log, onConnect: beforeFirstRestart(goes, writes) });
      await shop.watch({
        ...{ debounce: { quiet: '0s' }, cooldown: { base: '0s' } },
        strategy: { type, maxUnavailable: '100%' },
      });
      await shop.baselined();
      await shop.patchConfigMap({ data: { message: 'second' } });
      const { lastRestart } = await shop.restarted(1);
      await shop.allReady(replicas);
      assert.deepEqual(writes.map(({ refused }) => refused).sort(), [code, undefined]);
      assert.equal(new Set(writes.map(({ pod }) => pod)).size, replicas, 'each is tried once');
      const told = log.lines.filter(({ message }) => [done, 'a Pod is gone already'].includes(message));
      assert.deepEqual(told.map(({ message }) => message).sort(), ['a Pod is gone already', done]);
      assert.deepEqual(
        [lastRestart?.restarted, lastRestart?.failed, shop.seen.length],
        [replicas, 0, 2 * replicas],
      );
    });
  }
});
