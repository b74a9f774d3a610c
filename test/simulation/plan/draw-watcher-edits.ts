/** Draws what people do to the source, the watcher and the workload of an application. */
import { type Draw, namespace } from './draw-ats.ts';
import type { Feature } from './features.ts';
import type { Deed } from './plan.ts';
import {
  type AppParts,
  configCanary,
  create,
  drawAsking,
  drawValue,
  drawWatcherSpec,
  meta,
  patchOf,
} from './watcher-parts.ts';

interface EditDraw extends Draw {
  readonly app: AppParts;
}

export function drawEdits(app: AppParts, draw: Draw): Deed[] {
  const own: EditDraw = { ...draw, app };
  const { random, features } = draw;
  const plain = Array.from({ length: random.integer(4) }, () => write(own, later(own), value(own)));
  const chosen = Object.entries(makers).flatMap(([feature, make]) =>
    features.has(feature as Feature) && random.chance(0.6) ? make(own) : [],
  );
  return [...plain, ...chosen];
}

const later = ({ random, duration }: EditDraw) => random.integer(duration);
const value = ({ random, features }: EditDraw) => drawValue(random, features);

function write({ app }: EditDraw, at: number, message: string): Deed {
  return patchOf(at, 'configmaps', app.config, { data: { message } });
}

const makers: Partial<Readonly<Record<Feature, (draw: EditDraw) => Deed[]>>> = {
  'watcher-revert': (draw) => {
    const [at, gap] = [later(draw), draw.random.pick([10, 300, 1500, 4000, 20_000])];
    const [one, other] = [value(draw), value(draw)];
    const edits = [write(draw, at, one), write(draw, at + gap, other), write(draw, at + 2 * gap, one)];
    // The Pod that comes instead starts with the content in between.
    const index = draw.random.integer(3);
    const label = ['app', draw.app.name] as const;
    return draw.random.chance(0.5)
      ? [...edits, { at: at + gap + 20, do: 'pod', label, index, what: 'force-delete' }]
      : edits;
  },
  // As a chart's next version does: the owner's own rollout replaces the Pods that are stale.
  'watcher-upgrade': (draw) => {
    const { name, workload } = draw.random.pick(draw.app.owners);
    const at = later(draw);
    const annotations = { version: String(draw.random.integer(1000)) };
    const after = draw.random.pick([1, 300, 1500]);
    return [
      write(draw, at, value(draw)),
      patchOf(at + after, workload, name, { spec: { template: { metadata: { annotations } } } }),
    ];
  },
  'watcher-storm': (draw) => {
    const at = later(draw);
    return Array.from({ length: 20 }, (_, index) => write(draw, at + index * 20, value(draw)));
  },
  // The second one has to wait.
  'watcher-cooldown': (draw) => {
    const at = later(draw);
    return [0, 8000, 20_000].map((after) => write(draw, at + after, value(draw)));
  },
  'watcher-idle-edit': (draw) => {
    const labels = { touched: String(draw.random.integer(100)) };
    return [patchOf(later(draw), 'configmaps', draw.app.config, { metadata: { labels } })];
  },
  'watcher-keys': (draw) => {
    const data = { other: `${configCanary}-${draw.random.integer(9)}` };
    return [patchOf(later(draw), 'configmaps', draw.app.config, { data })];
  },
  'watcher-recreate-source': (draw) => {
    const { config } = draw.app;
    const [at, gap] = [later(draw), draw.random.pick([1, 2000, 20_000, 120_000])];
    // An edit of another source meets the one that is missing.
    const other = { data: { one: `${configCanary}-${draw.random.integer(9)}` } };
    const extra = patchOf(at + draw.random.integer(gap), 'configmaps', `${draw.app.name}-extra`, other);
    const again = { metadata: meta(config), data: { message: value(draw), other: configCanary } };
    return [
      { at, do: 'delete', resource: 'configmaps', name: config },
      ...(draw.features.has('watcher-sources') ? [extra] : []),
      create(at + gap, 'configmaps', config, 'v1', 'ConfigMap', again),
    ];
  },
  // It is replaced under its name, twice.
  'watcher-immutable': (draw) => {
    const { config } = draw.app;
    const at = later(draw);
    const gap = draw.random.pick([1, 500, 5000]);
    return [0, 30_000].flatMap((after): Deed[] => {
      const data = { message: value(draw), other: configCanary };
      const again = { metadata: meta(config), data, immutable: true };
      return [
        { at: at + after, do: 'delete', resource: 'configmaps', name: config },
        create(at + after + gap, 'configmaps', config, 'v1', 'ConfigMap', again),
      ];
    });
  },
  // While a change is owed what has changed is not watched any more, or some Pods are not selected, and then it is as before.
  'watcher-abandon': (draw) => {
    const { app, random } = draw;
    if (app.isAnnotated || app.isAsking) return [];
    const [at, name] = [later(draw), `${app.name}-instead`];
    const data = { message: configCanary };
    const after = random.pick([500, 2500, 4000, 8000]);
    const edit = (when: number, spec: object) => patchOf(when, 'configwatchers', app.watcher, { spec });
    const unlabeled = [{ key: 'app', operator: 'DoesNotExist' }];
    const narrow = random.pick([
      { configMap: name },
      { podSelectorExpressions: unlabeled },
      { podSelectorExpressions: byTemplate('DoesNotExist') },
    ]);
    return [
      create(at, 'configmaps', name, 'v1', 'ConfigMap', { metadata: meta(name), data }),
      write(draw, at, `${configCanary}-good-${10 + random.integer(90)}`),
      edit(at + after, narrow),
      edit(at + after + random.pick([5000, 60_000, 300_000]), {
        configMap: app.config,
        podSelectorExpressions: null,
      }),
    ];
  },
  'watcher-suspend': (draw) =>
    [true, false].map((suspend) =>
      patchOf(later(draw), 'configwatchers', draw.app.watcher, { spec: { suspend } }),
    ),
  'watcher-scale': (draw) => {
    const { name, workload } = draw.random.pick(draw.app.owners);
    const replicas = draw.random.integer(6);
    return workload === 'daemonsets' ? [] : [patchOf(later(draw), workload, name, { spec: { replicas } })];
  },
  'watcher-rollout': (draw) => {
    const { name, workload } = draw.random.pick(draw.app.owners);
    const annotations = { 'kubectl.kubernetes.io/restartedAt': String(draw.random.integer(1000)) };
    return [patchOf(later(draw), workload, name, { spec: { template: { metadata: { annotations } } } })];
  },
  'watcher-paused': (draw) => {
    const { name, workload } = draw.random.pick(draw.app.owners);
    if (workload !== 'deployments') return [];
    const at = later(draw);
    return [
      patchOf(at, workload, name, { spec: { paused: true } }),
      patchOf(at + later(draw), workload, name, { spec: { paused: false } }),
    ];
  },
  'watcher-edit': editWatcher,
  // It asks for another one, for none, or for one once more.
  'watcher-of-workload': (draw) => {
    const { app, random, features } = draw;
    if (!app.isAsking) return [];
    const asking = drawAsking(app, random, features);
    const none = Object.fromEntries(Object.keys(asking).map((name) => [name, null]));
    const annotate = (at: number, annotations: object) =>
      patchOf(at, app.workload, app.name, { metadata: { annotations } });
    const at = later(draw);
    const again = annotate(at + random.pick([1, 2000, 60_000]), drawAsking(app, random, features));
    const gone = { at, do: 'delete', resource: 'configwatchers', name: app.watcher } as const;
    return random.pick([[annotate(at, asking)], [annotate(at, none)], [annotate(at, none), again], [gone]]);
  },
  // A source that is watched only from then on: its first content is no change.
  'watcher-new-source': (draw) => {
    const { app, random } = draw;
    const [at, name] = [later(draw), `${app.name}-new`];
    const data = { one: `${configCanary}-${random.integer(9)}` };
    const sources = [{ kind: 'ConfigMap', name, optional: random.chance(0.5) }];
    const gap = random.pick([-5000, 5000, 30_000]);
    return [
      create(Math.max(1, at + gap), 'configmaps', name, 'v1', 'ConfigMap', { metadata: meta(name), data }),
      ...(app.isAnnotated ? [] : [patchOf(at, 'configwatchers', app.watcher, { spec: { sources } })]),
    ];
  },
  'watcher-bad-content': (draw) => {
    const at = later(draw);
    const after = [4000, 15_000, 30_000, 75_000].filter(() => draw.random.chance(0.6));
    return [write(draw, at, `${configCanary}-bad-1`), ...after.map((ms) => mitigate(draw, at + ms))];
  },
};

