/**
 * Status size: below 8 KiB, whatever the spec names. Where it would be larger, what only people read is left
 * out, step by step; what a restart turns on (hashes, instants, counts) never is, and the names of owners in the middle
 * of a restart are dropped last. The status that was written, read back and fitted again, comes out the same.
 */
import type { ConfigWatcherStatus } from '../../api/configwatcher.generated.ts';
import { watcherReason } from '../../api/configwatcher-constants.ts';
import { maxPlaces } from '../facts/state.ts';
import { isShortHash, shortHash, shortName, withoutScheme } from '../plan/config-hash.ts';

/** Bytes of the status as JSON. */
export const statusLimit = 8 * 1024 - 1;
/** Bytes as JSON, with the quotes. */
const shortMessage = 128;

/** A condition with a short message, and an owner with the longest numbers and an empty name, as JSON. */
const bytesPerCondition = 300;
const bytesPerOwner = 133;
const conditionTypes = 5;

/**
 * How many owners in the middle of a restart a status has room for, with everything else that decisions turn on. The API
 * server refuses a status with more than {@link maxPlaces}.
 *
 * @param longestName characters of kind and name of an owner, at most.
 */
export function roomForOwners(
  { conditions, history, lastRestart, pending, ...rest }: ConfigWatcherStatus,
  longestName: number,
): number {
  const { owners, podSelector, ...waiting } = pending ?? { hash: '', since: '' };
  const { trigger, owners: shown, ...restart } = lastRestart ?? {};
  const fixed = { ...rest, pending: waiting, lastRestart: restart };
  const kept = bytesPerOwner + longestName;
  const size = sizeOf(fixed) + conditionTypes * bytesPerCondition + kept;
  return Math.min(maxPlaces, Math.max(1, Math.floor((statusLimit - size) / (bytesPerOwner + longestName))));
}

export function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Of the changed keys only how many they are. */
function countKeys(status: ConfigWatcherStatus): ConfigWatcherStatus | undefined {
  const { lastRestart } = status;
  const keys = lastRestart?.trigger?.changedKeys;
  const [last = ''] = keys?.slice(-1) ?? [];
  if (!keys || (keys.length === 1 && last.startsWith('+'))) return undefined;
  const count = last.startsWith('+') ? keys.length - 1 + Number(last.slice(1)) : keys.length;
  const trigger = { ...lastRestart.trigger, changedKeys: [`+${count}`] };
  return { ...status, lastRestart: { ...lastRestart, trigger } };
}

function dropTriggers(status: ConfigWatcherStatus): ConfigWatcherStatus | undefined {
  const { history = [] } = status;
  if (!history.some(({ trigger }) => trigger)) return undefined;
  return { ...status, history: history.map(({ trigger, ...entry }) => entry) };
}

function dropOldest(status: ConfigWatcherStatus): ConfigWatcherStatus | undefined {
  const { history = [] } = status;
  return history.length === 0 ? undefined : { ...status, history: history.slice(0, -1) };
}

function shorten(message: string): string {
  if (sizeOf(message) <= shortMessage) return message;
  const letters = [...message.slice(0, shortMessage)];
  while (sizeOf(`${letters.join('')}…`) > shortMessage) letters.pop();
  return `${letters.join('')}…`;
}

function shortenMessages(status: ConfigWatcherStatus): ConfigWatcherStatus | undefined {
  const { conditions = [] } = status;
  if (conditions.every(({ message }) => sizeOf(message) <= shortMessage)) return undefined;
  return { ...status, conditions: conditions.map((one) => ({ ...one, message: shorten(one.message) })) };
}

/** For people only, but for one that says that the content breaks Pods: the restart has stopped for it. */
function dropOwnerRecords(status: ConfigWatcherStatus): ConfigWatcherStatus | undefined {
  const { lastRestart } = status;
  if (!lastRestart?.owners) return undefined;
  const { owners, ...record } = lastRestart;
  const kept = owners.filter(({ reason }) => reason === watcherReason.newPodsNotAvailable).slice(0, 1);
  if (kept.length === owners.length) return undefined;
  return { ...status, lastRestart: kept.length > 0 ? { ...record, owners: kept } : record };
}

/**
 * An owner that has Pods is found by them. One that has none at the moment is forgotten, so this is the last resort: for
 * owners whose restart began before the spec named further sources.
 */
function dropOwnerNames(status: ConfigWatcherStatus): ConfigWatcherStatus | undefined {
  const { pending } = status;
  if (!pending?.owners?.some(({ name }) => name !== undefined)) return undefined;
  const owners = pending.owners.map(({ kind, name, ...owner }) => owner);
  return { ...status, pending: { ...pending, owners } };
}

/** What is left tells the sources and their contents apart. */
function shortenSources(status: ConfigWatcherStatus): ConfigWatcherStatus | undefined {
  const { sources = [] } = status;
  const shortened = sources.map((source) => {
    const { hash = '', pendingHash } = source;
    const short = { ...source, name: shortName(source.name), hash: shortHash(hash) };
    if (pendingHash === undefined) return short;
    return { ...short, pendingHash: withoutScheme(shortHash(pendingHash), short.hash) };
  });
  return sizeOf(shortened) < sizeOf(sources) ? { ...status, sources: shortened } : undefined;
}

/** Pods that a narrower selector leaves out are not told of then. */
function dropSelector(status: ConfigWatcherStatus): ConfigWatcherStatus | undefined {
  const { pending } = status;
  if (pending?.podSelector === undefined) return undefined;
  const { podSelector, ...rest } = pending;
  return { ...status, pending: rest };
}

const steps: readonly ((status: ConfigWatcherStatus) => ConfigWatcherStatus | undefined)[] = [
  countKeys,
  dropTriggers,
  dropOldest,
  shortenSources,
  dropOwnerRecords,
  shortenMessages,
  dropSelector,
  dropOwnerNames,
];

/**
 * The status, or so much less of it that it is small enough. Sources that were shortened stay so until all of them are
 * known again in full, so that a second look changes nothing.
 */
export function fitStatus(status: ConfigWatcherStatus): ConfigWatcherStatus {
  const wasShort = status.sources?.some(({ hash = '' }) => isShortHash(hash));
  return fit((wasShort && shortenSources(status)) || status);
}

function fit(status: ConfigWatcherStatus): ConfigWatcherStatus {
  if (sizeOf(status) <= statusLimit) return status;
  for (const step of steps) {
    const less = step(status);
    if (less) return fit(less);
  }
  return status;
}
