/**
 * Comparison: the contents found now against the hashes in status. Never against the previous event, so an
 * edit made while the operator was down is found at its start, and a start alone finds nothing.
 */

import type { Observed, SourceContent } from '../facts/observed.ts';
import type { WatcherState } from '../facts/state.ts';
import {
  areComparable,
  isNamed,
  isSameHash,
  recordedHash,
  type SourceHash,
  statusName,
} from '../plan/config-hash.ts';
import type { WatcherSpec } from '../plan/spec.ts';

export interface Comparison {
  /** What the Pods are to run with: the contents of now, of all sources that were ever seen. */
  readonly wanted: readonly SourceHash[];
  /**
   * What status says of each source, and for one seen first its current content; in a restart also that one is not there,
   * without which its Pods are made.
   */
  readonly known: readonly SourceHash[];
  /** A change of a source is owed to the Pods: not of one that is only not there. */
  readonly owes: boolean;
  /** Whose content differs from the applied one, in the order of the spec; last those that are only not there. */
  readonly changed: readonly SourceContent[];
  /** Whose content is neither the applied nor the pending one, or was another one in between: they were edited. */
  readonly edited: readonly SourceContent[];
  /** A source is seen first. */
  readonly firstSight: boolean;
  /** Sources that must exist and do not. */
  readonly missing: readonly SourceContent[];
}

/** Something is there to compare with. */
function isComparable(content: SourceContent, entry: SourceHash): boolean {
  const { kind, name } = content.source;
  return kind === entry.kind && isNamed(entry.name, name) && areComparable(entry, content);
}

/**
 * The hash that counts for a source now; undefined for a required one that was never seen. An absent source
 * keeps the one that was recorded, unless its deletion is to restart Pods. An optional one takes a change of its own along
 * whose restart has not begun: Pods that are made now start without it, whatever it had become.
 */
function effectiveHash(
  content: SourceContent,
  entry: SourceHash | undefined,
  { restartOnDelete }: WatcherSpec,
  { pending }: WatcherState,
): string | undefined {
  const { hash, present, source } = content;
  if (present) return hash;
  if (!entry) return source.optional ? hash : undefined;
  if (restartOnDelete) return hash;
  const recorded = recordedHash(entry);
  const hasBegun = pending?.started !== undefined;
  return source.optional && !hasBegun && !isSameHash(recorded, hash) ? entry.hash : recorded;
}

/** Its deletion alone restarts nothing. */
function isPassedOver({ present, source }: SourceContent, { restartOnDelete }: WatcherSpec): boolean {
  return !present && source.optional && !restartOnDelete;
}

/**
 * What status says of the source. Where its keys or the hash key were changed while a change of it waits, or one that
 * was seen is not recorded yet, that change is still owed: it is unknown whether the Pods have what counts now. Data
 * written since is another edit.
 */
function entryFor(
  content: SourceContent,
  { sources: entries, lastChange = 0 }: WatcherState,
): SourceHash | undefined {
  const comparable = entries.find((entry) => isComparable(content, entry));
  if (comparable) return whole(content, comparable);
  const { kind, name } = content.source;
  const owed = entries.find((entry) => entry.kind === kind && isNamed(entry.name, name));
  if (!owed) return undefined;
  if (owed.pendingHash === undefined) return content.unrecorded ? entryOf(content, owed.hash) : undefined;
  const isSame = content.present && (content.written ?? 0) <= lastChange;
  return { ...entryOf(content, owed.hash), pendingHash: isSame ? content.hash : owed.pendingHash };
}

/** What was shortened for lack of room is again as it was, as far as the content is still the same. */
function whole(content: SourceContent, { hash, pendingHash }: SourceHash): SourceHash {
  const wholeHash = (recorded: string) => (isSameHash(recorded, content.hash) ? content.hash : recorded);
  const entry = entryOf(content, wholeHash(hash));
  return pendingHash === undefined ? entry : { ...entry, pendingHash: wholeHash(pendingHash) };
}

