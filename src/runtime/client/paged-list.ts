/**
 * Paged list: reads a whole collection page by page, so that neither side holds a huge answer at once.
 */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { isExpired } from './api-error.ts';
import type { ListOptions, ListResult } from './client.ts';
import type { QueryValue } from './resource-path.ts';

/** What the API server sends for a list; items carry no apiVersion and kind. */
export interface RawList<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly T[] | null;
}

type Query = Readonly<Record<string, QueryValue>>;

const defaultPageSize = 500;

/**
 * All pages as one list. When the server forgets the list half-way (410), the list begins again, once.
 *
 * @param page fetches one page. @param complete is applied to each item.
 */
export async function listPages<T extends KubernetesObject>(
  page: (query: Query) => Promise<RawList<T>>,
  complete: (item: T) => T,
  options: ListOptions,
): Promise<ListResult<T>> {
  const pages: Pages<T> = { page, complete, options };
  try {
    return await readPages(pages);
  } catch (error) {
    if (!(error instanceof ContinueExpired)) throw error;
  }
  try {
    return await readPages(pages);
  } catch (error) {
    throw error instanceof ContinueExpired ? error.cause : error;
  }
}

interface Pages<T extends KubernetesObject> {
  readonly page: (query: Query) => Promise<RawList<T>>;
  readonly complete: (item: T) => T;
  readonly options: ListOptions;
}

/** A later page was refused with 410: a newer list can still be had. */
class ContinueExpired extends Error {
  override readonly name = 'ContinueExpired';
}

async function readPages<T extends KubernetesObject>({
  page,
  complete,
  options,
}: Pages<T>): Promise<ListResult<T>> {
  const { labelSelector, fieldSelector, resourceVersion, limit = defaultPageSize } = options;
  const items: T[] = [];
  let token: string | undefined;
  for (;;) {
    // The token stands for the resource version of the first page; giving both is an error.
    const position: Query = token === undefined ? { resourceVersion } : { continue: token };
    const query = { limit, labelSelector, fieldSelector, ...position };
    const list = await page(query).catch((error: unknown) => {
      if (token === undefined || !isExpired(error)) throw error;
      throw new ContinueExpired('the list expired between two pages', { cause: error });
    });
    for (const item of list.items ?? []) {
      const kept = transformed(complete(item), options);
      if (kept !== undefined) items.push(kept);
    }
    token = list.metadata?.continue;
    if (token === undefined || token === '') {
      return { items, resourceVersion: list.metadata?.resourceVersion ?? '' };
    }
  }
}

function transformed<T extends KubernetesObject>(object: T, { transform }: ListOptions): T | undefined {
  return transform === undefined ? object : (transform(object) as T | undefined);
}
