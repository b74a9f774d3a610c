/** MetricsServer: `GET /metrics` in Prometheus' text format, and nothing else. */
import type { Registry } from '@prometheus-io/client';
import { HttpServer } from '../http-server.ts';
import type { Logger } from '../logger.ts';

export interface MetricsServerOptions {
  /** As in {@link HttpServer}; `0` switches it off. */
  readonly bindAddress: string;
  readonly registry: Registry;
  readonly log: Logger;
}

export function metricsServer({ bindAddress, registry, log }: MetricsServerOptions): HttpServer {
  return new HttpServer({
    ...{ name: 'metrics', bindAddress, log },
    handler: async (path) => {
      if (path !== '/metrics') return undefined;
      return { status: 200, contentType: registry.contentType, body: await registry.metrics() };
    },
  });
}
