/** What an application with a ConfigWatcher is made of. */
import type { Random } from '../../../src/testing/random.ts';
import { namespace } from './draw-ats.ts';
import type { Feature } from './features.ts';
import type { Deed } from './plan.ts';

export const configCanary = 'c4nary-config';
export const secretCanary = 'c4nary-secret';

export type Json = Record<string, unknown>;

export const meta = (name: string, labels: Record<string, string> = {}) => ({ name, namespace, labels });

/** A value of a ConfigMap. One that contains `bad` breaks the programs that read it. */
export function drawValue(random: Random, features: ReadonlySet<Feature>): string {
  const isBad = features.has('watcher-bad-content') && random.chance(0.3);
  return `${configCanary}-${isBad ? 'bad' : 'good'}-${random.integer(6)}`;
}

export function create(
  at: number,
  resource: string,
  name: string,
  apiVersion: string,
  kind: string,
  rest: Json,
): Deed {
  return { at, do: 'create', resource, name, object: { apiVersion, kind, ...rest } };
}

/** Plural and kind of the workloads. */
export const kinds = {
  deployments: 'Deployment',
  statefulsets: 'StatefulSet',
  daemonsets: 'DaemonSet',
} as const;

export interface Owner {
  readonly name: string;
  readonly workload: keyof typeof kinds;
  readonly labels: Readonly<Record<string, string>>;
}

export interface AppParts {
  readonly name: string;
  /** Name of its ConfigMap. */
  readonly config: string;
  readonly workload: keyof typeof kinds;
  /** All of its workloads, the first one under its own name; each selects its own Pods, and the watcher all of them. */
  readonly owners: readonly Owner[];
  readonly replicas: number;
  readonly hasSecret: boolean;
  /** Its ConfigMap is its watcher. */
  readonly isAnnotated: boolean;
  /** Name of its ConfigWatcher. */
  readonly watcher: string;
  /** Its first workload asks for the ConfigWatcher, and the operator makes it. */
  readonly isAsking: boolean;
}

export function patchOf(at: number, resource: string, name: string, body: object): Deed {
  return { at, do: 'patch', resource, name, body };
}

/** What the annotations of a workload say that has a ConfigWatcher made for itself. */
export function drawAsking(
  app: AppParts,
  random: Random,
  features: ReadonlySet<Feature>,
): Readonly<Record<string, string>> {
  const { strategy, debounce, cooldown, windows, suspend, dryRun } = drawWatcherSpec(app, random, features);
  return {
    'k8spatterns.io/restart-on-change': random.pick(['referenced', `configmap/${app.config}`]),
    'k8spatterns.io/restart-options': JSON.stringify({
      ...{ strategy, debounce, cooldown, windows, suspend, dryRun },
    }),
  };
}

const cooldowns = [
  { base: '5s', max: '1m' },
  { base: '5s', max: '10m' },
  { base: '30s', max: '1m' },
  { base: '30s', max: '10m' },
  { base: '2m', max: '10m' },
];

export function drawWatcherSpec(
  { name: app, config, hasSecret }: AppParts,
  random: Random,
  features: ReadonlySet<Feature>,
): Json {
  const chance = (feature: Feature) => features.has(feature) && random.chance(0.5);
  const quiet = random.pick(['0s', '500ms', '2s', '2s', '10s']);
  const type = chance('watcher-rollout')
    ? random.pick(['RolloutRestart', 'Auto'])
    : chance('watcher-delete-strategy')
      ? 'Delete'
      : random.pick(['Auto', 'Auto', 'Evict']);
  const cooldown = features.has('watcher-cooldown') ? random.pick(cooldowns) : { base: '0s', max: '0s' };
  const strategy: Json = {
    type,
    maxUnavailable: random.pick([1, '25%', '50%', '100%']),
    progressDeadlineSeconds: random.pick([10, 60, 600]),
    ...(features.has('watcher-bare-pods') && { unmanagedPods: random.pick(['Skip', 'Delete']) }),
  };
  const sources = [
    ...(features.has('watcher-sources')
      ? [{ kind: 'ConfigMap', name: `${app}-extra`, optional: random.chance(0.5) }]
      : []),
    ...(hasSecret ? [{ kind: 'Secret', name: `${app}-secret`, optional: random.chance(0.5) }] : []),
  ];
  return {
    configMap: config,
    podSelector: { app },
    strategy,
    debounce: { quiet, max: '30s' },
    cooldown,
    ...(sources.length > 0 && { sources }),
    ...(chance('watcher-options') && { onDelete: 'Restart' }),
    ...(chance('watcher-options') && { onlyReferencing: true }),
    ...(chance('watcher-options') && {
      podSelectorExpressions: [{ key: 'app', operator: 'In', values: [app, 'other'] }],
    }),
    ...(chance('watcher-keys') && { keys: ['message'] }),
    ...(chance('watcher-window') && { windows: [{ schedule: '*/5 * * * *', duration: '2m' }] }),
    ...(chance('watcher-suspend') && { suspend: random.chance(0.5) }),
    ...(random.chance(0.1) && { dryRun: true }),
  };
}
