/** Garbage collector: knows who depends on whom, and wakes {@link garbageDecision}. */
import {
  apiVersionOf,
  type KubernetesObject,
  type OwnerReference,
  type Resource,
} from '../../kubernetes/objects.ts';
import type { ClusterChange, ClusterView } from '../cluster-ports.ts';
import { Controller, type ControllerSetting, controllerUser } from './controller.ts';
import {
  type Dependent,
  foregroundFinalizer,
  garbageDecision,
  type Owner,
  orphanFinalizer,
} from './garbage.ts';

/** How late it is, in ms: its graph is made of the watches of all resources. */
const garbageDelay: readonly [number, number] = [50, 1500];

export function garbageCollector(setting: ControllerSetting): Controller {
  const { cluster } = setting;
  const graph = new DependencyGraph(cluster.view);
  return new Controller({
    delay: garbageDelay,
    ...setting,
    user: controllerUser('generic-garbage-collector'),
    keysOf: (change) => graph.see(change),
    plan(uid) {
      const item = graph.get(uid);
      if (item === undefined) return undefined;
      const dependents = graph.dependentsOf(uid);
      const ownerOf = (reference: OwnerReference) => graph.ownerOf(item, reference);
      const { writes, retry } = garbageDecision({ ...item, dependents, ownerOf });
      return { batches: writes.map((write) => [write]), retry };
    },
  });
}

/** Which objects name which uid as their owner. */
class DependencyGraph {
  readonly #view: ClusterView;
  /** Where an object with references, or one that holds a deletion up, is to be found. */
  readonly #items = new Map<string, Dependent>();
  readonly #dependents = new Map<string, Set<string>>();

  constructor(view: ClusterView) {
    this.#view = view;
  }

  /** The uids to look at after a change. */
  see({ type, resource, object, previous }: ClusterChange): Iterable<string> {
    const { uid = '' } = object.metadata;
    this.#forget(uid, previous);
    if (type === 'DELETED') this.#items.delete(uid);
    else this.#note(resource, object);
    const touched = new Set<string>();
    if (type !== 'DELETED' && (isOfInterest(object) || this.#hasNewOwners(object, previous, resource))) {
      touched.add(uid);
    }
    for (const owner of [...ownerUids(object), ...ownerUids(previous)]) {
      if (isOfInterest(this.#items.get(owner)?.object)) touched.add(owner);
    }
    if (type === 'DELETED' || object.metadata.deletionTimestamp !== previous?.metadata.deletionTimestamp) {
      for (const dependent of this.#dependents.get(uid) ?? []) touched.add(dependent);
    }
    return touched;
  }

  /** The object as it is now. */
  get(uid: string): Dependent | undefined {
    const known = this.#items.get(uid);
    if (known === undefined) return undefined;
    const { namespace = '', name } = known.object.metadata;
    const object = this.#view.get(known.resource, namespace, name);
    return object?.metadata.uid === uid ? { resource: known.resource, object } : undefined;
  }

  dependentsOf(uid: string): readonly Dependent[] {
    return [...(this.#dependents.get(uid) ?? [])]
      .map((dependent) => this.get(dependent))
      .filter((dependent) => dependent !== undefined);
  }

  /** A namespaced owner is looked for in the namespace of what it owns only. */
  ownerOf({ object }: Dependent, { apiVersion, kind, name, uid }: OwnerReference): Owner {
    for (const resource of this.#view.resources()) {
      if (resource.kind !== kind || apiVersionOf(resource) !== apiVersion) continue;
      const namespace = resource.namespaced ? (object.metadata.namespace ?? '') : '';
      const found = this.#view.get(resource, namespace, name);
      return found?.metadata.uid === uid ? { found } : 'gone';
    }
    return 'unknown';
  }

  #note(resource: Resource, object: KubernetesObject): void {
    const { uid = '' } = object.metadata;
    const owners = ownerUids(object);
    if (owners.length > 0 || isOfInterest(object)) this.#items.set(uid, { resource, object });
    for (const owner of owners) {
      const dependents = this.#dependents.get(owner) ?? new Set();
      this.#dependents.set(owner, dependents.add(uid));
    }
  }

  #forget(uid: string, previous: KubernetesObject | undefined): void {
    for (const owner of ownerUids(previous)) {
      const dependents = this.#dependents.get(owner);
      dependents?.delete(uid);
      if (dependents?.size === 0) this.#dependents.delete(owner);
    }
  }

  /** Whether its references are new, and one of them leads nowhere or to an owner that goes. */
  #hasNewOwners(
    object: KubernetesObject,
    previous: KubernetesObject | undefined,
    resource: Resource,
  ): boolean {
    const references = object.metadata.ownerReferences;
    if (references === undefined || references === previous?.metadata.ownerReferences) return false;
    return references.some((reference) => {
      const owner = this.ownerOf({ resource, object }, reference);
      return typeof owner === 'string' || owner.found.metadata.deletionTimestamp !== undefined;
    });
  }
}

function ownerUids(object: KubernetesObject | undefined): readonly string[] {
  return (object?.metadata.ownerReferences ?? []).map(({ uid }) => uid);
}

/** Being deleted, and held by a finalizer that is the collector's own. */
function isOfInterest(object: KubernetesObject | undefined): boolean {
  const { deletionTimestamp, finalizers = [] } = object?.metadata ?? {};
  if (deletionTimestamp === undefined) return false;
  return finalizers.includes(foregroundFinalizer) || finalizers.includes(orphanFinalizer);
}
