/**
 * Reloader's published load scenarios, with its annotations and without a change of them. For each the number of restarts
 * of every workload is given in advance: of each burst of edits one content is left after the debounce, and what is edited
 * within the cooldown waits for its end. Spans are shortened where the debounce alone would take minutes.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { contentHash } from '../../../src/configwatcher/plan/config-hash.ts';
import { type ConfigMap, configMaps } from '../../../src/kubernetes/objects.ts';
import { AnnotatedShop, type Kind, type WorkloadShape } from '../annotated-shop.ts';

const timeout = 280_000;
const auto = 'reloader.stakater.com/auto';
const kinds: readonly Kind[] = ['Deployment', 'StatefulSet', 'DaemonSet'];
/** One restart per burst: the next burst comes after the cooldown. */
const options = {
  'k8spatterns.io/restart-options': JSON.stringify({
    debounce: { quiet: '6s', max: '30s' },
    cooldown: { base: '1s', max: '1s' },
  }),
};
const annotations = { [auto]: 'true', ...options };

interface World {
  readonly shop: AnnotatedShop;
  /** Edits a ConfigMap so often, without a pause, and resolves with its last content. */
  burst(name: string, edits: number, value?: string): Promise<string>;
}

async function open(
  t: Parameters<typeof AnnotatedShop.open>[0],
  flags: readonly string[] = [],
): Promise<World> {
  const shop = await AnnotatedShop.open(t);
  await shop.operator(['--reloader-annotations', ...flags]);
  let count = 0;
  const burst = async (name: string, edits: number, value = '') => {
    let last = '';
    for (let index = 0; index < edits; index++) {
      last = `${value}update-${++count}`;
      await shop.config(name, { key: last });
    }
    return last;
  };
  return { shop, burst };
}

/** `count` workloads, each with a ConfigMap of its own, `prefix-0` and so on. */
async function pairs(
  { shop }: World,
  count: number,
  prefix: string,
  {
    kind = 'Deployment',
    value = 'initial',
    ...shape
  }: WorkloadShape & { readonly kind?: Kind; readonly value?: string } = {},
): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  await Promise.all(
    names.map(async (name) => {
      await shop.config(name, { key: value });
      await shop.workload(kind, name, { annotations, from: [name], ...shape });
    }),
  );
  const watchers = names.map((name) => `${kind.toLowerCase()}-${name}`);
  await Promise.all(watchers.map((name) => shop.baselined(name)));
  await shop.allReady();
  return names;
}

/** Every workload was restarted so often, by what its ConfigWatcher counts and by its Pods, and has the last content. */
async function assertRestarts({ shop }: World, expected: Readonly<Record<string, number>>): Promise<void> {
  for (const [watcher, count] of Object.entries(expected))
    if (count > 0) await shop.restarted(watcher, count);
  await shop.settled();
  assert.deepEqual(await shop.restarts(), expected);
  for (const [watcher, count] of Object.entries(expected)) {
    assert.equal(shop.replaced(watcher.replace(/^[a-z]+-/, '')), count, watcher);
  }
  const { items } = await shop.client.list(configMaps, { namespace: shop.namespace });
  const present = new Map(items.map((one) => [one.metadata.name, one]));
  for (const { metadata, spec, status } of await shop.watchers()) {
    assert.equal(status?.stalePods, 0, `${metadata.name} has no Pod with an older content`);
    const applied = new Map(status.sources?.map(({ kind, name, hash }) => [`${kind}/${name}`, hash]));
    assert.equal(applied.size, spec.sources?.length, metadata.name);
    // The key to hashes of Secrets is the operator's alone.
    for (const source of spec.sources?.filter(({ kind }) => kind === 'ConfigMap') ?? []) {
      const last = contentHash(source, present.get(source.name));
      assert.equal(applied.get(`ConfigMap/${source.name}`), last, `${metadata.name} has the last content`);
    }
  }
}

function each(names: readonly string[], count: number, kind = 'deployment'): Record<string, number> {
  return Object.fromEntries(names.map((name) => [`${kind}-${name}`, count]));
}

