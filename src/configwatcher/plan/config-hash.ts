/**
 * Config hash: the fingerprint by which the content of a ConfigMap or Secret is compared across edits,
 * operator restarts and failovers. It covers what a Pod can read and nothing else: metadata, `immutable`,
 * resourceVersion and uid do not count.
 *
 * Hashes are published in status, so they name their scheme: `v1:<hex>` is SHA-256, `v1-hmac-<key id>:<hex>`
 * is HMAC-SHA-256 with the install key, for Secrets, whose short values could be guessed from a plain hash.
 * Two hashes of different schemes cannot be compared.
 */
import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import type {
  ConfigWatcherSpecSource,
  ConfigWatcherSpecSourceKind,
} from '../../api/configwatcher.generated.ts';
import type { ConfigMap } from '../../kubernetes/objects.ts';
import { sourceKinds } from './source-kinds.ts';

/** The key of published hashes of Secrets. The id is public. */
export interface HashKey {
  readonly id: string;
  readonly secret: Uint8Array;
}

/** The hashes of a source that stand in status. */
export interface SourceHash {
  readonly kind: ConfigWatcherSpecSourceKind;
  /** As in {@link statusName}. */
  readonly name: string;
  readonly keysHash?: string;
  /** Of the content that Pods run with. */
  readonly hash: string;
  /**
   * Of its content that is to be applied, where it was edited. From the start of a restart on it stays even when
   * it is the applied one again: Pods may run with what was in between.
   */
  readonly pendingHash?: string;
}

const version = 'v1';

/**
 * Every field is preceded by its length in bytes, so that no two different lists of fields give the same
 * stream: the key `a` with the value `bc` is not the key `ab` with the value `c`.
 */
function feed(digest: Hash | Hmac, field: string | Buffer): void {
  const bytes = typeof field === 'string' ? Buffer.from(field, 'utf8') : field;
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  digest.update(length).update(bytes);
}

function sha256(fields: readonly (string | Buffer)[]): Buffer {
  const digest = createHash('sha256');
  for (const field of fields) feed(digest, field);
  return digest.digest();
}

function compareBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left, 'utf8'), Buffer.from(right, 'utf8'));
}

/** Of the content as the API server sends it: text in `data` of a ConfigMap, and else base64. */
function entriesOf(
  { kind, keys = [] }: ConfigWatcherSpecSource,
  content: Pick<ConfigMap, 'data' | 'binaryData'>,
) {
  const counts = (key: string) => keys.length === 0 || keys.includes(key);
  const read = (section: 'data' | 'binaryData', encoding: BufferEncoding) =>
    Object.entries(content[section] ?? {})
      .filter(([key]) => counts(key))
      .map(([key, value]) => ({ section, key, value: Buffer.from(value, encoding) }));
  return [...read('data', sourceKinds[kind].encoding), ...read('binaryData', 'base64')].sort(
    (left, right) => compareBytes(left.key, right.key) || compareBytes(left.section, right.section),
  );
}

/**
 * The hash of what counts of one source.
 *
 * @param content undefined when the object does not exist: absence is a content of its own, different from
 *   an empty object.
 * @param key with it the hash is an HMAC.
 */
export function contentHash(
  source: ConfigWatcherSpecSource,
  content: Pick<ConfigMap, 'data' | 'binaryData'> | undefined,
  key?: HashKey | undefined,
): string {
  const digest = key ? createHmac('sha256', key.secret) : createHash('sha256');
  feed(digest, source.kind);
  feed(digest, source.name);
  feed(digest, content ? 'present' : 'absent');
  for (const entry of content ? entriesOf(source, content) : []) {
    feed(digest, entry.section);
    feed(digest, entry.key);
    feed(digest, entry.value);
  }
  return `${key ? `${version}-hmac-${key.id}` : version}:${digest.digest('hex')}`;
}

const maxNameLength = 63;
const shortNameLength = 20;
const digitsOfName = 12;
/** 96 bits distinguish contents; they do not keep an attacker from making two that collide. */
const digitsOfHash = 24;

function cutName(name: string, length: number): string {
  if (name.length <= length) return name;
  const [, known] = name.split('~');
  const digits = known ?? sha256([name]).toString('hex').slice(0, digitsOfName);
  return `${name.slice(0, length - digitsOfName - 1)}~${digits}`;
}