/** What people do to an owner that a content has broken, before they mend the content. */
function mitigate({ app, random }: EditDraw, at: number): Deed {
  const { name, workload, labels } = random.pick(app.owners);
  const annotation = `k8spatterns.io/restarted-for.${app.watcher}`;
  const undo = { spec: { template: { metadata: { annotations: { [annotation]: null } } } } };
  const label = Object.entries(labels).at(-1) ?? (['app', app.name] as const);
  const what = random.pick(['delete', 'force-delete'] as const);
  const deletion: Deed = { at, do: 'pod', label, index: random.integer(3), what };
  return random.pick([
    deletion,
    deletion,
    patchOf(at, workload, name, undo),
    ...(workload === 'daemonsets' ? [] : [patchOf(at, workload, name, { spec: { replicas: 0 } })]),
  ]);
}

const byTemplate = (operator: string) => [{ key: 'pod-template-hash', operator }];

function editWatcher(draw: EditDraw): Deed[] {
  const { app, random, features } = draw;
  const { name, watcher } = app;
  const edits = Array.from({ length: 1 + random.integer(2) }, () => {
    const spec = random.pick([
      { strategy: { maxUnavailable: random.pick([1, '100%']) } },
      { keys: random.pick([['message'], ['other'], null]) },
      { sources: random.pick([null, [{ kind: 'ConfigMap', name: `${name}-extra`, optional: true }]]) },
      { dryRun: random.chance(0.5) },
      // It leaves out the Pods of Deployments, or those of others.
      { podSelectorExpressions: random.pick([null, byTemplate('Exists'), byTemplate('DoesNotExist')]) },
    ]);
    return patchOf(later(draw), 'configwatchers', watcher, { spec });
  });
  if (app.isAsking || !random.chance(0.3)) return edits;
  const at = later(draw);
  const metadata = { name, namespace, labels: {} };
  const again = { metadata, spec: drawWatcherSpec(app, random, features) };
  return [
    ...edits,
    { at, do: 'delete', resource: 'configwatchers', name },
    create(at + 1000, 'configwatchers', name, 'k8spatterns.io/v1', 'ConfigWatcher', again),
  ];
}
