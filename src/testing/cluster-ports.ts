/**
 * Cluster ports: what the simulated controllers and nodes need of the simulated cluster. They read etcd's
 * state, act through an API server as any client does, and are woken by etcd's changes.
 */
import type { KubernetesObject, Resource } from '../kubernetes/objects.ts';

/** The objects of the cluster, as a controller sees them. */
export interface ClusterView {
  /** @param namespace empty for cluster-scoped objects. */
  get<T extends KubernetesObject>(resource: Resource<T>, namespace: string, name: string): T | undefined;
  /** In the order of namespace and name. @param namespace absent: all namespaces. */
  list<T extends KubernetesObject>(resource: Resource<T>, namespace?: string): readonly T[];
  /** The resources that are served at this moment. */
  resources(): Iterable<Resource>;
}

/** One change of etcd. */
export interface ClusterChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: Resource;
  readonly object: KubernetesObject;
  readonly previous: KubernetesObject | undefined;
}

export interface ClusterChanges {
  /** Called in the turn of the change. Returns a remover. */
  onChange(listener: (change: ClusterChange) => void): () => void;
}

export type WriteMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The answer to one request; the body is JSON text. */
export interface WriteAnswer {
  readonly code: number;
  readonly body: string;
}

export interface ApiWrites {
  /**
   * One request, answered at once.
   *
   * @param user user name as the audit log has it.
   * @param pathAndQuery `/api/v1/namespaces/…?…`
   */
  request(
    user: string,
    method: WriteMethod,
    pathAndQuery: string,
    body?: object,
    contentType?: string,
  ): WriteAnswer;
}

/** True time. */
export interface SimulatedTime {
  /** Wall-clock time, epoch milliseconds. */
  readonly now: number;
  /** Runs once after `delay` ms, in a turn of its own. */
  schedule(delay: number, run: () => void): { cancel(): void };
}

/** Seeded randomness. */
export interface RandomSource {
  /** 0 ≤ n < 1 */
  next(): number;
}

/** What controllers, nodes and people do to the simulated cluster. */
export interface ClusterAccess {
  readonly view: ClusterView;
  readonly changes: ClusterChanges;
  readonly writes: ApiWrites;
  readonly time: SimulatedTime;
}

/** Whether both say the same collection; descriptors of one resource need not be one object. */
export function isSameResource(
  a: Pick<Resource, 'group' | 'plural'>,
  b: Pick<Resource, 'group' | 'plural'>,
): boolean {
  return a.plural === b.plural && a.group === b.group;
}

/** A delay in ms between both bounds. */
export function delayWithin(random: RandomSource, [least, most]: readonly [number, number]): number {
  return Math.round(least + random.next() * (most - least));
}
