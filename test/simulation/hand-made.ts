/** A history made by hand: a test says what happened, and which promises it breaks. */
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { ChangeEntry, ChangeType, Entry, RequestEntry } from './entry.ts';
import { History } from './history.ts';
import { allPromises } from './promises/all.ts';

export const begin = Date.UTC(2030, 0, 31, 9);
export const second = 1000;

type Body = Readonly<Record<string, unknown>>;

export class HandMade {
  readonly history: History;
  time = begin;
  #version = 100;

  /** @param promises names of those that are looked at; all by default. */
  constructor(promises?: readonly string[], secrets: readonly string[] = []) {
    const held = allPromises.filter(({ name }) => promises === undefined || promises.includes(name));
    this.history = new History(held, { secrets });
  }

  /** `S1 clue`, one for each time that a promise was broken. */
  get broken(): string[] {
    return this.history.violations.map(({ promise, clue }) => `${promise} ${clue}`.trim());
  }

  add(entry: Entry): this {
    this.history.add(entry);
    return this;
  }

  pass(ms: number): this {
    this.time += ms;
    return this;
  }

  /** An object is created, changed or gone; `by` names the replica that did it, `alice` a person. */
  change(resource: string, object: KubernetesObject & Body, change: ChangeType = 'ADDED', by?: string): this {
    const { namespace = 'shop', name } = object.metadata;
    const previous = this.history.objects.get(resource, namespace, name);
    const stored = {
      ...object,
      metadata: {
        creationTimestamp: new Date(this.time).toISOString(),
        uid: `${name}-uid`,
        ...previous?.metadata,
        ...object.metadata,
        namespace,
        resourceVersion: String(++this.#version),
      },
    };
    const isReplica = by?.startsWith('replica') === true;
    const actor: ChangeEntry['by'] =
      by === undefined ? undefined : { replica: isReplica ? by : undefined, user: by, sentAt: this.time };
    const entry = {
      type: 'change',
      time: this.time,
      change,
      resource,
      object: stored,
      previous,
      by: actor,
    } as const;
    return this.add(entry);
  }

  /** A replica is shown what etcd holds. */
  show(replica: string, resource: string, name: string): this {
    const object = this.history.objects.get(resource, 'shop', name);
    if (object === undefined) throw new Error(`there is no ${resource}/${name}`);
    return this.add({ type: 'seen', time: this.time, replica, resource, object, gone: false });
  }

  request(
    verb: RequestEntry['verb'],
    resource: string,
    name: string,
    rest: Partial<RequestEntry> = {},
  ): this {
    return this.add({
      ...{ type: 'request', time: this.time, sentAt: this.time, replica: 'replica-0', user: 'operator' },
      ...{ verb, group: '', resource, subresource: '', namespace: 'shop', name, query: new Map() },
      ...{ contentType: 'application/json', body: '', code: 200, answer: '' },
      ...rest,
    });
  }

  /** Nothing else happens for so long, and then everybody looks. */
  calm(ms: number): this {
    return this.pass(ms).add({ type: 'calm', time: this.time });
  }
}

/** An At that is due after so many ms. */
export function at(name: string, due = 0, spec: Body = {}, status: Body = { phase: 'PENDING' }) {
  const schedule = new Date(begin + due).toISOString();
  return { metadata: { name, generation: 1 }, spec: { schedule, command: 'true', ...spec }, status };
}

/** A Pod of an At. */
export function atPod(name: string, uid: string, atName: string, status: Body = { phase: 'Pending' }) {
  const owner = { apiVersion: 'x/v1', kind: 'At', name: atName, uid: `${atName}-uid`, controller: true };
  const spec = { containers: [{ name: 'main', image: 'busybox' }] };
  return { metadata: { name, uid, ownerReferences: [owner] }, spec, status };
}

export function webPod(name: string, labels: Readonly<Record<string, string>> = { app: 'web' }) {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web-rs', controller: true };
  return {
    metadata: { name, labels, ownerReferences: [owner] },
    spec: { containers: [{ name: 'main' }] },
    status: {},
  };
}

export function watcher(name: string, status: Body = {}, spec: Body = {}) {
  const own = { configMap: 'config', podSelector: { app: 'web' }, strategy: { type: 'Evict' }, ...spec };
  return { metadata: { name, generation: 1 }, spec: own, status };
}
