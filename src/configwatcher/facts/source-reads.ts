/**
 * Source reads: one read of a source for all watchers that name it. Data is hashed and dropped at once; digests are
 * shared for a moment, and no data.
 */
import type { ConfigMap, KubernetesObject } from '../../kubernetes/objects.ts';
import { parseTime } from '../../kubernetes/time.ts';
import type { Secret } from '../../kubernetes/types/core.generated.ts';
import { ApiError, reworded } from '../../runtime/client/api-error.ts';
import type { Client } from '../../runtime/client/client.ts';
import type { Clock } from '../../runtime/clock.ts';
import { contentHash, type HashKey, keyDigests, keysHash, type SourceHash } from '../plan/config-hash.ts';
import { sourceKinds } from '../plan/source-kinds.ts';
import type { WatchedSource } from '../plan/spec.ts';
import { ifFound, MissingRight, withRight } from './missing-right.ts';
import type { SourceContent } from './observed.ts';

/** What one read found, as far as one choice of keys goes. */
export interface Found
  extends Pick<SourceContent, 'version' | 'hash' | 'immutable' | 'created' | 'written' | 'manager'> {
  /** A digest per key. */
  readonly digests: ReadonlyMap<string, string>;
}

export interface ReadRequest {
  readonly namespace: string;
  /** Namespace/name of the watcher. */
  readonly watcher: string;
  /** Tells it from an earlier one of this name. */
  readonly uid: string;
  readonly sources: readonly WatchedSource[];
  /** The sources of status: which digests are still worth keeping, and which contents are recorded. */
  readonly applied: readonly SourceHash[];
  /** When status was last written because of a change, epoch ms. */
  readonly lastChange: number | undefined;
  /** Whether the absence of a source counts as a content. */
  readonly restartOnDelete: boolean;
  /** Read all of them now, whatever is remembered. */
  readonly afresh: boolean;
  /** This process has recorded what it knows of them, so that an edit which it finds now was made since. */
  readonly isRecorded: boolean;
  /**
   * Monotonic ms since when this process has known what status says of the sources. A read that began later may be
   * shared: it cannot be older than the content that status speaks of.
   */
  readonly knownSince: number;
  readonly signal: AbortSignal;
}

interface SharedRead {
  /** Monotonic ms. */
  readonly startedAt: number;
  readonly found: Promise<Found>;
  /** What it ended with. It holds for all watchers of the source: else each retry of each would ask again. */
  forbidden?: MissingRight;
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

async function foundIn(
  source: WatchedSource,
  object: ConfigMap | Secret | undefined,
  hashKey: (() => Promise<HashKey>) | undefined,
): Promise<Found> {
  const { resourceVersion = '', creationTimestamp } = object?.metadata ?? {};
  return {
    ...(object && { version: resourceVersion }),
    hash: contentHash(source, object, await hashKey?.()),
    immutable: object?.immutable === true,
    digests: keyDigests(source, object),
    ...(creationTimestamp !== undefined && { created: parseTime(creationTimestamp) }),
    ...(object && lastDataWrite(object)),
  };
}

export class SourceReads {
  readonly #client: Client;
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By namespace and source. */
  readonly #shared = new Map<string, SharedRead>();

  constructor(client: Client, clock: Pick<Clock, 'monotonic'>) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * Takes over the read of another watcher where that began late enough and found what the watch shows, or was forbidden.
   *
   * @param seenVersion what the watch shows.
   * @param hashKey of published hashes of Secrets.
   * @throws {MissingRight} when the API server forbids it.
   */
  async find(
    { namespace, knownSince, signal }: Pick<ReadRequest, 'namespace' | 'knownSince' | 'signal'>,
    source: WatchedSource,
    seenVersion: string | undefined,
    hashKey: (() => Promise<HashKey>) | undefined,
  ): Promise<Found> {
    const now = this.#clock.monotonic();
    for (const [key, { startedAt }] of this.#shared) {
      if (now - startedAt > sharedForMs) this.#shared.delete(key);
    }
    const key = `${namespace}/${keyOf(source)}`;
    let shared = this.#shared.get(key);
    if (shared?.forbidden !== undefined) throw shared.forbidden;
    while (shared && shared.startedAt >= knownSince) {
      // One that failed is no answer for another watcher.
      const found = await shared.found.catch(() => undefined);
      if (shared.forbidden !== undefined) throw shared.forbidden;
      if (found?.version !== undefined && found.version === seenVersion) return found;
      const next = this.#shared.get(key);
      shared = next === shared ? undefined : next;
    }
    const object = this.#get(namespace, source, signal);
    const found = object.then((one) => foundIn(source, one, hashKey));
    const read: SharedRead = { startedAt: this.#clock.monotonic(), found };
    found.catch((error: unknown) => {
      if (error instanceof MissingRight) read.forbidden = error;
    });
    this.#shared.set(key, read);
    return found;
  }

  async #get(
    namespace: string,
    { kind, name }: WatchedSource,
    signal: AbortSignal,
  ): Promise<ConfigMap | Secret | undefined> {
    const { resource } = sourceKinds[kind];
    const get = this.#client.get(resource, { namespace, name }, { signal });
    try {
      return await ifFound(withRight('get', resource.plural, get));
    } catch (error) {
      throw error instanceof ApiError ? withoutWords(error, `${kind} ${namespace}/${name}`) : error;
    }
  }
}

/** A server may quote the object that it cannot answer with, and a proxy send a part of it. */
function withoutWords(error: ApiError, what: string): ApiError {
  return reworded(error, `${what} could not be read: HTTP ${error.code} ${error.reason}`.trimEnd());
}
