/** The manager of an operator under test in some namespaces, with its servers on free ports. */
import type { KubeConfig } from '@kubernetes/client-node';
import { Registry } from '@prometheus-io/client';
import type { Client } from '../../src/runtime/client/client.ts';
import { connect } from '../../src/runtime/client/connect.ts';
import { type Clock, systemClock } from '../../src/runtime/clock.ts';
import { type Logger, silentLogger } from '../../src/runtime/logger.ts';
import { Manager } from '../../src/runtime/manager/manager.ts';
import type { ManagerOptions } from '../../src/runtime/manager/manager-options.ts';
import { testKubeConfig } from './support.ts';

export interface TestManagerOptions extends Pick<ManagerOptions, 'leaderElection'> {
  readonly namespaces: readonly string[];
  readonly kubeConfig?: KubeConfig;
  readonly clock?: Clock;
  readonly log?: Logger;
  /** Where its metrics go. */
  readonly registry?: Registry;
  /** May put something in the way of its calls. */
  readonly onConnect?: (client: Client) => void;
}

export function testManager({
  namespaces,
  kubeConfig = testKubeConfig(),
  clock = systemClock,
  log = silentLogger,
  registry = new Registry(),
  onConnect = () => {},
  leaderElection,
}: TestManagerOptions): Manager {
  const shared = { clock, log, registry };
  return new Manager({
    connect: (gate) => {
      const options = { ...shared, kubeConfig, gate };
      const connection = connect({ ...options, userAgent: 'atwatch-test', fieldManager: 'atwatch' });
      onConnect(connection.client);
      return connection;
    },
    ...shared,
    server: kubeConfig.getCurrentCluster()?.server ?? '',
    instance: 'test',
    namespaces,
    metricsBindAddress: '0',
    healthProbeBindAddress: '0',
    ...(leaderElection && { leaderElection }),
  });
}
