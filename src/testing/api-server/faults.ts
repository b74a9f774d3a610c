/**
 * Faults of a simulated API server: what goes wrong with which requests, said in advance.
 */
import { type ApiRequest, isWatch } from './api-message.ts';
import type { Target } from './route.ts';

export type Fault =
  /** Answers this instead. A `text` is sent as it is, otherwise the body is a Status. */
  | {
      readonly kind: 'status';
      readonly code: number;
      readonly reason?: string;
      /** Seconds. */
      readonly retryAfter?: number;
      readonly text?: string;
      readonly contentType?: string;
    }
  /** Never answers; `commit` says whether the request is done all the same. */
  | { readonly kind: 'hang'; readonly commit?: boolean }
  /** Cuts the connection without an answer, before or after the request was done. */
  | { readonly kind: 'cut'; readonly when: 'before' | 'after' }
  /** Gives up at the request's own time limit; `commit` says whether the request is done all the same. */
  | { readonly kind: 'timeout'; readonly commit?: boolean }
  /** Answers so many milliseconds late. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** A watch that opens and then never says anything. */
  | { readonly kind: 'mute' }
  /** A watch that sends this text as it is right after opening, and then goes on. */
  | { readonly kind: 'text'; readonly text: string }
  /** A watch whose bytes arrive in chunks of this size: a matter of the network, which the server leaves to it. */
  | { readonly kind: 'drip'; readonly size: number };

export interface FaultMatch {
  readonly method?: string;
  /** Plural of the resource. */
  readonly resource?: string;
  readonly name?: string;
  readonly subresource?: string;
  readonly watch?: boolean;
  /** Found anywhere in path and query. */
  readonly path?: string;
  /** How many requests it hits; default 1. */
  readonly times?: number;
  /** How many matching requests pass before. */
  readonly skip?: number;
}

interface Scripted {
  readonly match: FaultMatch;
  readonly fault: Fault;
  skip: number;
  left: number;
}

export class FaultScript {
  readonly #scripted: Scripted[] = [];

  /** Returns a function that takes the fault back. */
  add(match: FaultMatch, fault: Fault): () => void {
    const scripted = { match, fault, skip: match.skip ?? 0, left: match.times ?? 1 };
    this.#scripted.push(scripted);
    return () => {
      scripted.left = 0;
    };
  }

  /** The fault that hits this request; it counts as used. */
  take(request: ApiRequest, target: Target | undefined): Fault | undefined {
    for (const scripted of this.#scripted) {
      if (scripted.left <= 0 || !matches(scripted.match, request, target)) continue;
      if (scripted.skip > 0) {
        scripted.skip--;
        continue;
      }
      scripted.left--;
      return scripted.fault;
    }
    return undefined;
  }
}

function matches(match: FaultMatch, request: ApiRequest, target: Target | undefined): boolean {
  return (
    (match.method === undefined || match.method === request.method) &&
    (match.resource === undefined || match.resource === target?.resource.plural) &&
    (match.name === undefined || match.name === target?.name) &&
    (match.subresource === undefined || match.subresource === target?.subresource) &&
    (match.watch === undefined || match.watch === isWatch(request)) &&
    (match.path === undefined || pathAndQuery(request).includes(match.path))
  );
}

function pathAndQuery({ path, query }: ApiRequest): string {
  return `${path}?${[...query].map(([name, value]) => `${name}=${value}`).join('&')}`;
}
