/**
 * Paged list: reads a whole collection page by page, and each page item by item while it arrives, so that neither
 * side holds a huge answer at once and the event loop turns in between.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { Clock } from '../clock.ts';
import { Pace } from '../pace.ts';
import { isExpired, TransportError } from './api-error.ts';
import type { ListOptions, ListResult } from './client.ts';
import { DeadlineError } from './deadline.ts';
import { ListSplitter } from './list-splitter.ts';
import { PageSize } from './page-size.ts';
import type { QueryValue } from './resource-path.ts';

/** What the API server sends for a list; items carry no apiVersion and kind. */
export interface RawList<T> {
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items?: readonly T[] | null;
}

type Query = Readonly<Record<string, QueryValue>>;

export interface PageSource<T extends KubernetesObject> {
  readonly clock: Clock;
  /** `GET /api/v1/…`, for messages. */
  readonly title: string;
  /** Asks for one page, whose bytes then arrive. */
  readonly fetch: (query: Query) => Promise<AsyncIterable<Buffer>>;
  /** @throws {TransportError} for an answer that is no list. */
  readonly check: (answer: unknown) => RawList<T>;
  /** Applied to each item. */
  readonly complete: (item: T) => T;
}

/** A body that breaks off is asked for again so many times; the caller of a list has a backoff of its own. */
const repetitions = 2;

/** All pages as one list. When the server forgets the list half-way (410), the list begins again, once. */
export async function listPages<T extends KubernetesObject>(
  source: PageSource<T>,
  options: ListOptions,
): Promise<ListResult<T>> {
  const size = new PageSize(options.limit);
  try {
    return await readPages(source, options, size);
  } catch (error) {
    if (!(error instanceof ContinueExpired)) throw error;
  }
  try {
    return await readPages(source, options, size);
  } catch (error) {
    throw error instanceof ContinueExpired ? error.cause : error;
  }
}

/** A later page was refused with 410: a newer list can still be had. */
class ContinueExpired extends Error {
  override readonly name = 'ContinueExpired';
}

/** The body ended before its end. */
class BrokenOff extends Error {
  override readonly name = 'BrokenOff';
}

async function readPages<T extends KubernetesObject>(
  source: PageSource<T>,
  options: ListOptions,
  size: PageSize,
): Promise<ListResult<T>> {
  const { labelSelector, fieldSelector, resourceVersion } = options;
  const items: T[] = [];
  let token: string | undefined;
  for (;;) {
    // The token stands for the resource version of the first page; giving both is an error.
    const position: Query = token === undefined ? { resourceVersion } : { continue: token };
    const query = { limit: size.limit, labelSelector, fieldSelector, ...position };
    const page = await readPage(source, query, options).catch((error: unknown) => {
      if (token === undefined || !isExpired(error)) throw error;
      throw new ContinueExpired('the list expired between two pages', { cause: error });
    });
    for (const item of page.items) items.push(item);
    size.observe(page.bytes);
    token = page.list.metadata?.continue;
    if (token === undefined || token === '') {
      return { items, resourceVersion: page.list.metadata?.resourceVersion ?? '' };
    }
  }
}

interface Page<T> {
  readonly list: RawList<T>;
  readonly items: readonly T[];
  /** Of the body. */
  readonly bytes: number;
}

async function readPage<T extends KubernetesObject>(
  source: PageSource<T>,
  query: Query,
  options: ListOptions,
): Promise<Page<T>> {
  for (let attempt = 0; ; attempt++) {
    const body = await source.fetch(query);
    try {
      return await readBody(source, marked(body), options);
    } catch (error) {
      if (!(error instanceof BrokenOff)) throw error;
      if (attempt >= repetitions || options.signal?.aborted || isOverdue(error.cause)) throw error.cause;
    }
  }
}

/** The body, whose own errors differ from those about its content. */
function marked(body: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  return {
    [Symbol.asyncIterator]() {
      const chunks = body[Symbol.asyncIterator]();
      return {
        next: () => chunks.next().catch(brokenOff),
        return: async () => (await chunks.return?.()) ?? { done: true, value: undefined },
      };
    },
  };
}

function brokenOff(cause: unknown): never {
  throw new BrokenOff('the body broke off', { cause });
}

function isOverdue(error: unknown): boolean {
  return error instanceof TransportError && error.cause instanceof DeadlineError;
}

async function readBody<T extends KubernetesObject>(
  { clock, title, check, complete }: PageSource<T>,
  body: AsyncIterable<Buffer>,
  { transform, onPart }: ListOptions,
): Promise<Page<T>> {
  const splitter = new ListSplitter();
  const pace = new Pace(clock);
  const items: T[] = [];
  let count = 0;
  let bytes = 0;
  const keep = (item: unknown) => {
    count++;
    if (typeof item !== 'object' || item === null) throw unreadable(title, 'an item is no object');
    const object = complete(item as T);
    const kept = transform === undefined ? object : (transform(object) as T | undefined);
    if (kept !== undefined) items.push(kept);
  };
  for await (const chunk of body) {
    bytes += chunk.length;
    const turn = onPart?.();
    if (turn !== undefined) await turn;
    pace.begin();
    for (const text of splitter.push(chunk)) {
      keep(parse(title, text));
      if (pace.isDue) await pace.turn();
    }
    pace.end();
  }
  const list = check(parse(title, splitter.envelope));
  // Items whose key was escaped are in the envelope still.
  const rest = list.items ?? [];
  if (rest.length > 0 && count > 0) throw unreadable(title, 'the list has items twice');
  for (const item of rest) keep(item);
  return { list, items, bytes };
}

function parse(title: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The cause would quote the answer, which may be a Secret.
    throw unreadable(title, 'the answer is not JSON');
  }
}

function unreadable(title: string, why: string): TransportError {
  return new TransportError(`${title}: ${why}`, true);
}
