/**
 * The examples on a real API server, each as the ServiceAccount of its config/: nothing is denied to it, and it has no
 * right that it does not use.
 *
 * The API server does not stream lists, as some in use do not, because then `list` is needed. It checks who may set
 * ownerReferences, as some do.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type ControlPlane, startControlPlane } from '../../local-cluster/control-plane.ts';
import { ExampleOperator, type ExampleOperatorOptions } from './example-operator.ts';
import { MachineProvider } from './machine-provider.ts';

let controlPlane: ControlPlane;
const machines = new MachineProvider();

before(async () => {
  controlPlane = await startControlPlane({
    ...{ scheduler: false, auditLog: true },
    apiServerArgs: [
      '--feature-gates=WatchList=false',
      '--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement',
    ],
  });
  await machines.start();
});
after(async () => {
  await machines.stop();
  await controlPlane?.stop();
});

const kubectl = async (...args: string[]) => (await controlPlane.kubectl(args)).trim();
const create = (apiVersion: string, kind: string, spec: object) => {
  const object = { apiVersion, kind, metadata: { namespace: 'default', name: kind.toLowerCase() }, spec };
  return controlPlane.kubectl(['create', '--filename=-'], JSON.stringify(object));
};
const patch = (what: string, body: object) =>
  kubectl('patch', what, '--type=merge', `--patch=${JSON.stringify(body)}`);
/** Empty when there is none. */
const get = (what: string, path: string) =>
  kubectl('get', what, `--output=jsonpath={${path}}`, '--ignore-not-found');

interface Story extends Omit<ExampleOperatorOptions, 'controlPlane'> {
  /** Makes the operator use all its rights. */
  readonly use: (operator: ExampleOperator) => Promise<void>;
  /** Rights that no test can make it use at will. */
  readonly rare?: readonly string[];
}

const stories: readonly Story[] = [
  {
    ...{ example: 'blogpost', name: 'blogposts' },
    use: async (operator) => {
      const text = () => get('configmap/blogpost', '.data.content');
      const publishedAt = '2020-01-01T00:00:00Z';
      await create('blog.example.com/v1', 'BlogPost', { title: 'a', content: 'one', publishedAt });
      await operator.until('the page', async () => (await text()) === 'one');
      await patch('blogpost/blogpost', { spec: { content: 'two' } });
      await operator.until('the edit', async () => (await text()) === 'two');
      await patch('blogpost/blogpost', { spec: { publishedAt: null } });
      await operator.until('the draft', async () => (await text()) === '');
    },
  },
  {
    ...{ example: 'notes', name: 'notes' },
    use: async (operator) => {
      const text = () => get('configmap/note', '.data.text');
      await create('example.com/v1', 'Note', { text: 'one' });
      await operator.until('the ConfigMap', async () => (await text()) === 'one');
      await patch('note/note', { spec: { text: 'two' } });
      await operator.until('the edit', async () => (await text()) === 'two');
    },
  },
  {
    ...{ example: 'podset', name: 'podsets' },
    use: async (operator) => {
      const count = async () => (await get('podset/podset', '.status.replicas')) || '0';
      const template = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };
      await create('sets.example.com/v1', 'PodSet', { replicas: 2, template });
      await operator.until('two Pods', async () => (await count()) === '2');
      await kubectl('scale', 'podset/podset', '--replicas=1');
      await operator.until('one Pod', async () => (await count()) === '1');
    },
  },
  {
    ...{ example: 'tunnel', name: 'tunnel' },
    use: async (operator) => {
      const args = () => get('deployments', '.items[*].spec.template.spec.containers[0].args');
      const spec = { type: 'LoadBalancer', loadBalancerClass: 'example.com/tunnel', ports: [{ port: 80 }] };
      await create('v1', 'Service', spec);
      const ip = () => get('service/service', '.status.loadBalancer.ingress[0].ip');
      await operator.until('the address', async () => (await ip()) === machines.address);
      await patch('service/service', { spec: { ports: [{ port: 81 }] } });
      await operator.until('the other port', async () => (await args()).includes('--ports=81'));
      await kubectl('delete', 'service/service', '--timeout=120s');
      assert.deepEqual([...machines.names], []);
    },
  },
  {
    ...{ example: 'database', name: 'databases' },
    use: async (operator) => {
      const image = () => get('statefulset/database', '.spec.template.spec.containers[0].image');
      await create('db.example.com/v1', 'Database', { version: '17.2', storage: '1Gi' });
      const reason = () => get('database/database', '.status.conditions[0].reason');
      await operator.until('the status', async () => (await reason()) === 'Progressing');
      await patch('database/database', { spec: { version: '17.4' } });
      await operator.until('the update', async () => (await image()) === 'postgres:17.4');
      await kubectl('delete', 'database/database', '--timeout=120s');
      assert.equal(await get('statefulset/database', '.metadata.name'), '');
    },
  },
];

/** Whose Ats are created; its controller does not run. */
const crontab: Story = {
  ...{ example: 'crontab', name: 'crontabs' },
  rare: ['patch events.k8s.io/events'],
  use: async (operator) => {
    await kubectl('apply', '--server-side', '--filename=crds/ats.yaml');
    await create('stable.example.com/v1', 'CronTab', { cronSpec: '* * * * * *', image: 'busybox' });
    await operator.until('an At', async () => (await get('ats', '.items[*].metadata.name')) !== '');
    await patch('crontab/crontab', { spec: { cronSpec: 'whenever' } });
    const reasons = () => get('events.events.k8s.io', '.items[*].reason');
    await operator.until('the Event', async () => (await reasons()).includes('InvalidCronSpec'));
  },
};

suite('the rights of the examples are enough, and no more', () => {
  for (const { use, rare = [], ...options } of [...stories, crontab]) {
    test(options.example, async (t) => {
      const env = { ...options.env, MACHINES_URL: machines.url };
      const operator = await ExampleOperator.deploy({ ...options, controlPlane, env });
      t.after(() => operator.end('SIGKILL'));
      operator.start();
      await use(operator);
      // Leases are renewed every two seconds.
      await operator.until('all rights are used', async () => {
        const { unused } = await operator.rights();
        assert.deepEqual(
          unused.filter((right) => !rare.includes(right)),
          [],
        );
        return true;
      });
      assert.deepEqual((await operator.rights()).denied, [], operator.output);
      await operator.end();
    });
  }
});
