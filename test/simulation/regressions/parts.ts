/** What regressions are made of: objects, and what is done to them. */
import type { Creation, Deed, FaultPlan, Plan } from '../plan/plan.ts';

export interface Regression {
  readonly sentence: string;
  /** The promise that it broke. */
  readonly promise: string;
  readonly plan: Partial<Plan>;
}

export const minute = 60_000;
const metadata = (name: string) => ({ name, namespace: 'shop' });

export function at(name: string, spec: object, when = 1): Creation {
  const past = '2019-04-12T10:12:00Z';
  const object = {
    apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
    kind: 'At',
    metadata: metadata(name),
    spec: { schedule: past, command: 'job --for=1000', ...spec },
  };
  return { at: when, do: 'create', resource: 'ats', name, object };
}

export function pod(name: string, when = 1): Deed {
  const spec = { containers: [{ name: 'main', image: 'busybox', command: ['serve'] }] };
  const object = { apiVersion: 'v1', kind: 'Pod', metadata: metadata(name), spec };
  return { at: when, do: 'create', resource: 'pods', name, object };
}

/** A container that reads the app's ConfigMap. */
const container = {
  ...{ name: 'main', image: 'shop', command: ['serve', '--ready-after=500', '--breaks-with=bad'] },
  readinessProbe: {},
  envFrom: [{ configMapRef: { name: 'app' } }],
};

/** A DaemonSet with its ConfigMap and its watcher. */
export function app(spec: object): Deed[] {
  const create = (resource: string, apiVersion: string, kind: string, rest: object): Deed => {
    const object = { apiVersion, kind, metadata: { ...metadata('app'), labels: { app: 'app' } }, ...rest };
    return { at: 0, do: 'create', resource, name: 'app', object };
  };
  const template = {
    metadata: { labels: { app: 'app' } },
    spec: { containers: [container], terminationGracePeriodSeconds: 1 },
  };
  const selector = { matchLabels: { app: 'app' } };
  const watcher = {
    ...{ configMap: 'app', podSelector: { app: 'app' }, strategy: { maxUnavailable: '50%' } },
    ...{ cooldown: { base: '0s', max: '0s' }, ...spec },
  };
  return [
    create('configmaps', 'v1', 'ConfigMap', { data: { message: 'one', other: 'one' } }),
    create('daemonsets', 'apps/v1', 'DaemonSet', { spec: { selector, template } }),
    create('configwatchers', 'k8spatterns.io/v1', 'ConfigWatcher', { spec: watcher }),
  ];
}

/** A Pod with these labels that reads the app's ConfigMap, and that nothing controls. */
export function barePod(labels: object): Deed {
  const object = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata('bare'), labels } },
    spec: { containers: [container] },
  };
  return { at: 0, do: 'create', resource: 'pods', name: 'bare', object };
}

/** Two Pods that read the app's ConfigMap. */
export function owner(
  resource: 'deployments' | 'statefulsets',
  name: string,
  label: string,
  rest: object = {},
): Deed {
  const kind = resource === 'deployments' ? 'Deployment' : 'StatefulSet';
  const labels = { app: label, part: name };
  const template = {
    metadata: { labels },
    spec: { containers: [container], terminationGracePeriodSeconds: 1 },
  };
  const spec = { selector: { matchLabels: labels }, template, replicas: 2, ...rest };
  const object = { apiVersion: 'apps/v1', kind, metadata: metadata(name), spec };
  return { at: 0, do: 'create', resource, name, object };
}

/** Another watcher of the app's ConfigMap, with no Pods. */
export function watcher(name: string, when: number): Deed {
  const spec = { configMap: 'app', podSelector: { app: name } };
  const object = { apiVersion: 'k8spatterns.io/v1', kind: 'ConfigWatcher', metadata: metadata(name), spec };
  return { at: when, do: 'create', resource: 'configwatchers', name, object };
}

/** A Deployment whose ConfigMap names the Pods itself. */
export function annotatedApp(): Deed[] {
  const annotations = { 'k8spatterns.io/podDeleteSelector': 'app=app' };
  const deeds: Deed[] = [];
  for (const deed of app({})) {
    if (deed.do !== 'create' || deed.resource === 'configwatchers') continue;
    const { spec } = deed.object as { readonly spec?: object };
    const object =
      deed.resource === 'configmaps'
        ? { ...deed.object, metadata: { ...metadata('app'), annotations } }
        : { ...deed.object, kind: 'Deployment', spec: { ...spec, replicas: 3 } };
    deeds.push({ ...deed, resource: deed.resource.replace('daemonsets', 'deployments'), object });
  }
  return deeds;
}

/** The workload that this makes asks by its annotations for a ConfigWatcher for the app's ConfigMap. */
export function asking(deed: Deed, options: object = {}): Deed {
  if (deed.do !== 'create') throw new TypeError('only a workload that is made can ask');
  const annotations = {
    ...{ 'k8spatterns.io/restart-on-change': 'configmap/app' },
    ...{ 'k8spatterns.io/restart-options': JSON.stringify(options) },
  };
  return { ...deed, object: { ...deed.object, metadata: { ...metadata(deed.name), annotations } } };
}

/** The app, whose DaemonSet asks for its ConfigWatcher. */
export function askingApp(): Deed[] {
  return app({}).flatMap((deed) => {
    if (deed.do !== 'create' || deed.resource === 'configwatchers') return [];
    return [deed.resource === 'daemonsets' ? asking(deed) : deed];
  });
}

/** It asks no more. */
export function askNoMore(when: number): Deed {
  const annotations = { 'k8spatterns.io/restart-on-change': null };
  return { at: when, do: 'patch', resource: 'daemonsets', name: 'app', body: { metadata: { annotations } } };
}

export function configMap(name: string, data: object, when: number): Deed {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata(name), data };
  return { at: when, do: 'create', resource: 'configmaps', name, object };
}

/** No Pod of the app may be missing. */
export function budget(name: string): Deed {
  const spec = { minAvailable: '100%', selector: { matchLabels: { app: name } } };
  const object = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: metadata(name), spec };
  return { at: 0, do: 'create', resource: 'poddisruptionbudgets', name, object };
}

/** A quota has no room for Pods, for so long. */
export function fullQuota(when: number, length: number): FaultPlan {
  const message = 'exceeded quota: small, requested: pods=1, used: pods=7, limited: pods=7';
  const create = { method: 'POST', path: '/pods', code: 403, message } as const;
  return { at: when, fault: 'refuse', ...create, for: length };
}

/** The first Pod of the At `at-0` meets that. */
export function podMeets(when: number, what: 'delete' | 'force-delete' | 'strip-owner' | 'evict'): Deed {
  return { at: when, do: 'pod', label: ['app', 'at-0'], index: 0, what };
}

/** The watcher of the app gets other fields. */
export function editWatcher(when: number, spec: object): Deed {
  return { at: when, do: 'patch', resource: 'configwatchers', name: 'app', body: { spec } };
}

export function edit(when: number, data: object): Deed {
  return { at: when, do: 'patch', resource: 'configmaps', name: 'app', body: { data } };
}
