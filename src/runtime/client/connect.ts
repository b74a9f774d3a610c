/**
 * Connection: all ways from this process to one API server. What reconcilers write goes through the gated
 * client; the Lease has a client of its own that nothing else can hold up.
 */
import type { KubeConfig } from '@kubernetes/client-node';
import type { Registry } from '@prometheus-io/client';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { AnswerTime } from '../server-clock.ts';
import { Accounting } from './accounting.ts';
import { ApiClient } from './api-client.ts';
import type { Client } from './client.ts';
import { clientMetrics, noClientMetrics, showLimits } from './client-metrics.ts';
import { ConnectionPool } from './connection-pool.ts';
import { Credentials } from './credentials.ts';
import type { OpenConnection } from './http-connection.ts';
import { RequestLimits, unlimited } from './request-limits.ts';
import { type RequestTimeouts, requestTimeouts } from './request-timeouts.ts';
import { Transport } from './transport.ts';
import { UndiciConnection } from './undici-connection.ts';
import { Warnings } from './warnings.ts';
import type { WriteGate } from './write-gate.ts';
import type { WriteListener } from './written.ts';

/** A renewal, and another one beside it should the first hang. */
const leaseConnections = 2;

/** Options of {@link connect}: where to, as whom, and where metrics go. */
export interface ConnectOptions {
  readonly kubeConfig: KubeConfig;
  /** Asked right before each write of {@link Connection.client} is sent. */
  readonly gate: WriteGate;
  readonly clock: Clock;
  readonly log: Logger;
  /** Where the `rest_client_*` metrics go; none without. */
  readonly registry?: Registry;
  readonly userAgent: string;
  readonly fieldManager: string;
  /** Uniform in [0, 1), for the jitter of retries. Default Math.random. */
  readonly random?: () => number;
  /** Makes the connections to the API server. Default: those of the real network. */
  readonly openConnection?: OpenConnection;
  /**
   * Connections for the requests of one controller, fewer while the API server is overloaded; more callers wait in
   * line. All controllers together, with informers and Events, have twice as many at most. Default 32.
   */
  readonly maxRequests?: number;
  /**
   * Connections for watches, one each. Default: as many as there are watches. With a number here a Manager whose
   * informers need more does not start.
   */
  readonly maxWatches?: number;
  readonly requestTimeouts?: RequestTimeouts;
}

/** The clients of one API server, and what can be heard of their traffic. */
export interface Connection {
  /**
   * For everything but the Lease; its writes ask the gate. Its requests wait in the lane of the controller that
   * calls it.
   */
  readonly client: Client;
  /** {@link client}, with a lane of its own for what is sent on behalf of no controller: Events, informers. */
  clientFor(lane: string): Client;
  /**
   * {@link client} whose writes do not ask the gate, for what needs no leader election: it writes on standbys, too,
   * and its writes may take as long as they say.
   */
  readonly ungatedClient: Client;
  /**
   * For the Lease alone: connections of its own, no gate, no retries (the LeaderElector has its own), and
   * the elector gives each call its timeout.
   */
  readonly leaseClient: Client;
  /** The URL of the API server. */
  readonly server: URL;
  /** Connections for watches; infinite for any number. */
  readonly maxWatches: number;
  /** Whether requests of {@link client} are under way; watches do not count. */
  readonly isBusy: () => boolean;
  /** Called for each successful write but the Lease's, before its caller returns. Must not throw. Returns a remover. */
  onWrite(listener: WriteListener): () => void;
  /** Called for each answer of Kubernetes itself, when it arrives. Returns a remover. */
  onAnswer(listener: (answer: AnswerTime) => void): () => void;
  /** Breaks off everything in progress; later calls are refused. */
  close(): void;
}

/**
 * Makes the clients of one API server. They connect with the first call.
 *
 * @throws {KubeConfigError} when the KubeConfig names no cluster. @throws {RangeError} for a timeout that is
 *   none.
 */
export function connect(options: ConnectOptions): Connection {
  const { clock, registry, gate, userAgent, fieldManager, maxRequests = 32 } = options;
  const { maxWatches = Number.POSITIVE_INFINITY } = options;
  const { openConnection = (endpoint) => new UndiciConnection(endpoint) } = options;
  const credentials = new Credentials(options.kubeConfig, clock, options.log);
  const timeouts = requestTimeouts(options.requestTimeouts);
  const answerListeners = new Set<(answer: AnswerTime) => void>();
  const sorts = new RequestLimits(maxRequests);
  if (registry !== undefined) showLimits(registry, credentials.server.host, sorts);
  const shared = {
    credentials,
    clock,
    userAgent,
    timeouts,
    random: options.random ?? Math.random,
    accounting: new Accounting({
      clock,
      warnings: new Warnings(options.log),
      metrics: registry === undefined ? noClientMetrics : clientMetrics(registry, credentials.server.host),
      onAnswer(answer) {
        for (const listener of answerListeners) listener(answer);
      },
    }),
  };
  const requests = new ConnectionPool(maxRequests, openConnection);
  const transport = new Transport({
    ...shared,
    gate,
    retry: true,
    requests,
    sorts,
    watches: new ConnectionPool(maxWatches, openConnection),
  });
  const leaseTransport = new Transport({
    ...shared,
    gate: undefined,
    retry: false,
    requests: new ConnectionPool(leaseConnections, openConnection),
    sorts: unlimited(),
    watches: new ConnectionPool(leaseConnections, openConnection),
  });
  const listeners = new Set<WriteListener>();
  const common = { transport, clock, fieldManager, listeners, timeouts };
  return {
    client: new ApiClient(common),
    ungatedClient: new ApiClient({ ...common, ungated: true }),
    clientFor: (lane) => new ApiClient({ ...common, lane }),
    leaseClient: new ApiClient({ ...common, transport: leaseTransport, listeners: new Set() }),
    server: credentials.server,
    maxWatches,
    isBusy: () => requests.taken > 0,
    onWrite(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onAnswer(listener) {
      answerListeners.add(listener);
      return () => answerListeners.delete(listener);
    },
    close() {
      transport.close();
      leaseTransport.close();
    },
  };
}
