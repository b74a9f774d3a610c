/** Scenes with ConfigWatchers: how one gets into each of the states that few of them come to, or that do not last. */
import type { Deed } from './plan.ts';
import type { SceneDraw, Scenes } from './scene.ts';
import { configCanary, create, type Json, kinds, meta, patchOf } from './watcher-parts.ts';

interface Parts {
  readonly spec?: Json;
  readonly strategy?: Json;
  readonly workload?: keyof typeof kinds;
  readonly workloadSpec?: Json;
  readonly replicas?: number;
  /** Ms until a new Pod is ready. */
  readonly ready?: number;
}

/** Ms after the beginning until all Pods are ready and the content is the baseline. */
const settled = 6000;
/** Ms after an edit until its restart is under way. */
const begun = 2500;

const value = (word: string) => ({ message: `${configCanary}-${word}` });

function write({ name }: SceneDraw, when: number, word: string): Deed {
  return patchOf(when, 'configmaps', name, { data: value(word) });
}

function configMap(name: string, when: number): Deed {
  return create(when, 'configmaps', name, 'v1', 'ConfigMap', { metadata: meta(name), data: value('good-0') });
}

function watcher(name: string, when: number, spec: Json): Deed {
  const object = { metadata: meta(name), spec };
  return create(when, 'configwatchers', name, 'k8spatterns.io/v1', 'ConfigWatcher', object);
}

function edit({ name, end }: SceneDraw, spec: Json): Deed {
  return patchOf(end, 'configwatchers', name, { spec });
}

/** It reads the application's ConfigMap. */
function containerOf(app: string, ready: number): Json {
  return {
    ...{ name: 'main', image: 'shop', readinessProbe: {} },
    envFrom: [{ configMapRef: { name: app, optional: true } }],
    command: ['serve', `--ready-after=${ready}`, '--breaks-with=bad'],
  };
}

/** A workload of that application. */
function workloadOf({ name: app, begin }: SceneDraw, name: string, parts: Parts): Deed {
  const { workload = 'deployments', replicas = 1, ready = 0, workloadSpec = {} } = parts;
  const labels = { app, part: name };
  const podSpec = { containers: [containerOf(app, ready)], terminationGracePeriodSeconds: 1 };
  const template = { metadata: { labels }, spec: podSpec };
  return create(begin, workload, name, 'apps/v1', kinds[workload], {
    metadata: meta(name, labels),
    spec: { selector: { matchLabels: labels }, template, replicas, ...workloadSpec },
  });
}

/** An application, its ConfigMap and its watcher. */
function app(draw: SceneDraw, parts: Parts): Deed[] {
  const { name, begin } = draw;
  const { spec = {}, strategy = {} } = parts;
  return [
    configMap(name, begin),
    workloadOf(draw, name, parts),
    watcher(name, begin + 1, {
      ...{
        configMap: name,
        podSelector: { app: name },
        strategy: { type: 'Evict', progressDeadlineSeconds: 600, ...strategy },
      },
      ...{ debounce: { quiet: '0s', max: '30s' }, cooldown: { base: '0s', max: '0s' } },
      ...spec,
    }),
  ];
}

/** The source is edited once the application is up, and the watcher waits by this part of its spec until it is edited. */
function waiting(draw: SceneDraw, spec: Json, freed: Json) {
  const deeds = [...app(draw, { spec }), write(draw, draw.begin + settled, 'good-1'), edit(draw, freed)];
  return { deeds, from: settled + 500 };
}

/** An application whose restart goes on for some time. */
function slowApp(draw: SceneDraw): Deed[] {
  return app(draw, {
    replicas: 3,
    ready: 4000,
    workload: 'statefulsets',
    workloadSpec: { serviceName: draw.name, podManagementPolicy: 'Parallel' },
    strategy: { maxUnavailable: 1 },
  });
}

