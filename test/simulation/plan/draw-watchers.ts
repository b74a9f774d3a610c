/** Draws ConfigWatchers, the workloads that they restart, and what people do to either. */
import type { Random } from '../../../src/testing/random.ts';
import { type Draw, namespace } from './draw-ats.ts';
import type { Feature } from './features.ts';
import type { Deed } from './plan.ts';

export const configCanary = 'c4nary-config';
export const secretCanary = 'c4nary-secret';

type Json = Record<string, unknown>;

const meta = (name: string, labels: Record<string, string> = {}) => ({ name, namespace, labels });

/** A value of a ConfigMap. One that contains `bad` breaks the programs that read it. */
function drawValue(random: Random, features: ReadonlySet<Feature>): string {
  const isBad = features.has('watcher-bad-content') && random.chance(0.3);
  return `${configCanary}-${isBad ? 'bad' : 'good'}-${random.integer(6)}`;
}

export function drawWatchers(draw: Draw): Deed[] {
  const { random, features, duration } = draw;
  if (!features.has('watcher')) return [];
  const apps = 1 + random.integer(features.has('watcher-sources') ? 4 : 2);
  const deeds: Deed[] = [];
  for (let index = 0; index < apps; index++) deeds.push(...drawApp(`app-${index}`, draw));
  if (features.has('watcher-bare-pods')) {
    const spec = podSpec(['app-0-config'], random);
    deeds.push(create(0, 'pods', 'bare', 'v1', 'Pod', { metadata: meta('bare', { app: 'app-0' }), spec }));
  }
  if (features.has('watcher-selector') && random.chance(0.5)) {
    const at = random.integer(duration);
    deeds.push({
      at,
      do: 'patch',
      resource: 'configwatchers',
      name: 'app-0',
      body: { spec: { podSelector: { app: 'app-1' } } },
    });
  }
  return deeds;
}

function create(
  at: number,
  resource: string,
  name: string,
  apiVersion: string,
  kind: string,
  rest: Json,
): Deed {
  return { at, do: 'create', resource, name, object: { apiVersion, kind, ...rest } };
}

function podSpec(configMaps: readonly string[], random: Random, extra: Json = {}): Json {
  const ready = random.pick([0, 500, 3000]);
  const envFrom = configMaps.map((name) => ({ configMapRef: { name, optional: true } }));
  const main = {
    name: 'main',
    image: 'shop',
    command: ['serve', `--ready-after=${ready}`, '--breaks-with=bad'],
    envFrom,
    readinessProbe: {},
  };
  return { containers: [main], terminationGracePeriodSeconds: random.pick([0, 1, 5]), ...extra };
}

function drawApp(app: string, draw: Draw): Deed[] {
  const { random: base, features, duration } = draw;
  const random = base.fork(app);
  const config = `${app}-config`;
  const chance = (feature: Feature, share = 0.5) => features.has(feature) && random.chance(share);
  const isStateful = chance('watcher-stateful');
  const isDaemon = !isStateful && chance('watcher-daemon');
  const replicas = 1 + random.integer(5);
  const labels = { app };
  const configs = [config, ...(features.has('watcher-sources') ? [`${app}-extra`] : [])];
  const template = { metadata: { labels }, spec: podSpec(configs, random) };
  const shared = { selector: { matchLabels: labels }, template };
  const [resource, kind, spec] = isDaemon
    ? ['daemonsets', 'DaemonSet', shared]
    : isStateful
      ? ['statefulsets', 'StatefulSet', { ...shared, replicas, serviceName: app }]
      : ['deployments', 'Deployment', { ...shared, replicas }];
  const data = { message: drawValue(random, new Set()), other: configCanary };
  const deeds: Deed[] = [
    create(0, 'configmaps', config, 'v1', 'ConfigMap', { metadata: meta(config), data }),
    create(0, resource as string, app, 'apps/v1', kind as string, { metadata: meta(app, labels), spec }),
    create(
      random.chance(0.7) ? 1 : random.integer(duration),
      'configwatchers',
      app,
      'k8spatterns.io/v1',
      'ConfigWatcher',
      {
        metadata: meta(app),
        spec: drawWatcherSpec(app, config, random, features),
      },
    ),
  ];
  if (features.has('watcher-sources')) {
    const extra = `${app}-extra`;
    deeds.push(
      create(0, 'configmaps', extra, 'v1', 'ConfigMap', {
        metadata: meta(extra),
        data: { one: configCanary },
      }),
    );
  }
  if (chance('watcher-budget')) {
    const minAvailable = random.pick([1, replicas - 1, replicas]);
    const budget = { minAvailable, selector: { matchLabels: labels } };
    deeds.push(
      create(0, 'poddisruptionbudgets', app, 'policy/v1', 'PodDisruptionBudget', {
        metadata: meta(app),
        spec: budget,
      }),
    );
  }
  deeds.push(...edits(app, config, resource as string, { random, features, duration }));
  return deeds;
}

