/** Which ConfigMaps and Secrets a workload asks for, by each annotation: on a real API server with the shipped operator. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherSpec, ConfigWatcherSpecSource } from '../../src/api/configwatcher.generated.ts';
import type { Container, EnvVar } from '../../src/kubernetes/objects.ts';
import { AnnotatedShop, type WorkloadShape } from './annotated-shop.ts';

const timeout = 240_000;
const domain = 'reloader.stakater.com';
const options = {
  'k8spatterns.io/restart-options': JSON.stringify({
    debounce: { quiet: '500ms' },
    cooldown: { base: '1s', max: '1s' },
    strategy: { canary: false },
  }),
};
/** Without a strategy of its own. */
const paced = { 'k8spatterns.io/restart-options': JSON.stringify({ cooldown: { base: '1s', max: '1s' } }) };
/** Without a cooldown of its own. */
const prompt = { 'k8spatterns.io/restart-options': JSON.stringify({ debounce: { quiet: '500ms' } }) };

const [a, s, other]: readonly ConfigWatcherSpecSource[] = [
  { kind: 'ConfigMap', name: 'a', optional: false },
  { kind: 'Secret', name: 's', optional: false },
  { kind: 'Secret', name: 'other-1', optional: false },
];

/** Each refers to ConfigMap a and Secret s unless it says otherwise; restarted by an edit of the first, and by both. */
const rows: readonly {
  readonly name: string;
  readonly shape: WorkloadShape;
  readonly sources: readonly (ConfigWatcherSpecSource | undefined)[];
  /** Default: one second, as the options say. */
  readonly cooldown?: ConfigWatcherSpec['cooldown'];
  readonly restarts: readonly [number, number];
}[] = [
  {
    name: 'listed',
    shape: {
      annotations: { ...options, 'k8spatterns.io/restart-on-change': 'configmap/a, secret/s' },
      from: [],
    },
    sources: [a, s],
    restarts: [1, 2],
  },
  {
    name: 'referenced',
    shape: { annotations: { ...options, 'k8spatterns.io/restart-on-change': 'referenced' } },
    sources: [a, s],
    restarts: [1, 2],
  },
  {
    name: 'optional',
    shape: {
      annotations: { ...options, 'k8spatterns.io/restart-on-change': 'referenced' },
      container: { envFrom: [{ configMapRef: { name: 'later', optional: true } }] },
    },
    sources: [{ kind: 'ConfigMap', name: 'later', optional: true }],
    restarts: [0, 1],
  },
  {
    name: 'configmaps',
    shape: { annotations: { ...options, [`configmap.${domain}/auto`]: 'true' } },
    sources: [a],
    restarts: [1, 1],
  },
  {
    name: 'secrets',
    shape: { annotations: { ...options, [`secret.${domain}/auto`]: 'true' } },
    sources: [s],
    restarts: [0, 1],
  },
  {
    name: 'listed-secrets',
    shape: { annotations: { ...options, [`secret.${domain}/reload`]: 's, other-[0-9]' } },
    sources: [other, s].map((source) => source && { ...source, optional: true }),
    restarts: [0, 1],
  },
  {
    name: 'without-secret',
    shape: {
      annotations: { ...options, [`${domain}/auto`]: 'true', [`secrets.exclude.${domain}/reload`]: 's' },
    },
    sources: [a],
    restarts: [1, 1],
  },
  {
    name: 'in-place',
    shape: {
      annotations: { ...paced, [`${domain}/auto`]: 'true', [`${domain}/rollout-strategy`]: 'restart' },
    },
    sources: [a, s],
    restarts: [1, 2],
  },
  {
    name: 'pausing',
    shape: {
      annotations: {
        ...{ ...prompt, [`${domain}/auto`]: 'true' },
        [`deployment.${domain}/pause-period`]: '1500ms',
      },
    },
    sources: [a, s],
    cooldown: { base: '1500ms', max: '1500ms' },
    restarts: [1, 2],
  },
];

