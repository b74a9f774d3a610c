/**
 * Entries: what a history is made of. Every instant is true time, epoch milliseconds: the cluster's, not that of
 * a replica's clock.
 */
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';

export type Verb = 'create' | 'update' | 'patch' | 'delete' | 'deletecollection' | 'get' | 'list' | 'watch';

export type Json = Readonly<Record<string, unknown>>;

/** Which collection, object and subresource a request is about. */
export interface Target {
  readonly group: string;
  /** `pods`, `ats`, … */
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  /** Empty for a collection. */
  readonly name: string;
}

/** One request, once it is answered. */
export interface RequestEntry extends Target {
  readonly type: 'request';
  readonly time: number;
  /** When its first byte left the process. */
  readonly sentAt: number;
  /** The process of the operator that sent it; undefined for everybody else. */
  readonly replica: string | undefined;
  readonly user: string;
  readonly verb: Verb;
  readonly query: ReadonlyMap<string, string>;
  readonly contentType: string;
  /** Empty when there is none, or when its source keeps no bodies. */
  readonly body: string;
  readonly code: number;
  /** Body of the answer; empty for a watch. */
  readonly answer: string;
}

export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** One change of etcd. */
export interface ChangeEntry {
  readonly type: 'change';
  readonly time: number;
  readonly change: ChangeType;
  readonly resource: string;
  /** Of a deleted object, its last state. */
  readonly object: KubernetesObject;
  readonly previous: KubernetesObject | undefined;
  /** The request that made it, as far as it is known; a change by a controller has none. */
  readonly by:
    | { readonly replica: string | undefined; readonly user: string; readonly sentAt: number }
    | undefined;
}

/** A replica has been shown an object: by a watch event or by an answer. */
export interface SeenEntry {
  readonly type: 'seen';
  readonly time: number;
  readonly replica: string;
  readonly resource: string;
  readonly object: KubernetesObject;
  /** It was shown that the object is gone. */
  readonly gone: boolean;
  /** It is the answer to a write of this replica. */
  readonly isWritten?: boolean;
}

/** What a container got of one ConfigMap or Secret. */
export interface MountedSource {
  readonly kind: string;
  readonly name: string;
  readonly data: Readonly<Record<string, string>> | undefined;
}

export interface ContainerStartEntry {
  readonly type: 'container-start';
  readonly time: number;
  readonly namespace: string;
  readonly pod: string;
  readonly podUid: string;
  readonly container: string;
  readonly sources: readonly MountedSource[];
}

export interface ContainerEndEntry {
  readonly type: 'container-end';
  readonly time: number;
  readonly namespace: string;
  readonly pod: string;
  readonly podUid: string;
  readonly container: string;
  readonly exitCode: number;
}

/** A fault begins or ends; one that lasts no time has only a beginning. */
export interface FaultEntry {
  readonly type: 'fault';
  readonly time: number;
  readonly id: number;
  /** As in the coverage table. */
  readonly kind: string;
  readonly state: 'begins' | 'ends' | 'strikes';
  readonly replica: string | undefined;
  readonly text: string;
}

/** What a person, or another program, did. */
export interface EditEntry {
  readonly type: 'edit';
  readonly time: number;
  readonly actor: string;
  readonly text: string;
}

export interface ReplicaEntry {
  readonly type: 'replica';
  readonly time: number;
  readonly replica: string;
  readonly state: 'started' | 'killed' | 'exited' | 'stopped' | 'continued';
  /** Of a process that has exited: its code, and what it wrote on standard error. */
  readonly end?: { readonly code: number; readonly stderr: string };
  /** Milliseconds by which its wall clock is ahead of true time. */
  readonly clockAhead?: number;
}

/** One line of a replica's log. */
export interface LogEntry {
  readonly type: 'log';
  readonly time: number;
  readonly replica: string;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly text: string;
}

/** No more faults and edits come, and everything that is awaited has had its time. */
export interface CalmEntry {
  readonly type: 'calm';
  readonly time: number;
}

export type Entry =
  | RequestEntry
  | ChangeEntry
  | SeenEntry
  | ContainerStartEntry
  | ContainerEndEntry
  | FaultEntry
  | EditEntry
  | ReplicaEntry
  | LogEntry
  | CalmEntry;

export type EntryOf<T extends Entry['type']> = Extract<Entry, { readonly type: T }>;

const reads: ReadonlySet<Verb> = new Set(['get', 'list', 'watch']);

export function isWrite({ verb, query }: RequestEntry): boolean {
  return !reads.has(verb) && query.get('dryRun') !== 'All';
}

export function isAccepted({ code }: RequestEntry): boolean {
  return code >= 200 && code < 300;
}

/** A body as JSON; undefined when there is none or when it is no JSON. */
export function jsonOf(text: string): Json | undefined {
  if (text === '') return undefined;
  if (text !== lastText) {
    lastText = text;
    lastJson = parsed(text);
  }
  return lastJson;
}

/** Several promises look at one body after the other. */
let lastText = '';
let lastJson: Json | undefined;

function parsed(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * What a path names: `/apis/GROUP/VERSION/namespaces/NS/RESOURCE/NAME/SUBRESOURCE`, `/api/v1/…`. Undefined for
 * other paths, such as those of discovery.
 */
export function targetOf(path: string): Target | undefined {
  let target = targets.get(path);
  if (target === undefined && !targets.has(path)) {
    if (targets.size >= keptPaths) targets.clear();
    target = named(path);
    targets.set(path, target);
  }
  return target;
}

/** The same few paths come again and again. */
const targets = new Map<string, Target | undefined>();
const keptPaths = 10_000;

function named(path: string): Target | undefined {
  const parts = path.split('/');
  const isCore = parts[1] === 'api';
  if (!isCore && parts[1] !== 'apis') return undefined;
  const group = isCore ? '' : (parts[2] ?? '');
  const rest = parts.slice(isCore ? 3 : 4);
  const isNamespaced = rest[0] === 'namespaces' && rest.length > 2;
  const [resource, name = '', subresource = ''] = isNamespaced ? rest.slice(2) : rest;
  if (resource === undefined || resource === '') return undefined;
  return { group, resource, subresource, namespace: isNamespaced ? (rest[1] ?? '') : '', name };
}

export function verbOf(method: string, target: Target, query: ReadonlyMap<string, string>): Verb {
  switch (method) {
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return target.name === '' ? 'deletecollection' : 'delete';
    default:
      if (query.get('watch') === 'true' || query.get('watch') === '1') return 'watch';
      return target.name === '' ? 'list' : 'get';
  }
}
