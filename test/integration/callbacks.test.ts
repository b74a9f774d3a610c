/** Callbacks that throw, or return what they must not, in a Manager on a real API server. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type ConfigMap, configMaps } from '../../src/kubernetes/objects.ts';
import { controllerManagedBy } from '../../src/runtime/controller/builder.ts';
import { createManager } from '../../src/runtime/manager/create-manager.ts';
import { recordingLogger } from '../runtime/controller/fixtures.ts';
import { connectToTestCluster, eventually, testKubeConfig, withNamespace } from './support.ts';

function boom(): never {
  throw new Error('boom');
}

/** What comes of a callback that is async by mistake. */
const rejection = () => Promise.reject(new Error('boom')) as never;

it('I21: a controller whose callbacks all fail reconciles each object, and ends cleanly', async (t) => {
  const { client } = connectToTestCluster();
  const namespace = await withNamespace(t);
  const log = recordingLogger();
  const manager = createManager({
    ...{ name: 'callbacks-test', kubeConfig: testKubeConfig(), namespaces: [namespace], log },
  });
  const runs = new Map<string, number>();
  const underWay = new Set<string>();
  const doubled: string[] = [];
  let flows = 0;
  controllerManagedBy(manager)
    .for<ConfigMap>(configMaps, {
      predicates: [boom],
      priority: rejection,
      transform: boom,
      indexes: { broken: rejection },
    })
    .watches(configMaps, boom, { labelSelector: 'hostile' })
    .withOptions({
      maxConcurrentReconciles: 4,
      flowOf: () => (++flows % 2 === 0 ? boom() : String(flows)),
      rateLimiter: { when: () => Number.NaN, forget: boom, retries: boom },
    })
    .complete({
      async reconcile({ name }) {
        const run = (runs.get(name) ?? 0) + 1;
        runs.set(name, run);
        if (underWay.has(name)) doubled.push(name);
        underWay.add(name);
        await manager.client.get(configMaps, { namespace, name });
        underWay.delete(name);
        // Failures ask the rate limiter.
        if (run <= 2) throw new Error('not yet');
        return {};
      },
    });
  const stop = new AbortController();
  const ended = manager.start(stop.signal);
  t.after(() => stop.abort());
  const names = Array.from({ length: 20 }, (_, index) => `hostile-${index}`);
  for (const name of names) {
    await client.create(configMaps, { metadata: { namespace, name, labels: { hostile: '' } } });
  }
  await Promise.race([
    ended,
    eventually(() => names.every((name) => (runs.get(name) ?? 0) >= 3), { message: 'each is reconciled' }),
  ]);
  assert.deepEqual(doubled, [], 'I1');
  for (const name of names) assert.equal(runs.get(name), 3, `${name} is given out once for each add`);
  stop.abort();
  await ended;
  const failed = log.lines.flatMap(({ fields }) =>
    typeof fields.callback === 'string' ? [fields.callback] : [],
  );
  assert.deepEqual(
    failed.toSorted(),
    [
      'event handler',
      'flowOf',
      'index broken',
      'predicate',
      'priority function',
      'rateLimiter.forget',
      'rateLimiter.when',
      'transform',
    ],
    'a line for each, and no more within a minute',
  );
});

it('I1: a key whose flow changes while it waits and is raised is given out once', async (t) => {
  const namespace = await withNamespace(t);
  const manager = createManager({
    ...{
      name: 'callbacks-test',
      kubeConfig: testKubeConfig(),
      namespaces: [namespace],
      log: recordingLogger(),
    },
  });
  const runs: string[] = [];
  let flows = 0;
  controllerManagedBy(manager)
    .named('raised')
    .watchesSource({
      // Before there are workers, so that it waits.
      start(enqueue) {
        for (const priority of [0, 1, 2, 3, 4]) enqueue({ namespace, name: 'raised' }, { priority });
        enqueue({ namespace, name: 'last' }, { priority: -1 });
      },
      async waitForSync() {},
    })
    .withOptions({ flowOf: () => String(flows++) })
    .complete({
      async reconcile({ name }) {
        runs.push(name);
        await manager.client.list(configMaps, { namespace });
        return {};
      },
    });
  const stop = new AbortController();
  const ended = manager.start(stop.signal);
  t.after(() => stop.abort());
  await Promise.race([ended, eventually(() => runs.includes('last'))]);
  stop.abort();
  await ended;
  assert.deepEqual(runs, ['raised', 'last']);
});