type Way = readonly [
  name: string,
  shape: Pick<WorkloadShape, 'container' | 'podSpec'>,
  source: Partial<ConfigWatcherSpecSource>,
];

const env = (valueFrom: NonNullable<EnvVar['valueFrom']>) => ({ env: [{ name: 'VALUE', valueFrom }] });
const inside = (container: Partial<Container>) => ({ container });
const initially = (container: Partial<Container>) => ({
  podSpec: { initContainers: [{ name: 'init', image: 'app', ...container }] },
});
const volume = (of: object) => ({ podSpec: { volumes: [{ name: 'volume', ...of }] } });
const projected = (...sources: readonly object[]) => volume({ projected: { sources } });
const items = ['one', 'two'].map((key) => ({ key, path: key }));
const [name, key, optional, keys] = ['a', 'one', true, ['one']];
const cm = { kind: 'ConfigMap' } as const;
const secret = { kind: 'Secret' } as const;

/** One way each to refer to a ConfigMap or Secret of name a, and the source that it gives. */
const ways: readonly Way[] = [
  ['env', inside(env({ configMapKeyRef: { name, key } })), { ...cm, keys }],
  ['env-secret', inside(env({ secretKeyRef: { name, key } })), { ...secret, keys }],
  ['env-optional', inside(env({ configMapKeyRef: { name, key, optional } })), { ...cm, keys, optional }],
  [
    'env-secret-optional',
    inside(env({ secretKeyRef: { name, key, optional } })),
    { ...secret, keys, optional },
  ],
  ['from', inside({ envFrom: [{ configMapRef: { name } }] }), cm],
  ['from-secret', inside({ envFrom: [{ secretRef: { name } }] }), secret],
  ['from-optional', inside({ envFrom: [{ configMapRef: { name, optional } }] }), { ...cm, optional }],
  ['from-secret-optional', inside({ envFrom: [{ secretRef: { name, optional } }] }), { ...secret, optional }],
  ['volume', volume({ configMap: { name } }), cm],
  ['volume-secret', volume({ secret: { secretName: name } }), secret],
  ['volume-items', volume({ configMap: { name, items } }), { ...cm, keys: ['one', 'two'] }],
  [
    'volume-secret-items',
    volume({ secret: { secretName: name, items } }),
    { ...secret, keys: ['one', 'two'] },
  ],
  ['volume-optional', volume({ configMap: { name, optional } }), { ...cm, optional }],
  ['volume-secret-optional', volume({ secret: { secretName: name, optional } }), { ...secret, optional }],
  ['projected', projected({ configMap: { name } }), cm],
  ['projected-secret', projected({ secret: { name } }), secret],
  ['projected-items', projected({ configMap: { name, items } }), { ...cm, keys: ['one', 'two'] }],
  ['projected-secret-items', projected({ secret: { name, items } }), { ...secret, keys: ['one', 'two'] }],
  ['projected-optional', projected({ configMap: { name, optional } }), { ...cm, optional }],
  ['projected-secret-optional', projected({ secret: { name, optional } }), { ...secret, optional }],
  ['init-env', initially(env({ configMapKeyRef: { name, key } })), { ...cm, keys }],
  ['init-env-secret', initially(env({ secretKeyRef: { name, key } })), { ...secret, keys }],
  ['init-from', initially({ envFrom: [{ configMapRef: { name } }] }), cm],
  [
    'init-from-secret-optional',
    initially({ envFrom: [{ secretRef: { name, optional } }] }),
    { ...secret, optional },
  ],
  // Of two references to the same one.
  [
    'needed-once',
    {
      ...inside(env({ configMapKeyRef: { name, key } })),
      ...projected({ configMap: { name, items: items.slice(1), optional } }),
    },
    { ...cm, keys: ['one', 'two'] },
  ],
  [
    'whole-once',
    {
      ...inside(env({ secretKeyRef: { name, key, optional } })),
      ...volume({ secret: { secretName: name, optional } }),
    },
    { ...secret, optional },
  ],
];

