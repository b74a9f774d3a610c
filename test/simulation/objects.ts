/** Objects: what etcd holds at a point of a history. */
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { ChangeEntry } from './entry.ts';

export class Objects {
  readonly #byResource = new Map<string, Map<string, KubernetesObject>>();

  apply({ resource, change, object }: ChangeEntry): void {
    let collection = this.#byResource.get(resource);
    if (collection === undefined) {
      collection = new Map();
      this.#byResource.set(resource, collection);
    }
    const key = keyOf(object);
    if (change === 'DELETED') collection.delete(key);
    else collection.set(key, object);
  }

  get<T extends KubernetesObject>(resource: string, namespace: string, name: string): T | undefined {
    return this.#byResource.get(resource)?.get(`${namespace}/${name}`) as T | undefined;
  }

  list<T extends KubernetesObject>(resource: string): T[] {
    return [...(this.#byResource.get(resource)?.values() ?? [])] as T[];
  }

  /** Of one namespace. */
  in<T extends KubernetesObject>(resource: string, namespace: string): T[] {
    const found: KubernetesObject[] = [];
    for (const object of this.#byResource.get(resource)?.values() ?? []) {
      if (object.metadata.namespace === namespace) found.push(object);
    }
    return found as T[];
  }
}

function keyOf({ metadata: { namespace = '', name } }: KubernetesObject): string {
  return `${namespace}/${name}`;
}
