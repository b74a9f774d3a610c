/** ConfigWatchers into whose status other hands have written: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherStatus } from '../../src/api/configwatcher.generated.ts';
import { configWatchers } from '../../src/api/resources.ts';
import { Shop } from './configwatcher-shop.ts';
import { eventually } from './support.ts';

const timeout = 180_000;
const replicas = 3;
const farAway = '2099-01-01T00:00:00Z';

interface Forgery {
  readonly what: string;
  readonly pending?: Partial<NonNullable<ConfigWatcherStatus['pending']>>;
  readonly status?: Partial<ConfigWatcherStatus>;
  /** Default: in all situations. */
  readonly only?: string;
}

const strangers = Array.from({ length: 50 }, (_, index) => ({
  ...{ kind: 'Deployment', name: `stranger-${index}`, uid: `stranger-${index}` },
  ...{ wanted: 5, available: 5 },
}));

const forgeries: readonly Forgery[] = [
  {
    what: 'a cutoff that is years ahead',
    pending: { cutoff: farAway },
    only: 'while a change waits',
  },
  { what: 'fifty owners that do not exist', pending: { owners: strangers } },
  { what: 'an edit that is years ahead', pending: { since: farAway }, status: { lastChangeTime: farAway } },
  { what: 'a cooldown that ends in years', status: { cooldownUntil: farAway, cooldownWaits: 40 } },
  {
    what: 'counts that are not true',
    pending: { total: 99 },
    status: { restartCount: 41, matchedPods: 99, stalePods: 99, skippedPods: 99 },
  },
];

async function forge({ client, namespace }: Shop, { pending, status }: Forgery): Promise<void> {
  const body = { status: { ...status, ...(pending && { pending }) } };
  const key = { namespace, name: 'webapp-config-watcher' };
  await client.patchStatus(configWatchers, key, { type: 'merge', body });
}

/** Leaves a change that is held up there; resolves with what lets it go on. */
const situations: Readonly<Record<string, (shop: Shop) => Promise<() => Promise<unknown>>>> = {
  'while a change waits': async (shop) => {
    await shop.edit({ suspend: true });
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.until('it is held', ({ pending }) => pending?.reason === 'Suspended');
    return () => shop.edit({ suspend: false });
  },
  'in mid-restart': async (shop) => {
    shop.isKubeletSlow = true;
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === replicas + 1, {
      timeout: 40_000,
      message: 'the first Pod goes',
    });
    await shop.until('it is counted', ({ stalePods }) => stalePods === replicas - 1);
    return async () => {
      shop.isKubeletSlow = false;
    };
  },
};

describe('a ConfigWatcher whose status is given', { concurrency: 5 }, () => {
  for (const forgery of forgeries) {
    for (const [when, prepare] of Object.entries(situations)) {
      if (forgery.only !== undefined && forgery.only !== when) continue;
      it(`${forgery.what}, ${when}, restarts each Pod once, now and for the next edit`, {
        timeout,
      }, async (t) => {
        const shop = await Shop.watched(t, replicas, {
          ...{ debounce: { quiet: '1s', max: '5s' }, cooldown: { base: '1s', max: '2s' } },
        });
        const goOn = await prepare(shop);
        await forge(shop, forgery);
        await goOn();
        const isDone = ({ pending, lastRestart }: ConfigWatcherStatus) =>
          pending === undefined && lastRestart?.completionTime !== undefined;
        const first = await shop.until('it is done', isDone);
        await shop.allReady(replicas);
        assert.equal(shop.seen.length, 2 * replicas);
        await shop.olderThanEdits();
        await shop.patchConfigMap({ data: { message: 'third' } });
        const { lastRestart, matchedPods, stalePods, skippedPods } = await shop.until(
          'the next one is done',
          (status) => isDone(status) && status.lastRestart?.id !== first.lastRestart?.id,
        );
        await shop.allReady(replicas);
        assert.equal(shop.seen.length, 3 * replicas);
        assert.deepEqual(
          [lastRestart?.restarted, lastRestart?.failed, matchedPods, stalePods, skippedPods ?? 0],
          [replicas, 0, replicas, 0, 0],
        );
      });
    }
  }
});
