/** The operator on a real API server on this machine, as a user sees it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { startControlPlane } from '@atwatch/runtime/testing';

const limit = 30_000;
const sample = {
  apiVersion: 'blog.example.com/v1',
  kind: 'BlogPost',
  metadata: { namespace: 'default', name: 'hello' },
  spec: { title: 'Hello', content: 'world', publishedAt: new Date(Date.now() + 3000).toISOString() },
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
  const crd = 'crd/blogposts.blog.example.com';
  await plane.kubectl(['wait', '--for=condition=Established', '--timeout=30s', crd]);
  const env = { ...process.env, KUBECONFIG: plane.kubeconfig };
  operator = spawn(process.execPath, ['main.ts'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  await plane.kubectl(['apply', '-f', '-'], JSON.stringify(sample));
  const text = ['get', 'configmap', 'hello', '--output=jsonpath={.data.content}'];
  console.log(`Readers see: ${await eventually(() => plane.kubectl(text), 'world')}`);
  const status = ['get', 'blogposts.blog.example.com', 'hello', '--output=jsonpath={.status.phase}'];
  console.log(`Phase: ${await eventually(() => plane.kubectl(status), 'Published')}`);
} finally {
  operator?.kill('SIGTERM');
  await plane.stop();
}
