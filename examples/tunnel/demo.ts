/** The operator on a real API server on this machine, as a user sees it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { startControlPlane } from '@atwatch/runtime/testing';

const limit = 30_000;
const sample = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'default', name: 'hello' },
  spec: { type: 'LoadBalancer', loadBalancerClass: 'example.com/tunnel', ports: [{ port: 80 }] },
};

/** Stands for the provider of machines. */
const machines = new Set<string | undefined>();
const provider = createServer(({ method, url }, answer) => {
  if (method === 'PUT') machines.add(url);
  else machines.delete(url);
  answer.end(JSON.stringify({ address: '192.0.2.1' }));
});

async function eventually(probe: () => Promise<string>, expected: string): Promise<string> {
  for (const end = Date.now() + limit; ; await delay(100)) {
    const text = await probe().catch(String);
    if (text === expected) return text;
    if (Date.now() > end) throw new Error(`not ${expected} within ${limit / 1000} s, but ${text}`);
  }
}

console.log('Starting etcd and the API server ...');
const plane = await startControlPlane({ scheduler: false });
let operator: ChildProcess | undefined;
try {
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const env = { ...process.env, KUBECONFIG: plane.kubeconfig, MACHINES_URL: url };
  operator = spawn(process.execPath, ['main.ts'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  await plane.kubectl(['apply', '-f', '-'], JSON.stringify(sample));
  const ip = ['get', 'service', 'hello', '--output=jsonpath={.status.loadBalancer.ingress[0].ip}'];
  console.log(`Address: ${await eventually(() => plane.kubectl(ip), '192.0.2.1')}`);
  const names = ['get', 'deployments', '--output=name'];
  const count = async () => String((await plane.kubectl(names)).split('\n').filter(Boolean).length);
  console.log(`Deployments: ${await eventually(count, '1')}`);
  await plane.kubectl(['delete', 'service', 'hello', '--timeout=30s']);
  console.log(`Machines after the Service is deleted: ${machines.size}`);
} finally {
  operator?.kill('SIGTERM');
  provider.closeAllConnections();
  provider.close();
  await plane.stop();
}
