/**
 * OwnVersions: which versions of objects the reconciles of one controller have written, and for which key, so that
 * an event is distinguishable from one that another writer has caused.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import { isEnded, type Written } from '../client/written.ts';

/**
 * Versions remembered, the newest. An event comes soon after its write; one that comes after so many others counts
 * as foreign, which costs a reconcile.
 */
const maxRemembered = 10_000;

/**
 * Certain: the reconcile has made the version. Possible: it was answered with the version, which another writer may
 * have made.
 */
export type Ownership = 'certain' | 'possible';

interface Author {
  readonly key: string;
  readonly ownership: Ownership;
}

/** Names one version of one object; undefined when it has no uid or version. */
export function versionOf({ metadata: { uid, resourceVersion } }: KubernetesObject): string | undefined {
  return uid && resourceVersion ? `${uid}@${resourceVersion}` : undefined;
}

/** Names the end of one object; undefined when it has no uid. */
export function endOf({ uid }: { readonly uid?: string }): string | undefined {
  return uid ? `${uid} deleted` : undefined;
}

export class OwnVersions {
  /** By version, in the order of writing. */
  readonly #authors = new Map<string, Author>();

  /** A reconcile of `key` wrote this. A deletion whose answer does not name the object cannot be recognised. */
  add(key: string, written: Written, ownership: Ownership): void {
    if ('deleted' in written) {
      this.#add(endOf(written), { key, ownership });
      return;
    }
    this.#add(versionOf(written), { key, ownership });
    if (isEnded(written)) this.#add(endOf(written.metadata), { key, ownership });
  }

  /** Whether a reconcile of `key` wrote this version; undefined when another writer did. */
  ownership(key: string, version: string): Ownership | undefined {
    const author = this.#authors.get(version);
    return author?.key === key ? author.ownership : undefined;
  }

  #add(version: string | undefined, author: Author): void {
    if (version === undefined) return;
    // The author of a version is certain for good: a later answer with it comes from a write without effect.
    if (this.#authors.get(version)?.ownership === 'certain') return;
    this.#authors.set(version, author);
    if (this.#authors.size <= maxRemembered) return;
    for (const oldest of this.#authors.keys()) {
      this.#authors.delete(oldest);
      return;
    }
  }
}
