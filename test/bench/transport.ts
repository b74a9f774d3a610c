/**
 * Benchmark of the transport: 2 000 GETs of a ConfigMap at 20 parallel from a real API server. How many
 * connections they took, and how much CPU of the client, against client-node's own API class and against
 * bare undici in the same run. Each client has a process of its own; a proxy in this one counts connections.
 *
 * Needs a cluster in KUBECONFIG.
 */
import { fork } from 'node:child_process';
import { configMaps } from '../../src/kubernetes/objects.ts';
import { TcpProxy } from '../fake/tcp-proxy.ts';
import { connectToTestCluster, createNamespace, testKubeConfig } from '../integration/support.ts';
import { printTable } from './table.ts';
import type { TransportClient, TransportOptions, TransportResult } from './transport-process.ts';

const rounds = 3;
const calls = 2000;
const parallel = 20;
const warmUp = 500;
const megabyte = 1024 ** 2;

interface Measured extends TransportResult {
  readonly connections: number;
}

function runClient(proxy: TcpProxy, options: TransportOptions): Promise<Measured> {
  const before = proxy.accepted;
  const child = fork('test/bench/transport-process.ts', [JSON.stringify(options)]);
  return new Promise((resolve, reject) => {
    let result: TransportResult | undefined;
    child.once('message', (message) => {
      result = message as TransportResult;
    });
    child.once('exit', (code) => {
      if (result === undefined) reject(new Error(`the ${options.client} process ended with ${code}`));
      else resolve({ ...result, connections: proxy.accepted - before });
    });
  });
}

/** The round with the least CPU, of several in which the clients took turns. */
async function measure(proxy: TcpProxy, namespace: string, name: string) {
  const best = new Map<TransportClient, Measured>();
  for (let round = 0; round < rounds; round++) {
    for (const client of ['atwatch', 'client-node', 'undici'] as const) {
      const options = { client, server: proxy.url, namespace, name, warmUp, calls, parallel };
      const measured = await runClient(proxy, options);
      if (measured.cpu < (best.get(client)?.cpu ?? Infinity)) best.set(client, measured);
    }
  }
  return { ours: best.get('atwatch')!, clientNode: best.get('client-node')!, floor: best.get('undici')! };
}

const { client } = connectToTestCluster();
const { name: namespace, remove } = await createNamespace();
const proxy = await TcpProxy.start(testKubeConfig().getCurrentCluster()?.server ?? '');
try {
  const name = 'settings';
  const data = { 'application.properties': 'server.option = "value"\n'.repeat(40) };
  await client.create(configMaps, { metadata: { namespace, name }, data });
  const { ours, clientNode, floor } = await measure(proxy, namespace, name);
  printTable(`transport: ${calls} GETs, ${parallel} at a time, after ${warmUp} to warm up`, [
    { what: 'connections, all calls together', value: ours.connections, unit: '', target: { atMost: 32 } },
    { what: 'the same, client-node', value: clientNode.connections, unit: '' },
    { what: 'client CPU per call', value: ours.cpu, unit: 'ms', target: { atMost: 0.3 } },
    { what: 'the same, client-node', value: clientNode.cpu, unit: 'ms' },
    { what: 'the same, bare undici with JSON.parse', value: floor.cpu, unit: 'ms' },
    { what: 'client-node ÷ ours', value: clientNode.cpu / ours.cpu, unit: '' },
    { what: 'ours ÷ bare undici', value: ours.cpu / floor.cpu, unit: '' },
    { what: 'calls per second', value: (calls / ours.wall) * 1000, unit: '' },
    { what: 'the same, client-node', value: (calls / clientNode.wall) * 1000, unit: '' },
    { what: 'peak RSS', value: ours.peakRss / megabyte, unit: 'MB' },
    { what: 'the same, client-node', value: clientNode.peakRss / megabyte, unit: 'MB' },
  ]);
} finally {
  await remove();
  await proxy.stop();
}
