/** The operator on a real API server on this machine, as a user sees it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { startControlPlane } from '@atwatch/runtime/testing';

const limit = 30_000;
const sample = {
  apiVersion: 'sets.example.com/v1',
  kind: 'PodSet',
  metadata: { namespace: 'default', name: 'hello' },
  spec: { replicas: 3, template: { spec: { containers: [{ name: 'main', image: 'busybox' }] } } },
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
  const crd = 'crd/podsets.sets.example.com';
  await plane.kubectl(['wait', '--for=condition=Established', '--timeout=30s', crd]);
  const env = { ...process.env, KUBECONFIG: plane.kubeconfig };
  operator = spawn(process.execPath, ['main.ts'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  await plane.kubectl(['apply', '-f', '-'], JSON.stringify(sample));
  const names = ['get', 'pods', '--selector=sets.example.com/podset=hello', '--output=name'];
  const count = async () => String((await plane.kubectl(names)).split('\n').filter(Boolean).length);
  console.log(`Pods: ${await eventually(count, '3')}`);
  await plane.kubectl(['scale', 'podsets.sets.example.com', 'hello', '--replicas=5']);
  console.log(`Pods after kubectl scale: ${await eventually(count, '5')}`);
  const status = ['get', 'podsets.sets.example.com', 'hello', '--output=jsonpath={.status.replicas}'];
  console.log(`Replicas: ${await eventually(() => plane.kubectl(status), '5')}`);
} finally {
  operator?.kill('SIGTERM');
  await plane.stop();
}
