/** The operator on a real API server on this machine, as a user sees it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { startControlPlane } from '@atwatch/runtime/testing';

const limit = 30_000;
const sample = {
  apiVersion: 'example.com/v1',
  kind: 'Note',
  metadata: { namespace: 'default', name: 'hello' },
  spec: { text: 'Hello' },
};

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
  await plane.kubectl(['apply', '--server-side', '-f', 'crd.yaml']);
  const crd = 'crd/notes.example.com';
  await plane.kubectl(['wait', '--for=condition=Established', '--timeout=30s', crd]);
  const env = { ...process.env, KUBECONFIG: plane.kubeconfig };
  operator = spawn(process.execPath, ['main.ts'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  await plane.kubectl(['apply', '-f', '-'], JSON.stringify(sample));
  const text = ['get', 'configmap', 'hello', '--output=jsonpath={.data.text}'];
  console.log(`The ConfigMap says: ${await eventually(() => plane.kubectl(text), 'Hello')}`);
  const status = ['get', 'notes.example.com', 'hello', '--output=jsonpath={.status.conditions[0].status}'];
  console.log(`Ready: ${await eventually(() => plane.kubectl(status), 'True')}`);
} finally {
  operator?.kill('SIGTERM');
  await plane.stop();
}
