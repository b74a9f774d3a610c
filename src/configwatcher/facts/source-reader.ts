/**
 * SourceReader: the contents of the sources that watchers name.
 *
 * The watch carries metadata only and tells that an object moved; the object itself is read in full when a
 * watcher names it and its resourceVersion is not the one that was read last. Its data is hashed and
 * dropped: what stays is a hash per source and a short digest per key.
 */
import type { ConfigWatcherSpecSourceKind } from '../../api/configwatcher.generated.ts';
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { Lister } from '../../runtime/cache/lister.ts';
import type { Client } from '../../runtime/client/client.ts';
import type { Clock } from '../../runtime/clock.ts';
import {
  changedKeys,
  type HashKey,
  isNamed,
  isSameHash,
  keysHash,
  type SourceHash,
} from '../plan/config-hash.ts';
import { sourceKinds } from '../plan/source-kinds.ts';
import type { WatchedSource } from '../plan/spec.ts';
import { MissingRight } from './missing-right.ts';
import type { SourceContent } from './observed.ts';
import { type FindRequest, type Found, keyOf, SourceReads } from './source-reads.ts';

interface Remembered {
  /** What the store showed when this was read; undefined: nothing. */
  readonly seenVersion: string | undefined;
  readonly content: Omit<SourceContent, 'changedKeys' | 'replacesImmutable' | 'confirmed'>;
  /** Of this content and of the applied one, by hash. */
  readonly seen: ReadonlyMap<string, Pick<Found, 'immutable' | 'digests'>>;
}

export interface ReadRequest {
  readonly namespace: string;
  /** Distinguishes the watchers; uid. */
  readonly watcher: string;
  readonly sources: readonly WatchedSource[];
  /** The sources of status, to know which digests are still worth keeping. */
  readonly applied: readonly SourceHash[];
  /** Read all of them now, whatever is remembered. */
  readonly afresh: boolean;
  /** See {@link FindRequest}. */
  readonly knownSince: FindRequest['knownSince'];
  readonly signal: AbortSignal;
}

export class SourceReader {
  readonly #options;
  /** By watcher, then by source: forgetting a watcher forgets all it named. */
  readonly #memory = new Map<string, ReadonlyMap<string, Remembered>>();
  readonly #reads: SourceReads;

  constructor(options: {
    readonly client: Client;
    readonly clock: Pick<Clock, 'monotonic'>;
    /** The watched ConfigMaps, metadata only. */
    readonly configMaps: Lister<KubernetesObject>;
    /** Absent where the operator is installed without access to Secrets. */
    readonly secrets?: {
      /** The watched Secrets, metadata only. */
      readonly metadata: Lister<KubernetesObject>;
      /** The key of published hashes. */
      readonly hashKey: () => Promise<HashKey>;
    };
  }) {
    this.#options = options;
    this.#reads = new SourceReads(options.client, options.clock);
  }

  /**
   * @throws {MissingRight} when the API server forbids it. Any other error is thrown as it is: an error is
   *   never taken for an absent source.
   */
  async read(request: ReadRequest): Promise<SourceContent[]> {
    const before = this.#memory.get(request.watcher);
    const after = new Map<string, Remembered>();
    const contents = await Promise.all(
      request.sources.map(async (source) => {
        const known = before?.get(keyOf(source));
        const { remembered, confirmed } = await this.#readOne(request, source, known);
        after.set(keyOf(source), remembered);
        return { ...remembered.content, ...sinceApplied(request, remembered), confirmed };
      }),
    );
    this.#memory.set(request.watcher, after);
    return contents;
  }

  forget(watcher: string): void {
    this.#memory.delete(watcher);
  }

  async #readOne(
    { namespace, applied, afresh, knownSince, signal }: ReadRequest,
    source: WatchedSource,
    known: Remembered | undefined,
  ): Promise<{ remembered: Remembered; confirmed: boolean }> {
    const { kind, name } = source;
    const { metadata, hashKey } = this.#accessTo(kind);
    const seenVersion = metadata.get(namespace, name)?.metadata.resourceVersion;
    if (known && !afresh && !hasMoved(seenVersion, known)) {
      return { remembered: { ...known, content: { ...known.content, source } }, confirmed: false };
    }
    const request = { namespace, source, seenVersion, knownSince, hashKey, signal };
    const { version, hash, immutable, digests, created, written, manager } = await this.#reads.find(request);
    const appliedHash = appliedOf(source, applied)?.hash;
    const kept = [...(known?.seen ?? [])].filter(
      ([contentOf]) => appliedHash !== undefined && isSameHash(contentOf, appliedHash),
    );
    return {
      confirmed: true,
      remembered: {
        seenVersion,
        content: {
          source,
          keysHash: keysHash(source.keys),
          hash,
          present: version !== undefined,
          ...(version !== undefined && { version }),
          immutable,
          ...(created !== undefined && { created }),
          ...(written !== undefined && { written }),
          ...(manager !== undefined && { manager }),
          isFirstLook: known === undefined,
        },
        seen: new Map([...kept, [hash, { immutable, digests }]]),
      },
    };
  }

  /** @throws {MissingRight} where the operator is installed without access to Secrets. */
  #accessTo(kind: ConfigWatcherSpecSourceKind) {
    const { resource, isConfidential } = sourceKinds[kind];
    if (!isConfidential) return { metadata: this.#options.configMaps, hashKey: undefined };
    const { secrets } = this.#options;
    if (!secrets) throw new MissingRight('get', resource.plural);
    return secrets;
  }
}

/**
 * Whether the object may be another than the one that was read. A watch that shows nothing may be behind what
 * was read, as it was then, or ahead of it: deleted. Versions do not come back, nothing does.
 */
function hasMoved(seenVersion: string | undefined, known: Remembered): boolean {
  if (seenVersion === known.content.version) return false;
  return seenVersion === undefined || seenVersion !== known.seenVersion;
}

function appliedOf({ kind, name }: WatchedSource, applied: readonly SourceHash[]): SourceHash | undefined {
  return applied.find((entry) => entry.kind === kind && isNamed(entry.name, name));
}

/** How this content differs from the applied one, if that one was ever seen by this process. */
function sinceApplied(
  { applied }: ReadRequest,
  { content, seen }: Remembered,
): Pick<SourceContent, 'changedKeys' | 'replacesImmutable'> {
  const entry = appliedOf(content.source, applied);
  const [, before] = [...seen].find(([hash]) => entry && isSameHash(hash, entry.hash)) ?? [];
  const after = seen.get(content.hash);
  if (!before || !after || before === after) return {};
  return {
    changedKeys: changedKeys(before.digests, after.digests),
    // The data of an immutable object cannot be edited: this is another one.
    replacesImmutable: before.immutable && content.present,
  };
}
