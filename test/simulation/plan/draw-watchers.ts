/** Draws ConfigWatchers, the workloads that they restart, and what people do to either. */
import type { Random } from '../../../src/testing/random.ts';
import type { Draw } from './draw-ats.ts';
import { drawEdits } from './draw-watcher-edits.ts';
import type { Feature } from './features.ts';
import type { Deed } from './plan.ts';
import {
  type AppParts,
  configCanary,
  create,
  drawAsking,
  drawValue,
  drawWatcherSpec,
  type Json,
  kinds,
  meta,
  type Owner,
  patchOf,
  secretCanary,
} from './watcher-parts.ts';

export function drawWatchers(draw: Draw): Deed[] {
  const { random, features, duration } = draw;
  if (!features.has('watcher')) return [];
  const apps = 1 + random.integer(features.has('watcher-sources') ? 4 : 2);
  const deeds: Deed[] = [];
  for (let index = 0; index < apps; index++) deeds.push(...drawApp(`app-${index}`, draw));
  if (features.has('watcher-bare-pods')) {
    const spec = podSpec('app-0', ['app-0-config'], [], random);
    deeds.push(create(0, 'pods', 'bare', 'v1', 'Pod', { metadata: meta('bare', { app: 'app-0' }), spec }));
  }
  if (features.has('watcher-selector') && random.chance(0.5)) {
    const at = random.integer(duration);
    deeds.push(
      patchOf(at, 'configwatchers', 'app-0', { spec: { podSelector: { app: 'app-1' } } }),
      // While a change is owed to the Pods that it leaves out.
      patchOf(Math.max(1, at - random.pick([300, 1500, 5000])), 'configmaps', 'app-0-config', {
        data: { message: drawValue(random, features) },
      }),
    );
  }
  return deeds;
}

function podSpec(
  name: string,
  configMaps: readonly string[],
  secrets: readonly string[],
  random: Random,
): Json {
  const ready = random.pick([0, 500, 3000]);
  const envFrom = [
    ...configMaps.map((name) => ({ configMapRef: { name, optional: true } })),
    ...secrets.map((name) => ({ secretRef: { name, optional: true } })),
  ];
  // A container without a probe that crashes is Ready for a moment each time.
  const probe = random.fork(`probe ${name}`).chance(0.8)
    ? { command: ['serve', `--ready-after=${ready}`, '--breaks-with=bad'], readinessProbe: {} }
    : { command: ['serve', '--breaks-with=bad'] };
  const main = { name: 'main', image: 'shop', envFrom, ...probe };
  return { containers: [main], terminationGracePeriodSeconds: random.pick([0, 1, 5]) };
}

/** An application with its ConfigMap and ConfigWatcher, and what people do to them. */
export function drawApp(name: string, draw: Draw): Deed[] {
  const random = draw.random.fork(name);
  const { features, duration } = draw;
  const own = { random, features, duration };
  const app = partsOf(name, own);
  const deeds = [...objectsOf(app, own), ...watcherDeeds(app, own)];
  if (app.hasSecret) deeds.push(...secretOf(`${name}-secret`, random, duration));
  return [...deeds, ...drawEdits(app, own)];
}

function partsOf(name: string, { random, features }: Draw): AppParts {
  const chance = (feature: Feature) => features.has(feature) && random.chance(0.5);
  const workload = chance('watcher-stateful')
    ? 'statefulsets'
    : chance('watcher-daemon')
      ? 'daemonsets'
      : 'deployments';
  const others = features.has('watcher-owners') ? 1 + random.integer(2) : 0;
  const owners: Owner[] = [
    { name, workload, labels: { app: name, ...(others > 0 && { part: 'main' }) } },
    ...Array.from({ length: others }, (_, index) => ({
      name: `${name}-${index}`,
      workload: random.pick(['deployments', 'deployments', 'statefulsets'] as const),
      labels: { app: name, part: String(index) },
    })),
  ];
  const isAsking = chance('watcher-of-workload');
  return {
    ...{ name, config: `${name}-config`, workload, owners, replicas: 1 + random.integer(5), isAsking },
    ...{ hasSecret: chance('watcher-secret'), isAnnotated: !isAsking && chance('watcher-annotated') },
    watcher: isAsking ? `${kinds[workload].toLowerCase()}-${name}` : name,
  };
}