export const watcherScenes: Scenes = {
  // Each stays new for the moment until the operator has seen it.
  'ConfigWatcher New': ({ name, begin }) => ({
    deeds: [configMap(name, begin)],
    from: 1000,
    nudge: (when, index) =>
      watcher(`${name}-${index}`, when, { configMap: name, podSelector: { app: 'none' } }),
  }),
  'ConfigWatcher Debounce': (draw) =>
    waiting(draw, { debounce: { quiet: '5m', max: '10m' } }, { debounce: { quiet: '0s' } }),
  // The second edit has to wait.
  'ConfigWatcher Cooldown': (draw) => {
    const spec = { cooldown: { base: '5m', max: '10m' } };
    const { deeds } = waiting(draw, spec, { cooldown: { base: '0s' } });
    const at = settled + 6000;
    return { deeds: [...deeds, write(draw, draw.begin + at, 'good-2')], from: at + 500 };
  },
  // It is open in June.
  'ConfigWatcher Window': (draw) =>
    waiting(draw, { windows: [{ schedule: '0 0 1 6 *', duration: '1h' }] }, { windows: null }),
  'ConfigWatcher Suspended': (draw) => waiting(draw, { suspend: true }, { suspend: false }),
  'ConfigWatcher DryRun': (draw) => waiting(draw, { dryRun: true }, { dryRun: false }),
  // An edit of another source meets the one that is missing.
  'ConfigWatcher SourceMissing': (draw) => {
    const { name, begin, end } = draw;
    const [extra, at] = [`${name}-extra`, begin + settled];
    const sources = [{ kind: 'ConfigMap', name: extra }];
    return {
      deeds: [
        configMap(extra, begin),
        ...app(draw, { spec: { sources } }),
        { at, do: 'delete', resource: 'configmaps', name },
        patchOf(at + 500, 'configmaps', extra, { data: value('good-1') }),
        configMap(name, end),
      ],
      from: settled + 1000,
    };
  },
  'ConfigWatcher InProgress': (draw) => ({
    deeds: [
      ...slowApp(draw),
      write(draw, draw.begin + settled, 'good-1'),
      write(draw, draw.begin + settled + 25_000, 'good-2'),
    ],
    ...{ from: settled + begun, until: settled + 40_000, writes: [['POST', '/eviction']] },
  }),
  'ConfigWatcher RolloutInProgress': (draw) => ({
    deeds: [
      ...app(draw, { replicas: 2, ready: 20_000, strategy: { type: 'RolloutRestart' } }),
      write(draw, draw.begin + settled, 'good-1'),
    ],
    ...{ from: settled + begun, until: settled + 40_000, writes: [['PATCH', '/deployments/']] },
  }),
  'ConfigWatcher EvictionBlocked': (draw) => {
    const { name, begin, end } = draw;
    const spec = { minAvailable: '100%', selector: { matchLabels: { app: name } } };
    return {
      deeds: [
        ...app(draw, {}),
        create(begin, 'poddisruptionbudgets', name, 'policy/v1', 'PodDisruptionBudget', {
          metadata: meta(name),
          spec,
        }),
        write(draw, begin + settled, 'good-1'),
        { at: end, do: 'delete', resource: 'poddisruptionbudgets', name },
      ],
      ...{ from: settled + begun, writes: [['POST', '/eviction']] },
    };
  },
  // What people do to the owner that is broken takes it out of that state no more than others get the content.
  'ConfigWatcher NewPodsNotAvailable': (draw) => {
    const { name, begin, end, random } = draw;
    const type = random.pick(['Evict', 'Evict', 'RolloutRestart']);
    const strategy = { type, progressDeadlineSeconds: 10 };
    const patch = (body: object) => patchOf(begin + settled + 25_000, 'deployments', name, { spec: body });
    const annotations = { [`k8spatterns.io/restarted-for.${name}`]: null };
    return {
      deeds: [
        ...app(draw, { replicas: 2, strategy }),
        workloadOf(draw, `${name}-more`, { replicas: 3 }),
        write(draw, begin + settled, 'bad-1'),
        random.pick([patch({ replicas: 0 }), patch({ template: { metadata: { annotations } } })]),
        write(draw, end, 'good-1'),
      ],
      from: settled + 15_000,
    };
  },
  // What has changed is not watched any more, or no Pod selected.
  'ConfigWatcher RestartAbandoned': (draw) => {
    const { name, begin } = draw;
    const [other, at] = [`${name}-other`, begin + settled];
    const spec = draw.random.pick([
      { configMap: other },
      { podSelectorExpressions: [{ key: 'app', operator: 'DoesNotExist' }] },
    ]);
    return {
      deeds: [
        ...slowApp(draw),
        configMap(other, begin),
        write(draw, at, 'good-1'),
        patchOf(at + begun, 'configwatchers', name, { spec }),
      ],
      from: settled + begun + 3000,
    };
  },
  // A Pod that nobody restarts keeps the old object alive on its node.
  'ConfigWatcher ContentUncertain': (draw) => {
    const { name, begin, end } = draw;
    const [bare, at] = [`${name}-bare`, begin + settled];
    const again = { metadata: meta(name), data: value('good-1'), immutable: true };
    return {
      deeds: [
        ...app(draw, {}),
        create(begin, 'pods', bare, 'v1', 'Pod', {
          metadata: meta(bare, { app: name }),
          spec: { containers: [containerOf(name, 0)], terminationGracePeriodSeconds: 1 },
        }),
        patchOf(begin + 2000, 'configmaps', name, { immutable: true }),
        { at, do: 'delete', resource: 'configmaps', name },
        create(at + 100, 'configmaps', name, 'v1', 'ConfigMap', again),
        { at: end, do: 'delete', resource: 'pods', name: bare },
      ],
      from: settled + 15_000,
    };
  },
  // A rollout that is paused, or that waits until each Pod is deleted.
  'ConfigWatcher Stalled': (draw) => {
    const { name, begin, end } = draw;
    const strategy = { type: 'RolloutRestart' };
    const isPaused = draw.random.chance(0.5);
    const workload = isPaused ? 'deployments' : 'statefulsets';
    const held = isPaused ? { paused: true } : { updateStrategy: { type: 'OnDelete' } };
    const freed = isPaused ? { paused: false } : { updateStrategy: { type: 'RollingUpdate' } };
    const workloadSpec = isPaused ? {} : { serviceName: name };
    return {
      deeds: [
        ...app(draw, { workload, strategy, workloadSpec }),
        patchOf(begin + settled - 1000, workload, name, { spec: held }),
        write(draw, begin + settled, 'good-1'),
        patchOf(end, workload, name, { spec: freed }),
      ],
      from: settled + begun,
    };
  },
};
