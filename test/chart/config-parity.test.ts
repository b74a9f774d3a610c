/**
 * The chart against config/: both give the same objects, whatever is switched on. What Helm itself wants otherwise
 * is listed here with its reason, and nothing else may differ.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { findKubectl } from '../../local-cluster/programs.ts';
import { inOverlay, type Overlay } from '../integration/overlay.ts';
import { objectsIn, type Rendered, render, skip } from './helm.ts';

interface Row {
  readonly overlay: Overlay;
  readonly values: object;
  readonly release?: string;
}

const on = { enabled: true };
const monitoring = { metrics: on, serviceMonitor: on, prometheusRule: on, dashboard: on };

const rows: Readonly<Record<string, Row>> = {
  'config/default': { overlay: { resources: ['default'] }, values: {} },
  'config/high-availability': { overlay: { resources: ['high-availability'] }, values: { replicas: 2 } },
  'config/namespaced': { overlay: { resources: ['namespaced'] }, values: { namespaces: ['default'] } },
  'config/secret-access': {
    overlay: { resources: ['default'], components: ['secret-access'] },
    values: { secretAccess: true },
  },
  'config/annotation-controller': {
    overlay: { resources: ['default'], components: ['annotation-controller'] },
    values: { annotationController: true },
  },
  'config/annotated-workloads': {
    overlay: { resources: ['default'], components: ['annotated-workloads'] },
    values: { annotatedWorkloads: true },
  },
  'config/reloader-annotations': {
    overlay: { resources: ['default'], components: ['reloader-annotations'] },
    values: { reloaderAnnotations: true },
  },
  'config/annotated-workloads/second-group': {
    overlay: {
      resources: ['default'],
      components: ['annotated-workloads', 'k8spatterns-com', 'annotated-workloads/second-group'],
    },
    values: { annotatedWorkloads: true, secondGroup: true },
  },
  'config/author-check': {
    overlay: { resources: ['default'], components: ['author-check'] },
    values: { authorCheck: true },
  },
  'config/k8spatterns-com': {
    overlay: { resources: ['default'], components: ['k8spatterns-com'] },
    values: { secondGroup: true },
  },
  'config/prometheus': {
    overlay: { resources: ['default'], components: ['prometheus'] },
    values: monitoring,
  },
  'config/secure-metrics': {
    overlay: { resources: ['default'], components: ['prometheus', 'secure-metrics'] },
    values: { ...monitoring, metrics: { enabled: true, secure: true } },
  },
  'all of it, in one namespace': {
    overlay: {
      resources: ['namespaced'],
      // In the order of the flags in the chart.
      components: [
        ...['prometheus', 'secure-metrics', 'secret-access'],
        ...['annotation-controller', 'reloader-annotations', 'author-check', 'k8spatterns-com'],
        'annotated-workloads/second-group',
      ],
    },
    values: {
      ...{ namespaces: ['default'], secretAccess: true },
      ...{ annotationController: true, reloaderAnnotations: true, authorCheck: true, secondGroup: true },
      ...monitoring,
      metrics: { enabled: true, secure: true },
    },
  },
  'namespaces that are allowed': {
    overlay: {
      resources: ['default'],
      patches: [
        {
          target: { kind: 'ClusterRoleBinding', name: '.*operator-identity' },
          patch: JSON.stringify([
            {
              ...{ op: 'replace', value: 'kube-system,atwatch-system' },
              path: '/metadata/annotations/cnat.programming-kubernetes.info~1allowed-namespaces',
            },
          ]),
        },
      ],
    },
    values: { admissionPolicies: { allowedNamespaces: ['kube-system', 'atwatch-system'] } },
  },
  'another namespace and other names': {
    overlay: {
      ...{ resources: ['default'], namespace: 'team-a', namePrefix: 'blue-' },
      transformers: ['policy/cluster-scoped'],
    },
    values: {},
    release: 'blue-atwatch',
  },
};

/** In the labels and annotations that the chart has and config/ has not. */
const helmsOwn: Readonly<Record<string, string>> = {
  'app.kubernetes.io/instance': 'in labels and selectors, so that two releases do not take each other’s Pods',
  'app.kubernetes.io/managed-by': 'how Helm knows its own objects',
  'app.kubernetes.io/version': 'which version of the chart made an object',
  'helm.sh/chart': 'which version of the chart made an object',
  'helm.sh/resource-policy': 'on CRDs: Helm leaves them behind at the end (crds.keep)',
};

/** Objects of config/ that the chart has not. */
const leftOut: Readonly<Record<string, string>> = {
  Namespace:
    'Helm is told the namespace of a release and makes it itself (--create-namespace), before the chart',
};

/** Not a part of the release: what Helm makes at a certain moment, by the annotation that all of them have. */
const isHook = ({ metadata }: Rendered) => metadata.annotations?.['helm.sh/hook'] !== undefined;

/** Without the keys that are Helm's own, and without maps that had nothing else. */
function withoutHelmsOwn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutHelmsOwn);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !(key in helmsOwn));
  const entries = kept.map(([key, item]): [string, unknown] => [key, withoutHelmsOwn(item)]);
  return Object.fromEntries(entries.filter(([key, item]) => key !== 'annotations' || !isEmpty(item)));
}

const isEmpty = (item: unknown) => Object.keys(item as object).length === 0;

/** By group, kind, namespace and name. */
function named(objects: readonly unknown[]): Record<string, unknown> {
  return Object.fromEntries(
    (objects as Rendered[])
      .map((object): [string, unknown] => {
        const { name, namespace = '' } = object.metadata;
        return [`${object.apiVersion} ${object.kind} ${namespace}/${name}`, object];
      })
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}

async function kustomize(overlay: Overlay): Promise<Rendered[]> {
  const { path } = await findKubectl();
  const { stdout } = await inOverlay(overlay, (directory) =>
    promisify(execFile)(path, ['kustomize', directory], { maxBuffer: 16 << 20 }),
  );
  return objectsIn(stdout);
}

describe('the chart gives the same objects as', { skip }, () => {
  for (const [name, { overlay, values, release }] of Object.entries(rows)) {
    it(name, async () => {
      const [ours, theirs] = await Promise.all([
        render({
          // What config/ names so is a placeholder for `make deploy`.
          values: { ...values, image: { tag: 'latest' } },
          ...(release !== undefined && { release }),
          ...(overlay.namespace !== undefined && { namespace: overlay.namespace }),
        }),
        kustomize(overlay),
      ]);
      const expected = named(theirs.filter(({ kind = '' }) => !(kind in leftOut)));
      const actual = named(ours.filter((object) => !isHook(object)).map(withoutHelmsOwn));
      assert.deepEqual(Object.keys(actual), Object.keys(expected));
      assert.deepEqual(actual, expected);
    });
  }
});
