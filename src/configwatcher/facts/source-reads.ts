/**
 * Source reads: one read of a source for all watchers that name it. Data is hashed and dropped at once; digests are
 * shared for a moment, and no data.
 */
import type { ConfigMap, KubernetesObject } from '../../kubernetes/objects.ts';
import { parseTime } from '../../kubernetes/time.ts';
import type { Secret } from '../../kubernetes/types/core.generated.ts';
import type { Client } from '../../runtime/client/client.ts';
import type { Clock } from '../../runtime/clock.ts';
import { contentHash, type HashKey, keyDigests, keysHash } from '../plan/config-hash.ts';
import { sourceKinds } from '../plan/source-kinds.ts';
import type { WatchedSource } from '../plan/spec.ts';
import { ifFound, withRight } from './missing-right.ts';

/** What one read found, as far as one choice of keys goes. */
export interface Found {
  /** undefined: nothing. */
  readonly version: string | undefined;
  readonly hash: string;
  readonly immutable: boolean;
  /** A digest per key. */
  readonly digests: ReadonlyMap<string, string>;
  readonly created?: number;
  readonly written?: number;
  readonly manager?: string;
}

export interface FindRequest {
  readonly namespace: string;
  readonly source: WatchedSource;
  /** What the watch shows. */
  readonly seenVersion: string | undefined;
  /**
   * Monotonic ms since when this process has known what status says of the sources. A read that began later may be
   * shared: it cannot be older than the content that status speaks of.
   */
  readonly knownSince: number;
  /** Of published hashes of Secrets. */
  readonly hashKey: (() => Promise<HashKey>) | undefined;
  readonly signal: AbortSignal;
}

/** Milliseconds for which watchers of one source share a read. */
const sharedForMs = 2000;

export function keyOf({ kind, name, keys }: WatchedSource): string {
  return `${kind}/${name}/${keysHash(keys) ?? ''}`;
}

/** The last write of data that managedFields know of, by its second and its manager. */
function lastDataWrite({ metadata }: KubernetesObject): Pick<Found, 'written' | 'manager'> {
  const writes = (metadata.managedFields ?? [])
    .filter(({ fieldsV1 = {}, subresource = '' }) => {
      return subresource === '' && ('f:data' in fieldsV1 || 'f:binaryData' in fieldsV1);
    })
    .map(({ time = '', manager }) => ({ written: parseTime(time), manager }))
    .filter(({ written }) => Number.isFinite(written))
    .sort((left, right) => right.written - left.written);
  const [last] = writes;
  return last ? { written: last.written, ...(last.manager && { manager: last.manager }) } : {};
}

export class SourceReads {
  readonly #client: Client;
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By namespace and source; monotonic ms. */
  readonly #shared = new Map<string, { readonly startedAt: number; readonly found: Promise<Found> }>();

  constructor(client: Client, clock: Pick<Clock, 'monotonic'>) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * Takes over the read of another watcher where that began late enough and found what the watch shows.
   *
   * @throws {MissingRight} when the API server forbids it.
   */
  async find(request: FindRequest): Promise<Found> {
    const { namespace, source, seenVersion, knownSince } = request;
    const now = this.#clock.monotonic();
    for (const [key, { startedAt }] of this.#shared) {
      if (now - startedAt > sharedForMs) this.#shared.delete(key);
    }
    const key = `${namespace}/${keyOf(source)}`;
    let shared = this.#shared.get(key);
    while (shared && shared.startedAt >= knownSince) {
      // One that failed is no answer for another watcher.
      const found = await shared.found.catch(() => undefined);
      if (found?.version !== undefined && found.version === seenVersion) return found;
      const next = this.#shared.get(key);
      shared = next === shared ? undefined : next;
    }
    const found = this.#read(request);
    this.#shared.set(key, { startedAt: this.#clock.monotonic(), found });
    return found;
  }

  async #read({ namespace, source, hashKey, signal }: FindRequest): Promise<Found> {
    const object = await this.#get(namespace, source, signal);
    const { resourceVersion, creationTimestamp } = object?.metadata ?? {};
    return {
      version: object && (resourceVersion ?? ''),
      hash: contentHash(source, object, await hashKey?.()),
      immutable: object?.immutable === true,
      digests: keyDigests(source, object),
      ...(creationTimestamp !== undefined && { created: parseTime(creationTimestamp) }),
      ...(object && lastDataWrite(object)),
    };
  }

  async #get(
    namespace: string,
    { kind, name }: WatchedSource,
    signal: AbortSignal,
  ): Promise<ConfigMap | Secret | undefined> {
    const { resource } = sourceKinds[kind];
    const get = this.#client.get(resource, { namespace, name }, { signal });
    return ifFound(withRight('get', resource.plural, get));
  }
}