/** The workload and all that there is for it. */
function objectsOf(app: AppParts, { random, features }: Draw): Deed[] {
  const { name, config, replicas, isAnnotated } = app;
  const chance = (feature: Feature) => features.has(feature) && random.chance(0.5);
  const extra = `${name}-extra`;
  const configs = [config, ...(features.has('watcher-sources') ? [extra] : [])];
  const annotations = isAnnotated ? { annotations: { [selectorAnnotation]: `app=${name}` } } : {};
  const data = { message: drawValue(random, new Set()), other: configCanary };
  const source = { metadata: { ...meta(config), ...annotations }, data };
  const deeds = [
    create(0, 'configmaps', config, 'v1', 'ConfigMap', source),
    ...app.owners.map((owner) => workloadOf(owner, app, configs, { random, features })),
  ];
  if (features.has('watcher-sources')) {
    const other = { metadata: meta(extra), data: { one: configCanary } };
    deeds.push(create(0, 'configmaps', extra, 'v1', 'ConfigMap', other));
  }
  if (chance('watcher-budget')) {
    const minAvailable = random.pick([1, replicas - 1, replicas, '100%']);
    const budget = { metadata: meta(name), spec: { minAvailable, selector: { matchLabels: { app: name } } } };
    deeds.push(create(0, 'poddisruptionbudgets', name, 'policy/v1', 'PodDisruptionBudget', budget));
  }
  return deeds;
}

function workloadOf(
  { name, workload, labels }: Owner,
  app: AppParts,
  configs: readonly string[],
  { random, features }: Pick<Draw, 'random' | 'features'>,
): Deed {
  const { replicas, hasSecret } = app;
  const secrets = hasSecret ? [`${app.name}-secret`] : [];
  const isOnDelete = features.has('watcher-on-delete') && random.chance(0.5);
  const spec = {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: podSpec(name, configs, secrets, random) },
    ...(workload !== 'daemonsets' && { replicas }),
    ...(workload === 'statefulsets' && { serviceName: name }),
    ...(workload !== 'deployments' && isOnDelete && { updateStrategy: { type: 'OnDelete' } }),
    ...(features.has('watcher-rollout-pace') && random.chance(0.5) && paceOf(workload, isOnDelete, random)),
  };
  const asks = app.isAsking && name === app.name;
  const annotations = asks ? { annotations: drawAsking(app, random, features) } : {};
  const metadata = { ...meta(name, labels), ...annotations };
  return create(0, workload, name, 'apps/v1', kinds[workload], { metadata, spec });
}

/** How its own controller replaces its Pods. */
function paceOf(workload: Owner['workload'], isOnDelete: boolean, random: Random): Json {
  const minReadySeconds = random.pick([0, 1, 5, 15]);
  if (workload === 'deployments') {
    const [maxSurge, maxUnavailable] = random.pick([
      [0, 1],
      [1, 0],
      ['100%', 0],
      [0, '100%'],
    ]);
    const rollingUpdate = { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } };
    return { minReadySeconds, strategy: random.chance(0.2) ? { type: 'Recreate' } : rollingUpdate };
  }
  const isParallel = workload === 'statefulsets' && random.chance(0.5);
  const rollingUpdate =
    workload === 'statefulsets'
      ? { partition: random.pick([0, 1, 2]) }
      : random.pick([{ maxUnavailable: 2 }, { maxSurge: 1, maxUnavailable: 0 }]);
  return {
    minReadySeconds,
    ...(isParallel && { podManagementPolicy: 'Parallel' }),
    ...(!isOnDelete && { updateStrategy: { type: 'RollingUpdate', rollingUpdate } }),
  };
}

function watcherDeeds(app: AppParts, { random, features, duration }: Draw): Deed[] {
  if (app.isAnnotated || app.isAsking) return [];
  const at = random.chance(0.7) ? 1 : random.integer(duration);
  const watcher = { metadata: meta(app.name), spec: drawWatcherSpec(app, random, features) };
  return [create(at, 'configwatchers', app.name, 'k8spatterns.io/v1', 'ConfigWatcher', watcher)];
}

const selectorAnnotation = 'k8spatterns.io/podDeleteSelector';

/** A Secret, and an edit of it. */
function secretOf(name: string, random: Random, duration: number): Deed[] {
  const data = () => ({ password: btoa(`${secretCanary}-${random.integer(6)}`) });
  const made = create(0, 'secrets', name, 'v1', 'Secret', { metadata: meta(name), data: data() });
  return [made, patchOf(random.integer(duration), 'secrets', name, { data: data() })];
}
