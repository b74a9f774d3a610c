/**
 * The examples on a real API server under SIGKILL, each as the ServiceAccount of its config/: PodSet has exactly as
 * many Pods as it is asked for, Tunnel loses no machine.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, suite, test } from 'node:test';
import { type ControlPlane, startControlPlane } from '../../local-cluster/control-plane.ts';
import { ExampleOperator } from './example-operator.ts';
import { MachineProvider } from './machine-provider.ts';

let controlPlane: ControlPlane;
before(async () => {
  controlPlane = await startControlPlane({ scheduler: false, auditLog: true });
});
after(() => controlPlane?.stop());

const kubectl = async (...args: string[]) => (await controlPlane.kubectl(args)).trim();
const apply = (object: object) =>
  controlPlane.kubectl(['apply', '--server-side', '--filename=-'], JSON.stringify(object));
const get = (what: string, path: string) =>
  kubectl('get', what, `--output=jsonpath={${path}}`, '--ignore-not-found');

/** Names of the Pods that the API server has created, and of those that it was asked to delete. */
async function podsIn(auditLog: string | undefined): Promise<{ created: string[]; deleted: string[] }> {
  const pods = { created: [] as string[], deleted: [] as string[] };
  for (const line of (await readFile(auditLog ?? '', 'utf8')).split('\n').filter(Boolean)) {
    const { verb, user, objectRef, responseStatus } = JSON.parse(line);
    if (objectRef?.resource !== 'pods' || !user.username.endsWith(':podsets-operator')) continue;
    if (verb === 'create' && responseStatus.code === 201) pods.created.push(line);
    if (verb === 'delete' && responseStatus.code === 200) pods.deleted.push(line);
  }
  return pods;
}

test('PodSet: exact counts under kill -9 and a quota, and by kubectl scale', async (t) => {
  const operator = await ExampleOperator.deploy({ controlPlane, example: 'podset', name: 'podsets' });
  t.after(() => operator.end('SIGKILL'));
  const metadata = { namespace: 'default', name: 'few' };
  const count = async () => {
    const names = await kubectl('get', 'pods', '--selector=sets.example.com/podset=few', '--output=name');
    return names.split('\n').filter(Boolean).length;
  };
  const setQuota = async (pods: number) => {
    await apply({
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata,
      spec: { hard: { pods: String(pods) } },
    });
    const hard = () => get('resourcequota/few', '.status.hard.pods');
    await operator.until('the quota', async () => (await hard()) === String(pods));
  };
  const until = (what: string, pods: number) => operator.until(what, async () => (await count()) === pods);
  await setQuota(1);
  const template = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };
  await apply({
    apiVersion: 'sets.example.com/v1',
    kind: 'PodSet',
    metadata,
    spec: { replicas: 20, template },
  });
  // Each quota stops it at another point of its batches; there it is killed.
  for (const quota of [1, 5]) {
    await setQuota(quota);
    operator.start();
    await until(`${quota} Pods`, quota);
    await operator.end('SIGKILL');
  }
  // With room for all it is killed as soon as one more is there: in the middle of its batches. A quota keeps counting for
  // minutes what it has let through and the death of the operator has kept from being stored.
  await setQuota(40);
  operator.start();
  await operator.until('a sixth Pod', async () => (await count()) > 5);
  await operator.end('SIGKILL');
  operator.start();
  await until('all Pods', 20);
  await operator.end('SIGKILL');
  const { created, deleted } = await podsIn(controlPlane.auditLog);
  assert.deepEqual([created.length, deleted.length], [20, 0]);

  operator.start();
  const status = () => get('podset/few', '.status.replicas');
  await kubectl('scale', 'podset/few', '--replicas=3', '--current-replicas=20');
  await until('three Pods', 3);
  await operator.until('the status', async () => (await status()) === '3');
  const path = '/apis/sets.example.com/v1/namespaces/default/podsets/few/scale';
  const scale = JSON.parse(await kubectl('get', '--raw', path));
  assert.equal(scale.spec.replicas, 3);
  assert.deepEqual(scale.status, { replicas: 3, selector: 'sets.example.com/podset=few' });
  await operator.end();
  const all = await podsIn(controlPlane.auditLog);
  assert.deepEqual([all.created.length, all.deleted.length], [20, 17]);
});

suite('Tunnel: no machine is lost', () => {
  for (const disturbance of ['kill -9', 'a lost answer'] as const) {
    test(`under ${disturbance} when it has made one, and when it has removed it`, async (t) => {
      const machines = new MachineProvider();
      await machines.start();
      t.after(() => machines.stop());
      const env = { MACHINES_URL: machines.url };
      const operator = await ExampleOperator.deploy({ controlPlane, example: 'tunnel', name: 'tunnel', env });
      t.after(() => operator.end('SIGKILL'));
      const left = new Set(['PUT', 'DELETE']);
      let restart = Promise.resolve();
      machines.onWrite = (method) => {
        if (!left.delete(method)) return false;
        if (disturbance === 'kill -9') restart = operator.end('SIGKILL').then(() => operator.start());
        return true;
      };
      operator.start();
      const metadata = { namespace: 'default', name: 'web' };
      const spec = { type: 'LoadBalancer', loadBalancerClass: 'example.com/tunnel', ports: [{ port: 80 }] };
      await apply({ apiVersion: 'v1', kind: 'Service', metadata, spec });
      const ip = () => get('service/web', '.status.loadBalancer.ingress[0].ip');
      await operator.until('the address', async () => (await ip()) === machines.address);
      await kubectl('delete', 'service/web', '--timeout=120s');
      await restart;
      assert.deepEqual([...left], []);
      assert.deepEqual([...machines.names], []);
      assert.equal(machines.made, 1);
    });
  }
});