/**
 * The name of an object as status says it: up to 63 characters its own, beyond that its beginning, a tilde,
 * which no name contains, and some digits of its hash. So the status of many sources stays small.
 */
export function statusName(name: string): string {
  return cutName(name, maxNameLength);
}

/** The same in a status that has no room for more than 20 characters, of a name or of its {@link statusName}. */
export function shortName(name: string): string {
  return cutName(name, shortNameLength);
}

/** Whether a name in status, in either form, is that of the object. */
export function isNamed(inStatus: string, name: string): boolean {
  return inStatus === statusName(name) || inStatus === shortName(statusName(name));
}

/** The scheme of a hash and its first 24 digits. */
export function shortHash(hash: string): string {
  return hash.includes(':') ? hash.slice(0, hash.indexOf(':') + 1 + digitsOfHash) : hash;
}

export function isShortHash(hash: string): boolean {
  return hash.length === hash.indexOf(':') + 1 + digitsOfHash;
}

/** Beside a {@link shortHash} a hash of the same scheme goes without it, for the sake of room. */
export function withoutScheme(hash: string, beside: string): string {
  const scheme = hash.slice(0, hash.indexOf(':') + 1);
  return isShortHash(beside) && scheme !== '' && beside.startsWith(scheme) ? hash.slice(scheme.length) : hash;
}

/** The inverse of {@link withoutScheme}. */
export function withScheme(hash: string, beside: string): string {
  return hash.includes(':') ? hash : `${hashScheme(beside)}:${hash}`;
}

/** Whether two hashes, of which each may be a {@link shortHash}, are of one content. */
export function isSameHash(left: string, right: string): boolean {
  return left === right || (left === shortHash(left) ? shortHash(right) === left : shortHash(left) === right);
}

/** The scheme of a hash, the part before the colon. Only hashes of one scheme can be compared. */
export function hashScheme(hash: string): string {
  return hash.slice(0, Math.max(0, hash.indexOf(':')));
}

/** Whether two hashes of one source tell if its content is the same: those of other keys, or of another scheme, do not. */
export function areComparable(
  one: Pick<SourceHash, 'hash' | 'keysHash'>,
  other: { readonly hash: string; readonly keysHash?: string | undefined },
): boolean {
  return one.keysHash === other.keysHash && hashScheme(one.hash) === hashScheme(other.hash);
}

/** The content that was seen last: the one to be applied, where a change of it is pending. */
export function recordedHash({ hash, pendingHash = hash }: SourceHash): string {
  return pendingHash;
}

/** A fingerprint of the list of keys that count; undefined for all keys. Order does not matter. */
export function keysHash(keys: readonly string[]): string | undefined {
  if (keys.length === 0) return undefined;
  return `${version}:${sha256([...new Set(keys)].sort(compareBytes))
    .toString('hex')
    .slice(0, 16)}`;
}

/**
 * A short digest per key, to name the keys that changed. Kept in memory only, so a plain truncated SHA-256
 * will do for Secrets too.
 */
export function keyDigests(
  source: ConfigWatcherSpecSource,
  content: Pick<ConfigMap, 'data' | 'binaryData'> | undefined,
): ReadonlyMap<string, string> {
  return new Map(
    (content ? entriesOf(source, content) : []).map(({ section, key, value }) => [
      key,
      sha256([section, key, value]).subarray(0, 12).toString('base64'),
    ]),
  );
}

/** The keys that were added, removed or given another value, sorted. */
export function changedKeys(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): string[] {
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys].filter((key) => before.get(key) !== after.get(key)).sort(compareBytes);
}

/**
 * One hash for several sources, whatever their order and whether they are shortened. The hash of a single source is its own, so that
 * people can compare them; undefined without any source.
 */
export function combinedHash(sources: readonly SourceHash[]): string | undefined {
  if (sources.length <= 1) return sources[0]?.hash;
  const sorted = [...sources].sort(
    (left, right) => compareBytes(left.kind, right.kind) || compareBytes(left.name, right.name),
  );
  const fields = sorted.flatMap(({ kind, name, keysHash: keys, hash }) => {
    return [kind, shortName(name), keys ?? '', shortHash(hash)];
  });
  return `${version}:${sha256(fields).toString('hex')}`;
}

/** A short name for one change: the same for each operator and each retry, another for the next change. */
export function changeId(hash: string, since: number): string {
  return sha256([hash, String(since)])
    .toString('hex')
    .slice(0, 10);
}
