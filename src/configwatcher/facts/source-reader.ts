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
import type { ServerClock } from '../../runtime/server-clock.ts';
import {
  areComparable,
  changedKeys,
  type HashKey,
  isNamed,
  isSameHash,
  keysHash,
  recordedHash,
  type SourceHash,
} from '../plan/config-hash.ts';
import { sourceKinds } from '../plan/source-kinds.ts';
import type { WatchedSource } from '../plan/spec.ts';
import { MissingRight } from './missing-right.ts';
import type { SourceContent, UnrecordedContent } from './observed.ts';
import { type Found, keyOf, type ReadRequest, SourceReads } from './source-reads.ts';

interface Remembered {
  /** What the store showed when this was read; undefined: nothing. */
  readonly seenVersion: string | undefined;
  readonly content: Omit<SourceContent, 'changedKeys' | 'replacesImmutable' | 'confirmed' | 'unrecorded'>;
  readonly unrecorded?: UnrecordedContent & {
    readonly hash: string;
    /** Of status when it was read. */
    readonly lastChange: number;
  };
  /** Of this content and of the applied one, by hash. */
  readonly seen: ReadonlyMap<string, Pick<Found, 'immutable' | 'digests'>>;
}

export class SourceReader {
  readonly #options;
  /** By namespace/name of the watcher: forgetting it forgets all the sources that it named. */
  readonly #memory = new Map<
    string,
    { readonly uid: string; readonly sources: ReadonlyMap<string, Remembered> }
  >();
  readonly #reads: SourceReads;

  constructor(options: {
    readonly client: Client;
    readonly clock: Pick<ServerClock, 'monotonic' | 'earliest'>;
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
    const { watcher, uid, sources } = request;
    const memory = this.#memory.get(watcher);
    const before = memory?.uid === uid ? memory.sources : undefined;
    const kept = sources.map((source) => before?.get(keyOf(source)) ?? formerOf(before, source));
    const reads = await Promise.allSettled(
      sources.map((source, index) => this.#readOne(request, source, kept[index])),
    );
    // Also where another source cannot be read: what was seen of this one may be taken back by the next look.
    const after = reads.flatMap((one, index) => {
      return (one.status === 'fulfilled' ? one.value.remembered : kept[index]) ?? [];
    });
    this.#memory.set(watcher, {
      uid,
      sources: new Map(after.map((one) => [keyOf(one.content.source), one])),
    });
    return reads.map((one) => {
      if (one.status === 'rejected') throw one.reason;
      const { remembered, confirmed } = one.value;
      return {
        ...remembered.content,
        ...sinceApplied(request, remembered),
        ...sinceRecord(request, remembered),
        confirmed,
      };
    });
  }

  /** @param watcher namespace/name */
  forget(watcher: string): void {
    this.#memory.delete(watcher);
  }

  /** @param kept what was read of the object before, with these keys or those of before. */
  async #readOne(
    request: ReadRequest,
    source: WatchedSource,
    kept: Remembered | undefined,
  ): Promise<{ remembered: Remembered; confirmed: boolean }> {
    const { kind, name } = source;
    const known = kept && keyOf(kept.content.source) === keyOf(source) ? kept : undefined;
    const { metadata, hashKey } = this.#accessTo(kind);
    const seenVersion = metadata.get(request.namespace, name)?.metadata.resourceVersion;
    if (known && !request.afresh && !hasMoved(seenVersion, known)) {
      return { remembered: { ...known, content: { ...known.content, source } }, confirmed: false };
    }
    const { digests, ...found } = await this.#reads.find(request, source, seenVersion, hashKey);
    const { hash, immutable, version } = found;
    const appliedHash = appliedOf(source, request.applied)?.hash;
    const applied = [...(known?.seen ?? [])].filter(
      ([contentOf]) => appliedHash !== undefined && isSameHash(contentOf, appliedHash),
    );
    const owed = kept && unrecordedOf(request, kept.content, kept.unrecorded);
    const lastLook = known?.content ?? owed;
    const content = {
      ...found,
      source,
      keysHash: keysHash(source.keys),
      present: version !== undefined,
      isFirstLook: lastLook === undefined || (lastLook.isFirstLook === true && !request.isRecorded),
    };
    const unrecorded = this.#unrecordedAfter(request, owed, content);
    const seen = new Map([...applied, [hash, { immutable, digests }] as const]);
    return {
      confirmed: true,
      remembered: { seenVersion, content, seen, ...(unrecorded && { unrecorded }) },
    };
  }

  /** What is not recorded of a source, now that this content was read: it may be newer than what is recorded. */
  #unrecordedAfter(
    request: ReadRequest,
    before: Remembered['unrecorded'],
    content: Remembered['content'],
  ): Remembered['unrecorded'] {
    const { lastChange, restartOnDelete } = request;
    const recorded = recordedOf(request, content);
    // Of a content that cannot be compared with the recorded one it is not known whether that is back.
    if (recorded === undefined || lastChange === undefined) return before && { ...before, backAt: undefined };
    const readAt = Math.floor(this.#options.clock.earliest());
    const { hash, written, isFirstLook } = content;
    const { backAt, ...rest } = before ?? { hash, written, isFirstLook, readAt, lastChange };
    const counts = content.present || restartOnDelete;
    if (counts && !isSameHash(hash, recorded)) return rest;
    return before && { ...rest, backAt: backAt ?? readAt };
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

/** The hash that stands in status for the source; undefined where there is none that the content could be compared with. */
function recordedOf({ applied }: ReadRequest, content: Remembered['content']): string | undefined {
  const entry = appliedOf(content.source, applied);
  return entry && areComparable(entry, content) ? recordedHash(entry) : undefined;
}

/** What was read of this object with the keys of before: an edit of it that is not recorded yet is still owed. */
function formerOf(
  before: ReadonlyMap<string, Remembered> | undefined,
  { kind, name }: WatchedSource,
): Remembered | undefined {
  return [...(before?.values() ?? [])].find(
    ({ content: { source } }) => source.kind === kind && source.name === name,
  );
}

/**
 * Undefined once a change is recorded, by another process as well: that knows the Pods of its time. Where what is
 * recorded cannot be compared any more, because the keys or the hash key are others, it is still owed.
 */
function unrecordedOf(
  request: ReadRequest,
  content: Remembered['content'],
  unrecorded: Remembered['unrecorded'],
): Remembered['unrecorded'] {
  if (!unrecorded || unrecorded.lastChange !== request.lastChange) return undefined;
  const recorded = recordedOf(request, content);
  return recorded !== undefined && isSameHash(unrecorded.hash, recorded) ? undefined : unrecorded;
}

function sinceRecord(request: ReadRequest, remembered: Remembered): Pick<SourceContent, 'unrecorded'> {
  const known = unrecordedOf(request, remembered.content, remembered.unrecorded);
  if (!known) return {};
  const { hash, lastChange, ...unrecorded } = known;
  return { unrecorded };
}
