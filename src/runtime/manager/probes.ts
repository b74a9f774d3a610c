/**
 * Probes: how a Manager is seen from outside, by the kubelet (`/healthz`, `/readyz`) and by Prometheus
 * (`/metrics`), and the checks that every Manager has.
 */
import type { Registry } from '@prometheus-io/client';
import type { Client } from '../client/client.ts';
import type { Clock } from '../clock.ts';
import { EventLoopMonitor } from '../health/event-loop-monitor.ts';
import { HealthChecks } from '../health/health-checks.ts';
import { healthServer } from '../health/health-server.ts';
import type { HttpServer } from '../http-server.ts';
import { informerSilenceLimit } from '../limits.ts';
import type { Logger } from '../logger.ts';
import { MetricsAccess } from '../metrics/metrics-access.ts';
import { metricsServer } from '../metrics/metrics-server.ts';
import { processMetrics } from '../metrics/process-metrics.ts';
import { ServingCertificate } from '../metrics/serving-certificate.ts';
import { profilingServer } from '../profiling/profiling-server.ts';

/** Where metrics, health and profiles are served. */
export interface ProbesOptions {
  /** `host:port`, `:port`, or `0` for none. */
  readonly metricsBindAddress: string;
  /**
   * Present: metrics are served by HTTPS, and only to users of the cluster who may `get` the URL `/metrics`; this process
   * needs the right to create TokenReviews and SubjectAccessReviews. Absent: by HTTP, to all.
   */
  readonly secureMetrics?: SecureMetrics;
  /** `host:port`, `:port`, or `0` for none. */
  readonly healthProbeBindAddress: string;
  /**
   * Where CPU profiles and heap snapshots are to be had: `127.0.0.1:port` or `[::1]:port`, no other address. Default `0`,
   * which is off.
   */
  readonly profilingBindAddress?: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  /** False leaves out the metrics of the process: of several Managers in one, they would say the same. Default true. */
  readonly processMetrics?: boolean;
}

/** How metrics are served by HTTPS. */
export interface SecureMetrics {
  /** A folder with `tls.crt` and `tls.key`, read again as they are replaced. Absent: a certificate is made. */
  readonly certificateDirectory?: string;
}

/** What the checks look at. */
export interface ProbedState {
  /** The caches are filled and no stop has begun. */
  isReady(): boolean;
  /** Why informers are not following their resources right now. */
  problems(): readonly { readonly message: string }[];
  /** Ms since the informer that has waited longest heard of the API server. */
  sinceLastContact(): number;
  /** This process believes to lead and did not renew its lease in time. */
  isStaleLeader(): boolean;
}

export class Probes {
  readonly healthz: HealthChecks;
  readonly readyz: HealthChecks;
  readonly #eventLoop: EventLoopMonitor;
  readonly #servers: readonly HttpServer[];
  readonly #isAsked: boolean;

  /** @param client for the reviews of who may read the metrics; its writes are sent on standbys as well. */
  constructor(options: ProbesOptions, state: ProbedState, client: Client) {
    const { clock, log, registry, metricsBindAddress, secureMetrics, healthProbeBindAddress } = options;
    const { profilingBindAddress = '0' } = options;
    const secure = secureMetrics && {
      certificate: new ServingCertificate({ ...secureMetrics, clock, log }),
      access: new MetricsAccess({ client, clock }),
    };
    this.healthz = new HealthChecks('healthz', log, clock);
    this.readyz = new HealthChecks('readyz', log, clock);
    this.#eventLoop = new EventLoopMonitor(clock);
    this.#isAsked = healthProbeBindAddress !== '0';
    this.#servers = [
      metricsServer({ bindAddress: metricsBindAddress, registry, log, ...(secure && { secure }) }),
      healthServer({
        ...{ bindAddress: healthProbeBindAddress, healthz: this.healthz, readyz: this.readyz, log },
      }),
      profilingServer({ bindAddress: profilingBindAddress, clock, log }),
    ];
    if (options.processMetrics !== false) processMetrics(registry);
    this.#addChecks(state);
  }

  /** @throws {ListenError} when an address cannot be served. */
  async start(): Promise<void> {
    for (const server of this.#servers) await server.start();
    // It wakes the process every second, which is for nothing when no probe can ask.
    if (this.#isAsked) this.#eventLoop.start();
  }

  async stop(): Promise<void> {
    this.#eventLoop.stop();
    await Promise.all(this.#servers.map((server) => server.stop()));
  }

  #addChecks(state: ProbedState): void {
    this.readyz.add('informers', () => {
      if (!state.isReady()) throw new Error('the caches are not filled yet, or the process is stopping');
      const [problem] = state.problems();
      if (problem !== undefined) throw new Error(problem.message);
    });
    this.healthz.add('ping', () => {});
    this.healthz.add('event-loop', () => this.#eventLoop.check());
    this.healthz.add('informers', () => {
      const silence = state.sinceLastContact();
      if (silence > informerSilenceLimit) {
        throw new Error(`an informer has heard nothing for ${Math.round(silence / 60_000)} min`);
      }
    });
    this.healthz.add('leader-election', () => {
      if (state.isStaleLeader()) throw new Error('this process leads, but did not renew its lease in time');
    });
  }
}
