/**
 * Probes: how a Manager is seen from outside, by the kubelet (`/healthz`, `/readyz`) and by Prometheus
 * (`/metrics`), and the checks that every Manager has.
 */
import type { Registry } from '@prometheus-io/client';
import type { Clock } from '../clock.ts';
import { EventLoopMonitor } from '../health/event-loop-monitor.ts';
import { HealthChecks } from '../health/health-checks.ts';
import { healthServer } from '../health/health-server.ts';
import type { HttpServer } from '../http-server.ts';
import { informerSilenceLimit } from '../limits.ts';
import type { Logger } from '../logger.ts';
import { metricsServer } from '../metrics/metrics-server.ts';
import { processMetrics } from '../metrics/process-metrics.ts';

export interface ProbesOptions {
  /** `host:port`, `:port`, or `0` for none. */
  readonly metricsBindAddress: string;
  /** `host:port`, `:port`, or `0` for none. */
  readonly healthProbeBindAddress: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  /** False leaves out the metrics of the process: of several Managers in one, they would say the same. Default true. */
  readonly processMetrics?: boolean;
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

  constructor(options: ProbesOptions, state: ProbedState) {
    const { clock, log, registry, metricsBindAddress, healthProbeBindAddress } = options;
    this.healthz = new HealthChecks('healthz', log, clock);
    this.readyz = new HealthChecks('readyz', log, clock);
    this.#eventLoop = new EventLoopMonitor(clock);
    this.#isAsked = healthProbeBindAddress !== '0';
    this.#servers = [
      metricsServer({ bindAddress: metricsBindAddress, registry, log }),
      healthServer({
        ...{ bindAddress: healthProbeBindAddress, healthz: this.healthz, readyz: this.readyz, log },
      }),
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
