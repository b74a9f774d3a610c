import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcher } from '../../../src/api/configwatcher.generated.ts';
import { configWatchers } from '../../../src/api/resources.ts';
import { StateStore } from '../../../src/configwatcher/act/state-store.ts';
import { podWakeUps } from '../../../src/configwatcher/facts/pod-wake-ups.ts';
import type { KubernetesObject } from '../../../src/kubernetes/objects.ts';
import type { Informer, InformerHandler } from '../../../src/runtime/cache/informer.ts';
import type { Lister } from '../../../src/runtime/cache/lister.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import { requestKey } from '../../../src/runtime/controller/reconciler.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { FakeClock } from '../../fake/clock.ts';
import { watching } from '../../fixtures/configwatcher.ts';

const resting = watching();
const restarting: ConfigWatcher = {
  ...watching(),
  metadata: { ...resting.metadata, name: 'restarting' },
  status: { pending: { hash: 'v1:1', since: '2024-06-01T12:00:00Z', started: '2024-06-01T12:00:02Z' } },
};

function podObject(
  labels: Record<string, string> = { app: 'webapp' },
  metadata: object = {},
): KubernetesObject {
  return { metadata: { name: 'p', namespace: 'shop', labels, ...metadata } };
}

/** A started source, its handler, and what it enqueued so far. */
function started(watchers: readonly ConfigWatcher[]) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const woken: string[] = [];
  let handler: InformerHandler<KubernetesObject> = {};
  let removed = false;
  const pods = {
    addHandler: (added: InformerHandler<KubernetesObject>) => {
      handler = added;
      return () => {
        removed = true;
      };
    },
  } as unknown as Informer<KubernetesObject>;
  const lister = {
    list: (namespace: string) => watchers.filter(({ metadata }) => metadata.namespace === namespace),
  } as unknown as Lister<ConfigWatcher>;
  const store = new StateStore(configWatchers, {} as Client, clock);
  podWakeUps({ pods, watchers: lister, stateOf: (one) => store.read(one, undefined), clock }).start(
    (request, { priority = 0 }) => {
      woken.push(requestKey(request));
      assert.ok(priority < 0, 'edits go first');
    },
    silentLogger,
    stop.signal,
  );
  return { clock, handler, woken, stop, isRemoved: () => removed };
}

describe('podWakeUps', () => {
  it('wakes a watcher that restarts Pods once for all their news, the sooner the fewer they are', () => {
    for (const [matchedPods, delay] of [
      [undefined, 25],
      [3, 25],
      [1000, 100],
      [100_000, 2000],
    ] as const) {
      const status = { ...restarting.status, ...(matchedPods && { matchedPods }) };
      const { clock, handler, woken } = started([{ ...restarting, status }]);
      for (let news = 0; news < 100; news++) handler.onUpdate?.(podObject(), podObject());
      clock.advance(delay - 1);
      assert.deepEqual(woken, []);
      clock.advance(1);
      assert.deepEqual(woken, ['shop/restarting']);
      clock.advance(60_000);
      assert.equal(woken.length, 1);
    }
  });

  it('knows of a restart from the annotation, where the CRD has no status', () => {
    const { status, ...watcher } = restarting;
    const observed = JSON.stringify({ ...status, appliedHash: 'v1:0', matchedPods: 3 });
    const annotations = { 'k8spatterns.io/observed': observed };
    const { clock, handler, woken } = started([
      { ...watcher, metadata: { ...watcher.metadata, annotations } },
    ]);
    handler.onUpdate?.(podObject(), podObject());
    clock.advance(25);
    assert.deepEqual(woken, ['shop/restarting']);
  });

  it('wakes one at rest only for Pods that come, go or change their labels, and later', () => {
    const { clock, handler, woken } = started([resting]);
    handler.onUpdate?.(podObject(), podObject());
    clock.advance(60_000);
    assert.deepEqual(woken, []);
    const news: (() => void)[] = [
      () => handler.onAdd?.(podObject(), false),
      () => handler.onDelete?.(podObject()),
      () => handler.onUpdate?.(podObject({}), podObject()),
      () => handler.onUpdate?.(podObject(), podObject({ app: 'other' })),
      () => handler.onUpdate?.(podObject(), podObject(undefined, { deletionTimestamp: 'now' })),
    ];
    for (const [index, tell] of news.entries()) {
      tell();
      clock.advance(4999);
      assert.equal(woken.length, index);
      clock.advance(1);
      assert.equal(woken.length, index + 1);
    }
  });

  it('sleeps through the first list, other Pods, other namespaces and bad specs', () => {
    const { clock, handler, woken } = started([resting, restarting, watching({ podSelector: {} })]);
    handler.onAdd?.(podObject(), true);
    handler.onAdd?.(podObject({ app: 'other' }), false);
    handler.onAdd?.(podObject(undefined, { namespace: 'other' }), false);
    clock.advance(60_000);
    assert.deepEqual(woken, []);
  });

  it('does nothing after the stop', () => {
    const { clock, handler, woken, stop, isRemoved } = started([resting]);
    handler.onAdd?.(podObject(), false);
    stop.abort();
    clock.advance(60_000);
    assert.deepEqual([woken, isRemoved(), clock.pendingTimers], [[], true, 0]);
  });
});
