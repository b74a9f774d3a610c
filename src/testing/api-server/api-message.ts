/**
 * Messages to and from a simulated API server: a request, its answer, and the ways in which an answer goes back.
 */

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface ApiRequest {
  readonly method: Method;
  /** Without the query, percent-encoded as it was sent. */
  readonly path: string;
  /** Decoded. */
  readonly query: ReadonlyMap<string, string>;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Empty when there is none. */
  readonly body: string;
  /** Who asks, by the name that an audit log would have. */
  readonly user: string;
}

export interface ApiAnswer {
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How an answer goes back: whole, or as a stream that begins with 200. Implemented by a network. */
export interface Responder {
  answer(answer: ApiAnswer): void;
  begin(headers: Readonly<Record<string, string>>): void;
  write(text: string): void;
  /** The stream ends cleanly. */
  end(): void;
  /** The connection is reset. */
  cut(): void;
  /** Bytes that the client has not taken yet. */
  readonly unsent?: number;
}

/** The time of a server. */
export interface ServerTime {
  /** Wall clock, epoch milliseconds. */
  readonly now: number;
  /** Calls back once after so many milliseconds, never synchronously. */
  schedule(delay: number, run: () => void): { cancel(): void };
}

/** Path and decoded query of a request target such as `/api/v1/pods?limit=1`. */
export function splitTarget(target: string): { path: string; query: ReadonlyMap<string, string> } {
  const mark = target.indexOf('?');
  if (mark < 0) return { path: target, query: noQuery };
  return { path: target.slice(0, mark), query: parseQuery(target.slice(mark + 1)) };
}

const noQuery: ReadonlyMap<string, string> = new Map();

/** The first value of each name, as the API server takes it. */
export function parseQuery(text: string): ReadonlyMap<string, string> {
  const query = new Map<string, string>();
  for (const part of text.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = decoded(equals < 0 ? part : part.slice(0, equals));
    if (!query.has(name)) query.set(name, equals < 0 ? '' : decoded(part.slice(equals + 1)));
  }
  return query;
}

function decoded(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
}

export function isWatch({ query }: ApiRequest): boolean {
  const watch = query.get('watch');
  return watch === 'true' || watch === '1';
}

export function isDryRun({ query }: ApiRequest): boolean {
  return query.get('dryRun') === 'All';
}

export function wantsMetadataOnly({ headers }: ApiRequest): boolean {
  const { accept } = headers;
  return accept?.includes('as=PartialObjectMetadata') === true;
}
