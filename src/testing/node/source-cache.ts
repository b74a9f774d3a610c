/**
 * Source cache: the ConfigMaps and Secrets as a kubelet sees them. An immutable one is looked at once, and kept
 * as long as a Pod of the node uses its name (kubernetes#119733).
 */
import { configMaps } from '../../kubernetes/objects.ts';
import type { ClusterView } from '../cluster-ports.ts';
import { secrets } from '../objects.ts';
import type { SourceKind, SourceObject, SourceReader } from './container-sources.ts';

export class SourceCache {
  readonly #view: ClusterView;
  readonly #immutable = new Map<string, SourceObject>();
  /** What it saw last, while it cannot look. */
  #frozen: Map<string, SourceObject | undefined> | undefined;
  /** By Pod uid, the keys that it uses. */
  readonly #users = new Map<string, ReadonlySet<string>>();

  constructor(view: ClusterView) {
    this.#view = view;
  }

  register(uid: string, namespace: string, references: ReadonlySet<string>): void {
    this.#users.set(uid, new Set([...references].map((reference) => `${namespace}/${reference}`)));
  }

  unregister(uid: string): void {
    const keys = this.#users.get(uid) ?? new Set();
    this.#users.delete(uid);
    for (const key of keys) {
      const isUsed = [...this.#users.values()].some((used) => used.has(key));
      if (!isUsed) this.#immutable.delete(key);
    }
  }

  /** From now on it sees what there is now, as without a connection. */
  freeze(): void {
    const keys = new Set([...this.#users.values()].flatMap((used) => [...used]));
    this.#frozen = new Map([...keys].map((key) => [key, this.#look(key)]));
  }

  thaw(): void {
    this.#frozen = undefined;
  }

  reader(namespace: string): SourceReader {
    return (kind, name) => this.#read(kind, namespace, name);
  }

  #read(kind: SourceKind, namespace: string, name: string): SourceObject | undefined {
    const key = `${namespace}/${kind}/${name}`;
    const kept = this.#immutable.get(key);
    if (kept !== undefined) return kept;
    const object = this.#frozen === undefined ? this.#look(key) : this.#frozen.get(key);
    if (object?.immutable === true) this.#immutable.set(key, object);
    return object;
  }

  #look(key: string): SourceObject | undefined {
    const [namespace = '', kind, name = ''] = key.split('/');
    return kind === 'Secret'
      ? this.#view.get(secrets, namespace, name)
      : this.#view.get(configMaps, namespace, name);
  }
}
