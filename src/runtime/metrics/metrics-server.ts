/** MetricsServer: `GET /metrics` in Prometheus' text format, and nothing else. */
import type { Registry } from '@prometheus-io/client';
import { type HttpReply, HttpServer, plainText } from '../http-server.ts';
import type { Logger } from '../logger.ts';
import type { Access, MetricsAccess } from './metrics-access.ts';
import type { ServingCertificate } from './serving-certificate.ts';

export interface MetricsServerOptions {
  /** As in {@link HttpServer}; `0` switches it off. */
  readonly bindAddress: string;
  readonly registry: Registry;
  readonly log: Logger;
  /** Present: by HTTPS, and only to users of the cluster who may read the path. Absent: by HTTP, to all. */
  readonly secure?: { readonly certificate: ServingCertificate; readonly access: MetricsAccess };
}

const refusals: Readonly<Record<Exclude<Access, 'Granted'>, HttpReply>> = {
  Unauthenticated: {
    status: 401,
    contentType: plainText,
    body: 'a bearer token of this cluster is needed\n',
  },
  Forbidden: { status: 403, contentType: plainText, body: 'the right to get the URL /metrics is needed\n' },
};

export function metricsServer({ bindAddress, registry, log, secure }: MetricsServerOptions): HttpServer {
  return new HttpServer({
    ...{ name: 'metrics', bindAddress, log },
    ...(secure && { certificate: secure.certificate }),
    handler: async (path, _, { authorization }) => {
      if (path !== '/metrics') return undefined;
      const access = secure ? await secure.access.of(authorization, path) : 'Granted';
      if (access !== 'Granted') return refusals[access];
      return { status: 200, contentType: registry.contentType, body: await registry.metrics() };
    },
  });
}
