/**
 * HealthServer: `/healthz` (restart me when it fails) and `/readyz` (I can do my work), each with
 * `/<check>`, `?verbose` and `?exclude=<check>`.
 */
import { HttpServer } from '../http-server.ts';
import type { Logger } from '../logger.ts';
import type { HealthChecks } from './health-checks.ts';

export interface HealthServerOptions {
  /** As in {@link HttpServer}; `0` switches it off. */
  readonly bindAddress: string;
  readonly healthz: HealthChecks;
  readonly readyz: HealthChecks;
  readonly log: Logger;
}

export function healthServer({ bindAddress, healthz, readyz, log }: HealthServerOptions): HttpServer {
  const paths = new Map([
    ['healthz', healthz],
    ['readyz', readyz],
  ]);
  return new HttpServer({
    ...{ name: 'health checks', bindAddress, log },
    handler: (path, query) => {
      const [, first = '', name, ...rest] = path.replace(/\/$/, '').split('/');
      const checks = paths.get(first);
      if (checks === undefined || rest.length > 0) return undefined;
      return name === undefined ? checks.report(query) : checks.reportOne(name);
    },
  });
}
