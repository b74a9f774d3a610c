/**
 * ClientMetrics: what the transport shows to Prometheus, under client-go's names and buckets, so that
 * dashboards made for controllers in Go fit.
 */
import { Counter, Gauge, Histogram, type Registry } from '@prometheus-io/client';
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

class ClientFamily {
  readonly #requests: Counter<'code' | 'method' | 'host'>;
  readonly #duration: Histogram<'verb' | 'host'>;
  readonly #limits = new Map<string, RequestLimits>();

  constructor(registry: Registry) {
    const registers = [registry];
    this.#requests = new Counter({
      registers,
      name: 'rest_client_requests_total',
      help: 'HTTP requests to the API server, by status code, method and host',
      labelNames: ['code', 'method', 'host'],
    });
    this.#duration = new Histogram({
      registers,
      name: 'rest_client_request_duration_seconds',
      help: 'Seconds until the answer to a request to the API server, by verb and host',
      labelNames: ['verb', 'host'],
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
    for (const [method, code] of Object.entries(usualCodes)) {
      this.#requests.inc({ code, method, host }, 0);
      this.#duration.zero({ verb: method, host });
    }
    return {
      observe: (method, code, duration) => {
        this.#requests.inc({ code: code === undefined ? '<error>' : String(code), method, host });
        this.#duration.observe({ verb: method, host }, duration / 1000);
      },
    };
  }
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
