/**
 * Audit history: the history that an API server's audit log tells. It has requests and no bodies, so it is for the
 * promises that need no more: who writes, and with which rights.
 */
import { readFile } from 'node:fs/promises';
import type { RequestEntry, Verb } from './entry.ts';
import { History, type NamedPromise } from './history.ts';

/** A line of the log, as far as it is read here. */
interface Line {
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly user?: { readonly username?: string };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly responseStatus?: { readonly code?: number };
}

export interface AuditOptions {
  readonly promises: readonly NamedPromise[];
  /** The replica that sent a request; undefined for everybody else. */
  readonly replicaOf: (line: { readonly userAgent: string; readonly user: string }) => string | undefined;
}

/** The history with what breaks the promises in it, in the order of the answers. */
export function historyOfAuditLog(lines: readonly string[], options: AuditOptions): History {
  const history = new History(options.promises);
  const entries = lines.filter(Boolean).map((line) => entryOf(JSON.parse(line), options));
  for (const entry of entries.sort((one, other) => one.time - other.time)) history.add(entry);
  return history;
}

export async function readAuditLog(path: string | undefined): Promise<string[]> {
  return (await readFile(path ?? '', 'utf8')).split('\n');
}

function entryOf(line: Line, { replicaOf }: AuditOptions): RequestEntry {
  const { objectRef = {}, userAgent = '', verb } = line;
  const { apiGroup = '', resource = '', subresource = '', namespace = '', name = '' } = objectRef;
  const user = line.user?.username ?? '';
  const [, query = ''] = line.requestURI.split('?');
  return {
    ...{ type: 'request', group: apiGroup, resource, subresource, namespace, name, user, verb: verb as Verb },
    replica: replicaOf({ userAgent, user }),
    time: instantOf(line.stageTimestamp),
    sentAt: instantOf(line.requestReceivedTimestamp),
    query: new Map(new URLSearchParams(query)),
    ...{ contentType: '', body: '', answer: '', code: line.responseStatus?.code ?? 0 },
  };
}

/** Epoch milliseconds with the microseconds as a fraction, so that the order stays. */
function instantOf(text: string): number {
  const micros = Number(/\.\d{3}(\d{3})Z$/.exec(text)?.[1] ?? 0);
  return Date.parse(text) + micros / 1000;
}