function drawWatcherSpec(app: string, config: string, random: Random, features: ReadonlySet<Feature>): Json {
  const chance = (feature: Feature) => features.has(feature) && random.chance(0.5);
  const quiet = random.pick(['0s', '500ms', '2s', '2s']);
  const type = chance('watcher-rollout')
    ? 'RolloutRestart'
    : chance('watcher-delete-strategy')
      ? 'Delete'
      : 'Evict';
  const cooldown = features.has('watcher-cooldown')
    ? { base: random.pick(['5s', '30s']), max: random.pick(['1m', '10m']) }
    : { base: '0s', max: '0s' };
  const strategy: Json = {
    type,
    maxUnavailable: random.pick([1, '25%', '50%', '100%']),
    progressDeadlineSeconds: random.pick([10, 60, 600]),
    ...(features.has('watcher-bare-pods') && { unmanagedPods: random.pick(['Skip', 'Delete']) }),
  };
  const sources = features.has('watcher-sources') && {
    sources: [{ kind: 'ConfigMap', name: `${app}-extra`, optional: random.chance(0.5) }],
  };
  return {
    configMap: config,
    podSelector: { app },
    strategy,
    debounce: { quiet, max: '30s' },
    cooldown,
    ...sources,
    ...(chance('watcher-keys') && { keys: ['message'] }),
    ...(chance('watcher-window') && { windows: [{ schedule: '*/5 * * * *', duration: '2m' }] }),
    ...(chance('watcher-suspend') && { suspend: random.chance(0.5) }),
    ...(random.chance(0.1) && { dryRun: true }),
  };
}

/** What people do to the source, the watcher and the workload. */
function edits(app: string, config: string, workload: string, { random, features, duration }: Draw): Deed[] {
  const deeds: Deed[] = [];
  const chance = (feature: Feature) => features.has(feature) && random.chance(0.6);
  const later = () => random.integer(duration);
  const patch = (at: number, resource: string, name: string, body: object): Deed => ({
    at,
    do: 'patch',
    resource,
    name,
    body,
  });
  const write = (at: number, message: string) => patch(at, 'configmaps', config, { data: { message } });
  const value = () => drawValue(random, features);
  for (let count = random.integer(4); count > 0; count--) deeds.push(write(later(), value()));
  if (chance('watcher-revert')) {
    const [at, gap] = [later(), random.pick([10, 300, 1500, 4000, 20_000])];
    const [one, other] = [value(), value()];
    deeds.push(write(at, one), write(at + gap, other), write(at + 2 * gap, one));
  }
  if (chance('watcher-storm')) {
    const at = later();
    for (let index = 0; index < 20; index++) deeds.push(write(at + index * 20, value()));
  }
  if (chance('watcher-idle-edit')) {
    deeds.push(
      patch(later(), 'configmaps', config, {
        metadata: { labels: { touched: String(random.integer(100)) } },
      }),
    );
  }
  if (chance('watcher-keys')) {
    deeds.push(
      patch(later(), 'configmaps', config, { data: { other: `${configCanary}-${random.integer(9)}` } }),
    );
  }
  if (chance('watcher-recreate-source')) {
    const at = later();
    const data = { message: value(), other: configCanary };
    deeds.push({ at, do: 'delete', resource: 'configmaps', name: config });
    deeds.push(
      create(at + random.pick([1, 2000, 20_000]), 'configmaps', config, 'v1', 'ConfigMap', {
        metadata: meta(config),
        data,
      }),
    );
  }
  if (chance('watcher-suspend')) {
    deeds.push(
      patch(later(), 'configwatchers', app, { spec: { suspend: true } }),
      patch(later(), 'configwatchers', app, { spec: { suspend: false } }),
    );
  }
  if (chance('watcher-scale') && workload !== 'daemonsets') {
    deeds.push(patch(later(), workload, app, { spec: { replicas: random.integer(6) } }));
  }
  if (chance('watcher-rollout')) {
    const annotations = { 'kubectl.kubernetes.io/restartedAt': String(random.integer(1000)) };
    deeds.push(patch(later(), workload, app, { spec: { template: { metadata: { annotations } } } }));
  }
  if (chance('watcher-edit')) {
    deeds.push(
      patch(later(), 'configwatchers', app, {
        spec: { strategy: { maxUnavailable: random.pick([1, '100%']) } },
      }),
    );
    if (random.chance(0.3)) {
      const at = later();
      const spec = drawWatcherSpec(app, config, random, features);
      deeds.push({ at, do: 'delete', resource: 'configwatchers', name: app });
      deeds.push(
        create(at + 1000, 'configwatchers', app, 'k8spatterns.io/v1', 'ConfigWatcher', {
          metadata: meta(app),
          spec,
        }),
      );
    }
  }
  return deeds;
}
