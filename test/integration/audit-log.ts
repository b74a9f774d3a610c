/**
 * Audit log: which writes an API server was sent, by its own account. A refused one counts as well: a client that
 * may not write must not even try.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { historyOfAuditLog, readAuditLog } from '../simulation/audit-history.ts';
import { onlyLeadersWrite } from '../simulation/promises/writes.ts';

export interface AuditedWrite {
  readonly writer: string;
  /** `leases`, `configmaps`, … */
  readonly resource: string;
  /** RFC 3339 with six fraction digits, so that the order of the texts is that of the instants. */
  readonly received: string;
  readonly answered: string;
  readonly code: number;
}

/** A line of the log, as far as it is read here. */
interface Line {
  readonly verb: string;
  readonly userAgent?: string;
  readonly objectRef?: { readonly resource?: string };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly responseStatus?: { readonly code?: number };
}

const reads = new Set(['get', 'list', 'watch']);

/** All writes of these user agents, in the order in which they were received. */
export async function writesOf(log: string | undefined, writers: readonly string[]): Promise<AuditedWrite[]> {
  const lines = (await readFile(log ?? '', 'utf8')).trimEnd().split('\n');
  return lines
    .map((line): Line => JSON.parse(line))
    .filter(({ verb, userAgent }) => !reads.has(verb) && writers.includes(userAgent ?? ''))
    .map((line) => ({
      writer: line.userAgent ?? '',
      resource: line.objectRef?.resource ?? '',
      received: line.requestReceivedTimestamp,
      answered: line.stageTimestamp,
      code: line.responseStatus?.code ?? 0,
    }))
    .sort((a, b) => (a.received < b.received ? -1 : 1));
}

/** Who wrote that resource, each named once per turn. */
export function turnsOf(writes: readonly AuditedWrite[], resource: string): string[] {
  return writes
    .filter((write) => write.resource === resource && write.code < 300)
    .map(({ writer }) => writer)
    .filter((writer, index, all) => writer !== all[index - 1]);
}

/** No other process than the holder of the Lease wrote anything else, and none after it had lost it (S11). */
export async function assertOnlyLeadersWrote(
  log: string | undefined,
  writers: readonly string[],
): Promise<void> {
  const { violations } = historyOfAuditLog(await readAuditLog(log), {
    promises: [onlyLeadersWrite],
    replicaOf: ({ userAgent }) => (writers.includes(userAgent) ? userAgent : undefined),
  });
  assert.deepEqual(violations, []);
}
