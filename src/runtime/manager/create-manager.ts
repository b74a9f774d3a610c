/**
 * CreateManager: a Manager from what an operator really has to say: its name, its cluster, its log. An operator that
 * needs another connection, clock or identity makes a {@link Manager} directly.
 */
import { hostname } from 'node:os';
import type { KubeConfig } from '@kubernetes/client-node';
import { Registry } from '@prometheus-io/client';
import { connect } from '../client/connect.ts';
import type { OpenConnection } from '../client/http-connection.ts';
import type { RequestTimeouts } from '../client/request-timeouts.ts';
import { type Clock, systemClock } from '../clock.ts';
import { assertWriteFits, checkedDurations, type Durations, defaultRequestTimeouts } from '../limits.ts';
import type { Logger } from '../logger.ts';
import { type Randomness, systemRandomness } from '../randomness.ts';
import { Manager } from './manager.ts';
import type { SecureMetrics } from './probes.ts';
import { startGarbage } from './start-garbage.ts';

/**
 * Options of {@link createManager}. Name, KubeConfig and log are required; everything else has a default.
 */
export interface CreateManagerOptions extends Durations {
  /** Of the operator: its field manager, its user agent, and the name of its Lease. A DNS subdomain. */
  readonly name: string;
  /** Shown in the user agent, as `name/version`. */
  readonly version?: string;
  readonly kubeConfig: KubeConfig;
  readonly log: Logger;
  /** Namespaces to watch. Empty or absent: all. */
  readonly namespaces?: readonly string[];
  /** True: act only while holding the Lease, so that several replicas may run. Default false. */
  readonly leaderElection?: boolean;
  /** Namespace of the Lease. Default: that of the KubeConfig's context, in a Pod its own; else `default`. */
  readonly leaderElectionNamespace?: string;
  /**
   * Milliseconds that a request may take that does not say so itself. Default: read 30 000, write 5000, list 120 000
   * per page. With leader election a write has at most `leaseDuration` - `renewDeadline`.
   */
  readonly requestTimeouts?: RequestTimeouts;
  /** Connections for watches. Default: as many as there are watches. A Manager that needs more does not start. */
  readonly maxWatches?: number;
  /** Where `/metrics` is served: `host:port`, `:port` for every interface. Default `0`, which is off. */
  readonly metricsBindAddress?: string;
  /** Serves the metrics by HTTPS, and only to users of the cluster who may read them. Default: by HTTP, to all. */
  readonly secureMetrics?: SecureMetrics;
  /** Where `/healthz` and `/readyz` are served, as {@link metricsBindAddress}. Default `0`, which is off. */
  readonly healthProbeBindAddress?: string;
  /**
   * Where CPU profiles and heap snapshots of this process are served: `127.0.0.1:port` or `[::1]:port`, nothing else,
   * for a heap holds Secrets. Default `0`, which is off.
   */
  readonly profilingBindAddress?: string;
  /** Command that installs the CRDs, for the sentence that says they are missing. */
  readonly installCommand?: string;
  /** Name of this process in Events and, with a UUID, in the Lease. Default: the host's name. */
  readonly instance?: string;
  /** Default {@link systemClock}. */
  readonly clock?: Clock;
  /** Default {@link systemRandomness}. */
  readonly randomness?: Randomness;
  /** Makes the connections to the API server. Default: those of the real network. */
  readonly openConnection?: OpenConnection;
  /** Where all metrics go. Default: a new one, the Manager's `registry`. */
  readonly registry?: Registry;
  /** False leaves out the metrics of the process, such as its memory. Default true. */
  readonly processMetrics?: boolean;
}

/**
 * Makes a Manager with the usual parts: connection, leader election, metrics and probes. Nothing is sent
 * before it is started.
 *
 * @throws {KubeConfigError} when the KubeConfig names no cluster. @throws {RangeError} with one sentence, for
 *   durations that do not fit each other.
 */
export function createManager(options: CreateManagerOptions): Manager {
  const { name, version, kubeConfig, log, installCommand, leaderElection = false } = options;
  const { clock = systemClock, randomness = systemRandomness } = options;
  const { registry = new Registry(), instance = hostname(), openConnection } = options;
  const { requestTimeouts, maxWatches } = options;
  const durations = checkedDurations(options);
  if (leaderElection) assertWriteFits(requestTimeouts?.write ?? defaultRequestTimeouts.write, durations);
  const context = kubeConfig.getContextObject(kubeConfig.getCurrentContext());
  const namespace = options.leaderElectionNamespace ?? context?.namespace ?? 'default';
  const userAgent = version === undefined ? name : `${name}/${version}`;
  const manager = new Manager({
    connect: (gate) =>
      connect({
        ...{ kubeConfig, gate, clock, log, registry, userAgent },
        fieldManager: name,
        random: () => randomness.random(),
        ...(openConnection && { openConnection }),
        ...(requestTimeouts && { requestTimeouts }),
        ...(maxWatches !== undefined && { maxWatches }),
      }),
    ...{ clock, randomness, log, registry, instance, ...durations },
    server: kubeConfig.getCurrentCluster()?.server ?? '',
    namespaces: options.namespaces ?? [],
    metricsBindAddress: options.metricsBindAddress ?? '0',
    ...(options.secureMetrics && { secureMetrics: options.secureMetrics }),
    healthProbeBindAddress: options.healthProbeBindAddress ?? '0',
    profilingBindAddress: options.profilingBindAddress ?? '0',
    ...(installCommand !== undefined && { installCommand }),
    ...(options.processMetrics !== undefined && { processMetrics: options.processMetrics }),
    ...(leaderElection && {
      leaderElection: { namespace, name, identity: `${instance}_${randomness.uuid()}` },
    }),
  });
  // There when Node.js runs with --expose-gc.
  if (globalThis.gc) manager.add(startGarbage(clock, globalThis.gc));
  return manager;
}
