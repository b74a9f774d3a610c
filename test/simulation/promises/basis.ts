/** Basis: the states of an object that a request may have been decided on, by what its sender had been shown. */
import type { ChangeEntry } from '../entry.ts';
import type { History, Seen } from '../history.ts';

/** So long a request may have waited in its process since it was decided, in milliseconds. */
const shortWait = 500;
/** The same while requests hang: the others wait in line for their connections. */
const longWait = 10_000;

export function waitOf(history: History, sentAt: number): number {
  return history.faults.size > 0 || sentAt - history.faultedAt < longWait ? longWait : shortWait;
}

/**
 * The newest state that the sender had been shown when it may have decided first, and all that it was shown since.
 * Without a record of what replicas were shown: what etcd holds.
 */
export function basesOf(history: History, by: ChangeEntry['by'], uid: string): readonly Seen[] {
  if (!history.tracksSeen) {
    const run = history.runs.byUid.get(uid);
    return run === undefined ? [] : [{ object: run.at, time: run.createdAt, gone: run.goneAt !== undefined }];
  }
  const { replica = '', sentAt = history.time } = by ?? {};
  const earliest = sentAt - waitOf(history, sentAt);
  const later = (history.replicas.get(replica)?.seen.get(uid) ?? []).filter(
    ({ time }) => time > earliest && time <= sentAt,
  );
  const before = history.knownBy(replica, uid, earliest);
  return before === undefined ? later : [before, ...later];
}