describe("Reloader's load scenarios", () => {
  it('S1, burst updates: 10 edits each of 10 ConfigMaps are 1 restart of each workload', {
    timeout,
  }, async (t) => {
    const world = await open(t);
    const names = await pairs(world, 10, 'burst');
    for (let round = 0; round < 10; round++) await Promise.all(names.map((name) => world.burst(name, 1)));
    await assertRestarts(world, each(names, 1));
  });

  it('S2, fan-out: 2 edits of one ConfigMap of 50 workloads, a cooldown apart, are 2 restarts of each', {
    timeout,
  }, async (t) => {
    const world = await open(t);
    const { shop } = world;
    await shop.config('shared', { key: 'initial' });
    const names = Array.from({ length: 50 }, (_, index) => `fan-${index}`);
    await Promise.all(
      names.map((name) => shop.workload('Deployment', name, { annotations, from: ['shared'] })),
    );
    await Promise.all(names.map((name) => shop.baselined(`deployment-${name}`)));
    await shop.allReady();
    for (const count of [1, 2]) {
      await world.burst('shared', 1);
      await Promise.all(names.map((name) => shop.restarted(`deployment-${name}`, count)));
    }
    await assertRestarts(world, each(names, 2));
  });

  it('S3, high cardinality: of 40 ConfigMaps 20 are edited, which is 1 restart of 20 workloads', {
    timeout,
  }, async (t) => {
    const world = await open(t);
    const names = await pairs(world, 40, 'hc');
    const edited = names.filter((_, index) => index % 2 === 0);
    await Promise.all(edited.map((name) => world.burst(name, 2)));
    await assertRestarts(world, { ...each(names, 0), ...each(edited, 1) });
  });

  it('S4, no-op updates: 50 edits of annotations are no restart', { timeout }, async (t) => {
    const world = await open(t);
    const names = await pairs(world, 10, 'noop');
    for (let round = 0; round < 5; round++) {
      await Promise.all(names.map((name) => world.shop.annotateConfig(name, { 'noop-counter': `${round}` })));
    }
    await assertRestarts(world, each(names, 0));
  });

  it('S5, workload churn: of 12 workloads on one ConfigMap those that are left have its last content', {
    timeout,
  }, async (t) => {
    const world = await open(t);
    const { shop } = world;
    await shop.config('churn', { key: 'initial' });
    const names = Array.from({ length: 12 }, (_, index) => `churn-${index}`);
    for (const [index, name] of names.entries()) {
      await shop.workload('Deployment', name, { annotations, from: ['churn'] });
      if (index >= 6) await shop.remove('Deployment', `churn-${index - 6}`);
    }
    const left = names.slice(6);
    for (const name of names.slice(0, 6)) await shop.untilGone(`deployment-${name}`);
    await Promise.all(left.map((name) => shop.baselined(`deployment-${name}`)));
    await shop.allReady();
    await world.burst('churn', 5);
    await assertRestarts(world, each(left, 1));
  });

  it('S6, operator restart: edits before, during and after it are 1 restart of each workload', {
    timeout,
  }, async (t) => {
    const world = await open(t);
    const names = await pairs(world, 20, 'restart');
    await Promise.all(names.map((name) => world.burst(name, 1)));
    await world.shop.stopOperator();
    await Promise.all(names.map((name) => world.burst(name, 1)));
    await world.shop.operator(['--reloader-annotations']);
    await Promise.all(names.map((name) => world.burst(name, 1)));
    await assertRestarts(world, each(names, 1));
  });

  it('S7, API pressure: 10 writers on 50 ConfigMaps are 1 restart of each workload', {
    timeout,
  }, async (t) => {
    const world = await open(t);
    // Two writers of one ConfigMap may be apart by more than a few seconds, where the API server is under pressure.
    const quiet = { debounce: { quiet: '15s', max: '60s' } };
    const patient = { ...annotations, 'k8spatterns.io/restart-options': JSON.stringify(quiet) };
    const names = await pairs(world, 50, 'api', { annotations: patient });
    await Promise.all(
      Array.from({ length: 10 }, async (_, writer) => {
        for (const [index, name] of names.entries()) if (index % 5 === writer % 5) await world.burst(name, 1);
      }),
    );
    await assertRestarts(world, each(names, 1));
  });

  it('S8, large objects: 3 edits of 10 ConfigMaps of 200 KB are 1 restart of each workload', {
    timeout,
  }, async (t) => {
    const world = await open(t);
    const large = 'x'.repeat(200 * 1024);
    const names = await pairs(world, 10, 'large', { value: large });
    for (let round = 0; round < 3; round++)
      await Promise.all(names.map((name) => world.burst(name, 1, large)));
    await assertRestarts(world, each(names, 1));
  });

  it('S9, all kinds of workloads: 1 edit is 1 restart of each', { timeout }, async (t) => {
    const world = await open(t);
    const expected: Record<string, number> = {};
    for (const kind of kinds) {
      const prefix = kind.toLowerCase();
      const names = await pairs(world, 5, `multi-${prefix}`, { kind });
      Object.assign(expected, each(names, 1, prefix));
      await Promise.all(names.map((name) => world.burst(name, 1)));
    }
    await assertRestarts(world, expected);
  });

  it('S10, Secrets and both: edits of a Secret and a ConfigMap together are 1 restart', {
    timeout,
  }, async (t) => {
    const world = await open(t, ['--secret-access']);
    const { shop } = world;
    for (let index = 0; index < 5; index++) {
      await shop.config(`mixed-cm-${index}`, { key: 'initial' });
      await shop.secret(`mixed-secret-${index}`, { password: 'initial' });
    }
    const shapes: Record<string, WorkloadShape> = {};
    for (let index = 0; index < 5; index++)
      shapes[`secret-only-${index}`] = { secrets: [`mixed-secret-${index}`] };
    for (let index = 0; index < 3; index++) shapes[`cm-only-${index}`] = { from: [`mixed-cm-${index}`] };
    for (let index = 0; index < 2; index++) {
      shapes[`mixed-${index}`] = { from: [`mixed-cm-${index}`], secrets: [`mixed-secret-${index}`] };
    }
    const names = Object.keys(shapes);
    for (const [name, shape] of Object.entries(shapes))
      await shop.workload('Deployment', name, { annotations, ...shape });
    await Promise.all(names.map((name) => shop.baselined(`deployment-${name}`)));
    await shop.allReady();
    for (let index = 0; index < 5; index++) {
      await shop.config(`mixed-cm-${index}`, { key: 'second' });
      await shop.secret(`mixed-secret-${index}`, { password: 'second' });
    }
    await assertRestarts(world, each(names, 1));
  });

  it('S11, annotation strategy: the rollout of a Deployment is 1 restart of each workload', {
    timeout,
  }, async (t) => {
    const world = await open(t);
    const rollout = JSON.stringify({
      strategy: { type: 'RolloutRestart' },
      cooldown: { base: '1s', max: '1s' },
    });
    const names = await pairs(world, 10, 'annot', {
      annotations: { [auto]: 'true', 'k8spatterns.io/restart-options': rollout },
    });
    await Promise.all(names.map((name) => world.burst(name, 5)));
    await assertRestarts(world, each(names, 1));
    for (const name of names) assert.equal(await world.shop.revision(name), 2, name);
  });

  it('S12, pause-period: the edits of 15 s after a restart are 1 more', { timeout }, async (t) => {
    const world = await open(t);
    const paused = { [auto]: 'true', 'deployment.reloader.stakater.com/pause-period': '15s' };
    const names = await pairs(world, 10, 'pause', { annotations: paused });
    for (const { metadata, spec } of await world.shop.watchers())
      assert.deepEqual(spec.cooldown, { base: '15s', max: '15s' }, metadata.name);
    await Promise.all(names.map((name) => world.burst(name, 3)));
    await Promise.all(names.map((name) => world.shop.restarted(`deployment-${name}`, 1)));
    const edited = names.slice(0, 5);
    for (let round = 0; round < 5; round++) await Promise.all(edited.map((name) => world.burst(name, 1)));
    await assertRestarts(world, { ...each(names, 1), ...each(edited, 2) });
  });

  it('S13, complex references: an edit of one ConfigMap is 1 restart of the two workloads with it', {
    timeout,
  }, async (t) => {
    const world = await open(t);
    const { shop } = world;
    const names = Array.from({ length: 5 }, (_, index) => `complex-${index}`);
    for (const name of names)
      await shop.config(name, { key1: 'initial', key2: 'initial', config: 'initial' });
    for (const [index, name] of names.entries()) {
      const [primary, secondary] = [name, names[(index + 1) % names.length]];
      const projection = (one: string | undefined) => ({
        configMap: { name: one, items: [{ key: 'key1', path: `${one}` }] },
      });
      await shop.workload('Deployment', name, {
        annotations,
        container: {
          env: ['key1', 'key2'].map((key) => ({
            name: key,
            valueFrom: { configMapKeyRef: { name: primary, key } },
          })),
          volumeMounts: ['config', 'projected'].map((one) => ({ name: one, mountPath: `/etc/${one}` })),
        },
        podSpec: {
          initContainers: [{ name: 'init', image: 'app', envFrom: [{ configMapRef: { name: primary } }] }],
          volumes: [
            { name: 'config', configMap: { name: primary } },
            { name: 'projected', projected: { sources: [projection(primary), projection(secondary)] } },
          ],
        },
      });
    }
    await Promise.all(names.map((name) => shop.baselined(`deployment-${name}`)));
    await shop.allReady();
    const place = { namespace: shop.namespace, name: 'complex-2' };
    await shop.client.patch<ConfigMap>(configMaps, place, {
      type: 'merge',
      body: { data: { key1: 'second', config: 'second' } },
    });
    await shop.restarted('deployment-complex-1', 1);
    await shop.restarted('deployment-complex-2', 1);
    // The workload that shows key1 of it alone has nothing of this one.
    await shop.client.patch<ConfigMap>(configMaps, place, {
      type: 'merge',
      body: { data: { key2: 'second' } },
    });
    const expected = { ...each(names, 0), 'deployment-complex-1': 1, 'deployment-complex-2': 2 };
    await assertRestarts(world, expected);
  });
});
