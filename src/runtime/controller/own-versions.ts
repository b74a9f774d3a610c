/**
 * OwnVersions: which versions of objects the reconciles of one controller have written, and for which key, so that
 * an event can be told from one that another writer has caused.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { Written } from '../client/written.ts';

/**
 * Versions remembered, the newest. An event comes soon after its write; one that comes after so many others counts
 * as foreign, which costs a reconcile.
 */
const remembered = 10_000;

/** Names one version of one object; undefined when it has no uid or version. */
export function versionOf({ metadata: { uid, resourceVersion } }: KubernetesObject): string | undefined {
  return uid && resourceVersion ? `${uid}@${resourceVersion}` : undefined;
}

export class OwnVersions {
  /** In the order of writing. */
  readonly #keys = new Map<string, string>();

  /** A reconcile of `key` wrote this. The version of a deletion is not known. */
  add(key: string, written: Written): void {
    const version = 'deleted' in written ? undefined : versionOf(written);
    if (version === undefined) return;
    this.#keys.set(version, key);
    if (this.#keys.size <= remembered) return;
    for (const oldest of this.#keys.keys()) {
      this.#keys.delete(oldest);
      return;
    }
  }

  /** Whether a reconcile of `key` wrote this version. */
  has(key: string, version: string): boolean {
    return this.#keys.get(version) === key;
  }
}
