/** The operator on a real API server on this machine, as a user sees it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { startControlPlane } from '@atwatch/runtime/testing';

const limit = 60_000;
const sample = {
  apiVersion: 'db.example.com/v1',
  kind: 'Database',
  metadata: { namespace: 'default', name: 'hello' },
  spec: { version: '17.2', storage: '1Gi' },
};
/** There is no node here: this is what its kubelet would write. */
const running = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };

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
  const crd = 'crd/databases.db.example.com';
  await plane.kubectl(['wait', '--for=condition=Established', '--timeout=30s', crd]);
  const env = { ...process.env, KUBECONFIG: plane.kubeconfig };
  operator = spawn(process.execPath, ['main.ts'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  await plane.kubectl(['apply', '-f', '-'], JSON.stringify(sample));
  const reason = ['get', 'databases', 'hello', '--output=jsonpath={.status.conditions[0].reason}'];
  console.log(`Ready: ${await eventually(() => plane.kubectl(reason), 'Progressing')}`);
  const pod = ['get', 'pod', 'hello-0', '--output=name'];
  await eventually(async () => (await plane.kubectl(pod)).trim(), 'pod/hello-0');
  const patch = ['--subresource=status', '--type=merge', `--patch=${JSON.stringify({ status: running })}`];
  await plane.kubectl(['patch', 'pod', 'hello-0', ...patch]);
  console.log(`Ready: ${await eventually(() => plane.kubectl(reason), 'Available')}`);
  await plane.kubectl(['delete', 'database', 'hello', '--timeout=60s']);
  const left = ['get', 'statefulsets,pods,persistentvolumeclaims', '--output=name'];
  console.log(
    `Left after the Database is deleted: ${(await eventually(() => plane.kubectl(left), '')) || 'nothing'}`,
  );
} finally {
  operator?.kill('SIGTERM');
  await plane.stop();
}
