/**
 * ClientMetrics: what the transport shows to Prometheus, under client-go's names and buckets, so that
 * dashboards made for controllers in Go fit.
 */
import { Counter, Gauge, type Registry } from '@prometheus-io/client';
import { type Tally, TallyHistogram } from '../metrics/tally-histogram.ts';
import type { RequestLimits } from './request-limits.ts';

export interface ClientMetrics {
  /**
   * One request was answered, or failed.
   *
   * @param code HTTP status, or undefined when there was no answer.
   * @param duration milliseconds.
   */
  observe(method: string, code: number | undefined, duration: number): void;
}

export const noClientMetrics: ClientMetrics = { observe() {} };

const latencyBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/** What a healthy client is answered, per method: these series exist from the start. */
const usualCodes: Readonly<Record<string, string>> = {
  GET: '200',
  POST: '201',
  PUT: '200',
  PATCH: '200',
  DELETE: '200',
};

/** Requests of one series that the counter does not have yet. */
interface Uncounted {
  readonly labels: { readonly code: string; readonly method: string; readonly host: string };
  requests: number;
}

class ClientFamily {
  readonly #duration: TallyHistogram;
  /** The counter finds a series by the text of its labels, so it is told at a scrape and not of each request. */
  readonly #uncounted: Uncounted[] = [];
  readonly #limits = new Map<string, RequestLimits>();

  constructor(registry: Registry) {
    const registers = [registry];
    const requests: Counter<'code' | 'method' | 'host'> = new Counter({
      registers,
      name: 'rest_client_requests_total',
      help: 'HTTP requests to the API server, by status code, method and host',
      labelNames: ['code', 'method', 'host'],
      collect: () => {
        for (const one of this.#uncounted) {
          requests.inc(one.labels, one.requests);
          one.requests = 0;
        }
      },
    });
    this.#duration = new TallyHistogram({
      registry,
      name: 'rest_client_request_duration_seconds',
      help: 'Seconds until the answer to a request to the API server, by verb and host',
      buckets: latencyBuckets,
    });
    const limits: Gauge<'host' | 'verb' | 'resource'> = new Gauge({
      registers,
      name: 'rest_client_concurrency_limit',
      help:
        'Requests to the API server that may be under way at once; falls while it is overloaded, ' +
        'by host, verb and resource',
      labelNames: ['host', 'verb', 'resource'],
      collect: () => {
        for (const [host, sorts] of this.#limits) {
          for (const { method, resource, limit } of sorts.all()) {
            limits.set({ host, verb: method, resource }, limit.current);
          }
        }
      },
    });
  }

  showLimits(host: string, limits: RequestLimits): void {
    this.#limits.set(host, limits);
  }

  forHost(host: string): ClientMetrics {
    const durations = new Map<string, Tally>();
    const counts = new Map<string, Map<string, Uncounted>>();
    const durationOf = (verb: string) => this.#duration.series({ verb, host });
    const countOf = (method: string, code: string) => {
      const uncounted = { labels: { code, method, host }, requests: 0 };
      this.#uncounted.push(uncounted);
      return uncounted;
    };
    for (const [method, code] of Object.entries(usualCodes)) {
      durations.set(method, durationOf(method));
      counts.set(method, new Map([[code, countOf(method, code)]]));
    }
    return {
      observe: (method, code, duration) => {
        entryOf(
          entryOf(counts, method, () => new Map<string, Uncounted>()),
          code === undefined ? '<error>' : String(code),
          (text) => countOf(method, text),
        ).requests++;
        entryOf(durations, method, durationOf).observe(duration / 1000);
      },
    };
  }
}

/** The value of the key, made when there is none. */
function entryOf<V>(map: Map<string, V>, key: string, make: (key: string) => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make(key);
    map.set(key, value);
  }
  return value;
}

const families = new WeakMap<Registry, ClientFamily>();

function familyOf(registry: Registry): ClientFamily {
  let family = families.get(registry);
  if (family === undefined) {
    family = new ClientFamily(registry);
    families.set(registry, family);
  }
  return family;
}

/** The series of one API server. Several clients of one registry share the metrics. */
export function clientMetrics(registry: Registry, host: string): ClientMetrics {
  return familyOf(registry).forHost(host);
}

/** Shows how many requests of each sort to this API server may be under way. */
export function showLimits(registry: Registry, host: string, limits: RequestLimits): void {
  familyOf(registry).showLimits(host, limits);
}
