/**
 * Network faults: what goes wrong between a process and the API server with which requests.
 */
import type { Random } from '../random.ts';

/** What happens to one request and its answer. */
export type NetworkFault =
  /** The request never arrives. The connection is reset, or, without that, nothing ever comes back. */
  | { readonly kind: 'requestLost'; readonly reset: boolean }
  /** The request is done, its answer never arrives. The connection is reset, or stays silent. */
  | { readonly kind: 'answerLost'; readonly reset: boolean }
  /** The connection is reset after so many bytes of the answer's body, as in the middle of a line. */
  | { readonly kind: 'cut'; readonly bytes: number }
  /** The answer's body arrives in pieces of so many bytes, so many ms apart, in the first minute. */
  | { readonly kind: 'drip'; readonly bytes: number; readonly every: number }
  /** Request and answer are so many ms late. */
  | { readonly kind: 'delay'; readonly request: number; readonly answer: number }
  /** A proxy answers by itself, with a page of text. */
  | { readonly kind: 'page'; readonly code: 404 | 502 | 503 };

/** The name of a {@link NetworkFault}. */
export type NetworkFaultKind = NetworkFault['kind'];

/** What a proxy says by itself. */
export const pages = {
  404: 'default backend - 404\n',
  502: '<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n',
  503: 'upstream connect error or disconnect/reset before headers. reset reason: connection failure\n',
};

/** A request, as far as a fault looks at it. */
export interface SentRequest {
  /** Name of the link that it is sent over. */
  readonly link: string;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
}

/** Which requests a fault hits: all that is given must hold. */
export interface FaultMatch {
  readonly link?: string;
  readonly method?: string;
  /** Found anywhere in path and query. */
  readonly target?: string;
  /** How many matching requests pass before. Default 0. */
  readonly skip?: number;
}

interface Scripted {
  readonly match: FaultMatch;
  readonly fault: NetworkFault;
  readonly onUse: (() => void) | undefined;
  skip: number;
  left: number;
}

/** The faults to come, in the order in which they were said. */
export class FaultScript {
  #scripted: Scripted[] = [];

  /** Returns a function that takes the fault back. `onUse` is called with each request that is hit. */
  add(match: FaultMatch, fault: NetworkFault, times: number, onUse?: () => void): () => void {
    const scripted = { match, fault, onUse, skip: match.skip ?? 0, left: times };
    this.#scripted.push(scripted);
    return () => {
      scripted.left = 0;
    };
  }

  /** The fault that hits this request; it counts as used. */
  take(request: SentRequest): NetworkFault | undefined {
    if (this.#scripted.length === 0) return undefined;
    this.#scripted = this.#scripted.filter(({ left }) => left > 0);
    for (const scripted of this.#scripted) {
      if (!matches(scripted.match, request)) continue;
      if (scripted.skip-- > 0) continue;
      scripted.left--;
      scripted.onUse?.();
      return scripted.fault;
    }
    return undefined;
  }
}

function matches({ link, method, target }: FaultMatch, request: SentRequest): boolean {
  return (
    (link === undefined || link === request.link) &&
    (method === undefined || method === request.method) &&
    (target === undefined || request.target.includes(target))
  );
}

/** A fault of that kind with seeded particulars. */
export function randomFault(kind: NetworkFaultKind, random: Random): NetworkFault {
  switch (kind) {
    case 'requestLost':
    case 'answerLost':
      return { kind, reset: random.chance(0.7) };
    case 'cut':
      return { kind, bytes: random.integer(random.chance(0.5) ? 100 : 20_000) };
    case 'drip':
      return { kind, bytes: 1 + random.integer(4000), every: random.next() * 200 };
    case 'delay':
      return { kind, request: delay(random), answer: delay(random) };
    case 'page':
      return { kind, code: random.pick([404, 502, 503]) };
  }
}

/** Mostly short, sometimes longer than any deadline. */
function delay(random: Random): number {
  return random.next() ** 4 * 40_000;
}
