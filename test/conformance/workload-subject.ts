/**
 * Subject of the rows about workloads and nodes: a cluster, real or simulated, with a namespace to work in.
 */
import type { KubernetesObject, Resource } from '../../src/kubernetes/objects.ts';
import type { Container, Pod, PodSpec } from '../../src/testing/objects.ts';

export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubernetesObject;
}

export interface DeleteFields {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan';
}

export interface WorkloadSubject {
  readonly namespace: string;
  create<T extends KubernetesObject>(resource: Resource<T>, object: object): Promise<T>;
  /** JSON merge patch. */
  patch<T extends KubernetesObject>(resource: Resource<T>, name: string, body: object): Promise<T>;
  delete(resource: Resource, name: string, fields?: DeleteFields): Promise<void>;
  /** Resolves with the code of the answer. */
  evict(pod: Pod): Promise<number>;
  find<T extends KubernetesObject>(resource: Resource<T>, name: string): Promise<T | undefined>;
  list<T extends KubernetesObject>(resource: Resource<T>): Promise<readonly T[]>;
  /** What has happened to the Pods or ReplicaSets of the namespace, in order. */
  history(resource: Resource): readonly Change[];
  /** Waits until `check` gives a truthy value, and resolves with it; rejects after a minute or two. */
  until<T>(what: string, check: () => Promise<T | undefined | false>): Promise<T>;
  /** Lets so many seconds pass. */
  pass(seconds: number): Promise<void>;
}

/** One thing that both clusters must do alike. */
export interface WorkloadRow {
  readonly title: string;
  run(subject: WorkloadSubject): Promise<void>;
}

/** A readiness probe that never succeeds. Probes that run often cost a real node more than anything else here. */
export const failingProbe = { exec: { command: ['false'] }, periodSeconds: 60 };

/** A container that serves, is ready as soon as it runs, and ends at once when it is told to. */
export function serving(fields: Partial<Container> = {}): Container {
  return {
    name: 'main',
    image: 'busybox',
    command: ['/bin/sh', '-c', "trap 'exit 0' TERM; sleep 3600 & wait"],
    ...fields,
  };
}

/** A container that runs a script. */
export function running(script: string, fields: Partial<Container> = {}): Container {
  return { name: 'main', image: 'busybox', command: ['/bin/sh', '-c', script], ...fields };
}

/** A Pod that is never restarted, unless it says otherwise. */
export function newPod(name: string, container: Container, spec: Partial<PodSpec> = {}): object {
  return {
    metadata: { name, labels: { app: name } },
    spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 2, containers: [container], ...spec },
  };
}

/** Selector and template of a workload. `version` makes another template. */
export function workload(name: string, version: string, container: Partial<Container> = {}): object {
  return {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        terminationGracePeriodSeconds: 2,
        containers: [serving({ env: [{ name: 'VERSION', value: version }], ...container })],
      },
    },
  };
}

/** The patch to {@link workload} of another version. */
export function ofVersion(version: string, container: Partial<Container> = {}): object {
  const next = serving({ env: [{ name: 'VERSION', value: version }], ...container });
  return { spec: { template: { spec: { containers: [next] } } } };
}

export function versionOf({ spec }: Pod): string | undefined {
  return spec.containers[0]?.env?.[0]?.value;
}
