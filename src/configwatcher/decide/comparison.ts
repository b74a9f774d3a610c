/**
 * Comparison: the contents found now against the hashes in status. Never against the previous event, so an
 * edit made while the operator was down is found at its start, and a start alone finds nothing.
 */
import { combinedHash, hashScheme, type SourceHash } from '../spec/config-hash.ts';
import type { WatcherSpec } from '../spec/spec.ts';
import type { SourceContent } from './observed.ts';
import type { WatcherState } from './state.ts';

export interface Comparison {
  /** What the Pods are to run with: the contents of now, of all sources that were ever seen. */
  readonly wanted: readonly SourceHash[];
  /** What the Pods run with: the hashes of status, and for a source seen first its content of now. */
  readonly applied: readonly SourceHash[];
  /** Whose content differs from the applied one, in the order of the spec. */
  readonly changed: readonly SourceContent[];
  /** The contents are neither the applied nor the pending ones: somebody edited a source. */
  readonly edited: boolean;
  /** A source of status is no longer watched, or with other keys. */
  readonly dropped: boolean;
  /** Sources that must exist and do not. */
  readonly missing: readonly SourceContent[];
}

function sameIdentity(content: SourceContent, entry: SourceHash): boolean {
  const { kind, name } = content.source;
  return kind === entry.kind && name === entry.name && content.keysHash === entry.keysHash;
}

/** First sight, other keys, another hash scheme or key: nothing there to compare with. */
function isComparable(content: SourceContent, entry: SourceHash): boolean {
  return sameIdentity(content, entry) && hashScheme(content.hash) === hashScheme(entry.hash);
}

/**
 * The hash that counts for a source now; undefined for a required one that was never seen. An absent source
 * keeps its old hash, unless its deletion is to restart Pods.
 */
function effectiveHash(
  content: SourceContent,
  entry: SourceHash | undefined,
  restartOnDelete: boolean,
): string | undefined {
  if (content.present) return content.hash;
  if (!entry) return content.source.optional ? content.hash : undefined;
  return restartOnDelete ? content.hash : entry.hash;
}

function entryOf({ source, keysHash }: SourceContent, hash: string): SourceHash {
  const { kind, name } = source;
  return keysHash === undefined ? { kind, name, hash } : { kind, name, keysHash, hash };
}

export function compare(
  spec: WatcherSpec,
  state: WatcherState,
  contents: readonly SourceContent[],
): Comparison {
  const wanted: SourceHash[] = [];
  const applied: SourceHash[] = [];
  const changed: SourceContent[] = [];
  for (const content of contents) {
    const entry = state.sources.find((candidate) => isComparable(content, candidate));
    const hash = effectiveHash(content, entry, spec.restartOnDelete);
    if (hash === undefined) continue;
    wanted.push(entryOf(content, hash));
    applied.push(entryOf(content, entry?.hash ?? hash));
    if (entry && entry.hash !== hash) changed.push(content);
  }
  const kept = (entry: SourceHash) => contents.find((content) => isComparable(content, entry));
  return {
    wanted,
    applied,
    changed,
    edited: isEdited(state, changed, (entry) => {
      const content = kept(entry);
      return content && effectiveHash(content, entry, spec.restartOnDelete);
    }),
    dropped: state.sources.some((entry) => !kept(entry)),
    missing: contents.filter(({ present, source }) => !present && !source.optional),
  };
}

/**
 * While a change is pending, the contents are compared with those it was recorded for. They are hashed over
 * the sources of status, not of the spec, so that watching one source more is not taken for an edit.
 */
function isEdited(
  state: WatcherState,
  changed: readonly SourceContent[],
  hashNow: (entry: SourceHash) => string | undefined,
): boolean {
  if (!state.pending) return changed.length > 0;
  const hashes = state.sources.map((entry) => ({ entry, hash: hashNow(entry) }));
  if (hashes.every(({ hash }) => hash === undefined)) return false;
  const now = hashes.map(({ entry, hash }) => ({ ...entry, hash: hash ?? entry.hash }));
  return combinedHash(now) !== state.pending.hash;
}
