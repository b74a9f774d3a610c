/**
 * Transport process: reads one ConfigMap over and over with one of three clients, in a process of its own so
 * that neither their memory nor their compiled code mix, and sends a {@link TransportResult} to its parent.
 *
 * Its only argument is {@link TransportOptions} as JSON.
 */
import type { RequestOptions } from 'node:https';
import { CoreV1Api, type KubeConfig } from '@kubernetes/client-node';
import { Registry } from '@prometheus-io/client';
import { Agent, request } from 'undici';
import { configMaps } from '../../src/kubernetes/objects.ts';
import { connect } from '../../src/runtime/client/connect.ts';
import { openGate } from '../../src/runtime/client/write-gate.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { testKubeConfig } from '../integration/support.ts';
import { cpuSeconds, peakRss } from './measure.ts';

/** `undici` is the floor: the HTTP library with one pool and JSON.parse, and nothing else. */
export type TransportClient = 'atwatch' | 'client-node' | 'undici';

export interface TransportOptions {
  readonly client: TransportClient;
  /** URL of the proxy that counts connections to the API server of KUBECONFIG. */
  readonly server: string;
  readonly namespace: string;
  readonly name: string;
  readonly warmUp: number;
  readonly calls: number;
  readonly parallel: number;
}

export interface TransportResult {
  /** CPU milliseconds of this process per call. */
  readonly cpu: number;
  /** Milliseconds of wall-clock time for all calls. */
  readonly wall: number;
  /** Bytes. */
  readonly peakRss: number;
}

interface Caller {
  call(): Promise<unknown>;
  close(): void;
}

const options = JSON.parse(process.argv[2]!) as TransportOptions;
const { namespace, name } = options;

function proxiedKubeConfig(): KubeConfig {
  const kubeConfig = testKubeConfig();
  const cluster = kubeConfig.getCurrentCluster();
  const user = kubeConfig.getCurrentUser();
  if (cluster === null || user === null) throw new Error('KUBECONFIG names no cluster or no user');
  kubeConfig.loadFromClusterAndUser({ ...cluster, server: options.server }, user);
  return kubeConfig;
}

function atwatch(kubeConfig: KubeConfig): Caller {
  const connection = connect({
    ...{ kubeConfig, gate: openGate, clock: systemClock, log: silentLogger, registry: new Registry() },
    ...{ userAgent: 'bench', fieldManager: 'bench' },
  });
  return {
    call: () => connection.client.get(configMaps, { namespace, name }),
    close: () => connection.close(),
  };
}

function clientNode(kubeConfig: KubeConfig): Caller {
  const api = kubeConfig.makeApiClient(CoreV1Api);
  return { call: () => api.readNamespacedConfigMap({ namespace, name }), close() {} };
}

async function bareUndici(kubeConfig: KubeConfig): Promise<Caller> {
  const tls: RequestOptions = {};
  await kubeConfig.applyToHTTPSOptions(tls);
  const { ca, cert, key } = tls;
  const dispatcher = new Agent({ connections: options.parallel, connect: { ca, cert, key } as object });
  const url = `${options.server}/api/v1/namespaces/${namespace}/configmaps/${name}`;
  return {
    call: async () => JSON.parse(await (await request(url, { dispatcher })).body.text()),
    close: () => void dispatcher.destroy(),
  };
}

async function callerOf(client: TransportClient): Promise<Caller> {
  const kubeConfig = proxiedKubeConfig();
  switch (client) {
    case 'atwatch':
      return atwatch(kubeConfig);
    case 'client-node':
      return clientNode(kubeConfig);
    case 'undici':
      return await bareUndici(kubeConfig);
  }
}

async function callInParallel(caller: Caller, calls: number): Promise<void> {
  let left = calls;
  const worker = async () => {
    while (left-- > 0) await caller.call();
  };
  await Promise.all(Array.from({ length: options.parallel }, worker));
}

const caller = await callerOf(options.client);
await callInParallel(caller, options.warmUp);
const begin = performance.now();
const seconds = await cpuSeconds(() => callInParallel(caller, options.calls));
const wall = performance.now() - begin;
caller.close();
const result: TransportResult = { cpu: (seconds * 1000) / options.calls, wall, peakRss: peakRss() };
process.send?.(result, () => process.disconnect());
