/**
 * RequestLimits: how many requests of each sort may be under way. A sort is an HTTP method on a resource, such as
 * `POST pods`: it has a webhook, a priority level and a normal time of its own, so what is learned from one says
 * nothing about the others.
 */
import { ConcurrencyLimit, type RequestLimit } from './concurrency-limit.ts';
import { resourceOf } from './resource-path.ts';

export interface Sort {
  /** HTTP method. */
  readonly method: string;
  /** `pods`, `ats.example.com/status`; `other` for a path that is no resource's. */
  readonly resource: string;
  readonly limit: RequestLimit;
  /** Requests of all lanes, counted by the FairQueue. */
  underWay: number;
}

/** Where a transport learns of a request's sort. */
export interface Sorts {
  /** The same object for requests of one sort. */
  of(method: string, path: string): Sort;
}

export class RequestLimits implements Sorts {
  readonly #most: number;
  readonly #sorts = new Map<string, Sort>();

  /** @param most the limit of each sort at the start, and the highest: an integer ≥ 1. */
  constructor(most: number) {
    this.#most = most;
  }

  of(method: string, path: string): Sort {
    const resource = resourceOf(path) ?? 'other';
    const key = `${method} ${resource}`;
    let sort = this.#sorts.get(key);
    if (sort === undefined) {
      sort = { method, resource, limit: new ConcurrencyLimit({ most: this.#most }), underWay: 0 };
      this.#sorts.set(key, sort);
    }
    return sort;
  }

  /** Those that there have been requests of. */
  all(): Iterable<Sort> {
    return this.#sorts.values();
  }
}

/** One sort for everything, without a limit of its own. */
export function unlimited(): Sorts {
  const limit = { current: Number.POSITIVE_INFINITY, observe() {} };
  const sort: Sort = { method: '', resource: '', limit, underWay: 0 };
  return { of: () => sort };
}