function entryOf({ source, keysHash }: SourceContent, hash: string): SourceHash {
  const { kind } = source;
  const name = statusName(source.name);
  return keysHash === undefined ? { kind, name, hash } : { kind, name, keysHash, hash };
}

/** One that was another in between is marked, as if that had been recorded. */
function owedFor({ unrecorded }: SourceContent, entry: SourceHash): SourceHash {
  return unrecorded === undefined ? entry : { ...entry, pendingHash: recordedHash(entry) };
}

export function compare(
  spec: WatcherSpec,
  state: WatcherState,
  contents: readonly SourceContent[],
): Comparison {
  const found = contents.flatMap((content) => {
    const entry = entryFor(content, state);
    const hash = effectiveHash(content, entry, spec, state);
    return hash === undefined ? [] : { content, entry, hash };
  });
  // Also of one that has gone since: not of one that is marked below.
  const isOwed = found.some(({ content, entry, hash }) => {
    const isContent = content.present || (isPassedOver(content, spec) && hash !== content.hash);
    return entry && entry.hash !== hash && isContent;
  });
  const edited = found.filter(({ content, entry, hash }) => {
    return entry !== undefined && (recordedHash(entry) !== hash || content.unrecorded !== undefined);
  });
  const isEdit = edited.length > 0;
  // The Pods that a restart for another source makes start without one that is not there: when it comes back, it is
  // another content for them, whatever it holds.
  const isMarked = isOwed && (isEdit || state.pending !== undefined);
  // Where it is back before the first Pod has gone, nothing has happened.
  const isKept = isMarked && !isEdit && state.pending?.started !== undefined;
  const counted = found.map((one) => {
    const { content, entry } = one;
    if (!entry || !isPassedOver(content, spec)) return one;
    if (isMarked) return { ...one, hash: content.hash };
    return isEdit ? { ...one, hash: entry.hash } : one;
  });
  return {
    wanted: counted.map(({ content, hash }) => entryOf(content, hash)),
    known: counted.map(({ content, entry, hash }) => {
      if (!entry) return entryOf(content, hash);
      const owed = owedFor(content, entry);
      return isKept && recordedHash(entry) !== hash ? { ...owed, pendingHash: hash } : owed;
    }),
    owes: found.some(({ content, entry }) => {
      const owed = entry && owedFor(content, entry).pendingHash;
      return owed !== undefined && (owed !== content.hash || !isPassedOver(content, spec));
    }),
    changed: counted
      .filter(({ entry, hash }) => entry && entry.hash !== hash)
      .map(({ content }) => content)
      .sort((left, right) => Number(isPassedOver(left, spec)) - Number(isPassedOver(right, spec))),
    edited: edited.map(({ content }) => content),
    firstSight: found.some(({ entry }) => !entry),
    missing: contents.filter(({ present, source }) => !present && !source.optional),
  };
}

/** What the Pods run with once the restart is done: those that it has made are without the sources that are not there. */
export function appliedSources(
  { wanted }: Comparison,
  contents: readonly SourceContent[],
  hasRestarted: boolean,
): readonly SourceHash[] {
  const absent = contents.filter(({ present, source }) => hasRestarted && !present && source.optional);
  return wanted.map((entry) => {
    const content = absent.find((one) => isComparable(one, entry));
    return content === undefined ? entry : { ...entry, hash: content.hash };
  });
}

/** Setting `immutable` along with the last edit replaces nothing: the object is older than the content before. */
export function replacesImmutable(
  { immutable, created = 0, replacesImmutable: known }: SourceContent,
  { lastChange }: WatcherState,
): boolean {
  return known ?? (immutable && lastChange !== undefined && created > lastChange);
}

/** Whether every source was read during this very pass. */
export function areConfirmed({ sources }: Pick<Observed, 'sources'>): boolean {
  return sources.every(({ confirmed }) => confirmed);
}