describe('workloads with Secret access', () => {
  it('have a source for each way to refer to one, with the keys that the reference names', {
    timeout,
  }, async (t) => {
    const shop = await AnnotatedShop.open(t);
    const annotations = { ...options, 'k8spatterns.io/restart-on-change': 'referenced' };
    await Promise.all(
      ways.map(([way, shape]) => shop.workload('Deployment', way, { annotations, ...shape })),
    );
    await shop.operator(['--annotated-workloads', '--secret-access']);
    for (const [way, , source] of ways) {
      const { spec } = await shop.untilWatcher(`deployment-${way}`, () => true, 'is there');
      assert.deepEqual(spec.sources, [{ name, optional: false, ...source }], way);
    }
    assert.equal((await shop.watchers()).length, ways.length);
  });

  it('are restarted for what each annotation names, and for nothing else', { timeout }, async (t) => {
    const shop = await AnnotatedShop.open(t);
    await shop.operator(['--reloader-annotations', '--secret-access']);
    await shop.config('a', { key: 'first' });
    for (const name of ['s', 'other-1', 'other-x']) await shop.secret(name, { key: 'first' });
    await Promise.all(
      rows.map(({ name, shape }) =>
        shop.workload('Deployment', name, { from: ['a'], secrets: ['s'], ...shape }),
      ),
    );
    for (const { name, sources, cooldown = { base: '1s', max: '1s' } } of rows) {
      const { spec } = await shop.baselined(`deployment-${name}`);
      assert.deepEqual([spec.sources, spec.cooldown], [sources, cooldown], name);
      assert.equal(spec.strategy?.type, name === 'in-place' ? 'Evict' : 'Auto', name);
    }
    await shop.allReady();
    const edits = [
      async () => void (await shop.config('a', { key: 'second' })),
      async () => {
        await shop.config('later', { key: 'first' });
        for (const name of ['s', 'other-x']) await shop.secret(name, { key: 'second' });
      },
    ];
    for (const [round, edit] of edits.entries()) {
      await shop.olderThanEdits();
      await edit();
      for (const { name, restarts } of rows) await shop.restarted(`deployment-${name}`, restarts[round] ?? 0);
    }
    await shop.settled();
    const expected = rows.map(({ name, restarts: [, both] }) => [`deployment-${name}`, both] as const);
    assert.deepEqual(await shop.restarts(), Object.fromEntries(expected));
    for (const {
      name,
      restarts: [, both],
    } of rows)
      assert.equal(shop.replaced(name), both, name);
    assert.equal(await shop.revision('in-place'), 1, 'its template is as it was');
  });
});

describe('workloads without Secret access', () => {
  it('are restarted for the ConfigMaps that they refer to, and warned of a Secret that they name', {
    timeout,
  }, async (t) => {
    const shop = await AnnotatedShop.open(t);
    await shop.operator(['--annotated-workloads']);
    await shop.config('a', { key: 'first' });
    await shop.secret('s', { key: 'first' });
    for (const [name, value] of [
      ['referenced', 'referenced'],
      ['named', 'secret/s'],
    ] as const) {
      const annotations = { ...options, 'k8spatterns.io/restart-on-change': value };
      await shop.workload('Deployment', name, { annotations, from: ['a'], secrets: ['s'] });
    }
    const { spec } = await shop.baselined('deployment-referenced');
    assert.deepEqual(spec.sources, [a]);
    const note = await shop.warning('named', 'InvalidRestartAnnotation');
    assert.match(note, /names a Secret, for which the operator needs --secret-access/);
    await shop.allReady();
    await shop.olderThanEdits();
    await shop.secret('s', { key: 'second' });
    await shop.config('a', { key: 'second' });
    await shop.restarted('deployment-referenced', 1);
    await shop.settled();
    assert.deepEqual(await shop.restarts(), { 'deployment-referenced': 1 }, 'the other one has none');
    assert.deepEqual([shop.replaced('referenced'), shop.replaced('named')], [1, 0]);
    const warnings = await Promise.all(['referenced', 'named'].map((name) => shop.events(name)));
    assert.deepEqual(
      warnings.map(({ length }) => length),
      [0, 1],
    );
  });
});
