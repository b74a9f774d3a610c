/**
 * A real node; all tests share it, each works with Pods of its own.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ImageStore } from '../../../local-cluster/images.ts';
import { type Cluster, imageDirectory, startCluster, whyNoNode } from '../../../local-cluster/node.ts';
import { waitFor } from '../../../local-cluster/wait.ts';

const patience = ['--timeout=120s'];

function pod(name: string, container: object, spec: object = {}): string {
  const containers = [{ name: 'main', image: 'busybox', ...container }];
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { restartPolicy: 'Never', containers, ...spec },
  });
}

describe('a node', { skip: whyNoNode() ?? false }, () => {
  let cluster: Cluster;
  const kubectl = (args: string, input?: string) => cluster.kubectl(args.split(' '), input);
  const run = async (name: string, container: object, spec?: object) => {
    await kubectl('create -f -', pod(name, container, spec));
  };

  before(async () => {
    cluster = await startCluster({ node: true });
  });
  after(() => cluster.stop());

  test('pulls an image without a tag and runs its command to the end', async () => {
    await run('echo', { command: ['echo', 'YAY'] });
    await kubectl(`wait pod/echo --for=jsonpath={.status.phase}=Succeeded ${patience}`);
    assert.equal(await kubectl('logs echo'), 'YAY\n');
    const pulled = 'events --field-selector=reason=Pulled,involvedObject.name=echo';
    // The kubelet sends Events behind what it does.
    await waitFor({ what: 'the Event of the pull', limit: 60_000 }, async () =>
      /Successfully pulled image "busybox"/.test(
        await kubectl(`get ${pulled} -o jsonpath={.items[*].message}`),
      ),
    );
  });

  test('cannot pull what the registry does not have', async () => {
    await run('unknown', { image: 'nobody/has-this' });
    const reason = '{.status.containerStatuses[0].state.waiting.reason}';
    await waitFor({ what: 'the failed pull', limit: 60_000 }, async () =>
      /^(ErrImagePull|ImagePullBackOff)$/.test(await kubectl(`get pod unknown -o jsonpath=${reason}`)),
    );
    await kubectl('delete pod unknown --wait=false');
  });

  test('serves the message at the Pod, the Service and the node’s port, and stops fast', async () => {
    const message = [{ name: 'MESSAGE', value: 'Hello' }];
    await kubectl('create deployment web --image=k8spatterns/mini-http-server');
    const patch = {
      spec: { template: { spec: { containers: [{ name: 'mini-http-server', env: message }] } } },
    };
    await cluster.kubectl(['patch', 'deployment', 'web', '--patch', JSON.stringify(patch)]);
    await kubectl('expose deployment web --type=NodePort --port=80 --target-port=8080');
    await kubectl(`rollout status deployment/web ${patience}`);
    const [address, port] = (
      await kubectl('get service web -o jsonpath={.spec.clusterIP}:{.spec.ports[0].nodePort}')
    ).split(':');
    const fetchText = async (url: string) => (await fetch(url, { signal: AbortSignal.timeout(3000) })).text();
    // The rollout is complete before the old Pod is gone and before kube-proxy has heard of it.
    const says = async (url: string) => (await fetchText(url)) === 'Hello\n';
    await waitFor({ what: 'the new Pod', limit: 60_000 }, async () => {
      const addresses = await kubectl('get pods -l app=web -o jsonpath={.items[*].status.podIP}');
      return addresses !== '' && !addresses.includes(' ') && says(`http://${addresses}:8080/any/path`);
    });
    await waitFor({ what: 'kube-proxy', limit: 60_000 }, () =>
      says(`http://${cluster.node?.address}:${port}/`),
    );

    await run('client', { command: ['wget', '-q', '-O', '-', `http://${address}/`] });
    await kubectl(`wait pod/client --for=jsonpath={.status.phase}=Succeeded ${patience}`);
    assert.equal(await kubectl('logs client'), 'Hello\n');

    // The Pods alone: how soon the garbage collector of a new cluster sets to work is not the program's doing.
    await kubectl('delete deployment,replicasets --selector=app=web --cascade=orphan');
    const began = performance.now();
    await kubectl('delete pods --selector=app=web');
    assert.ok(performance.now() - began < 28_000, 'the grace period is 30 s');
  });

  test('gives a Pod a token and a way to the API server', async () => {
    const token = '/var/run/secrets/kubernetes.io/serviceaccount/token';
    const script = `test -s ${token} && nc -w 5 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT < /dev/null && echo reached`;
    await run('api', { command: ['sh', '-c', script] });
    await kubectl(`wait pod/api --for=jsonpath={.status.phase}=Succeeded ${patience}`);
    assert.equal(await kubectl('logs api'), 'reached\n');
  });

  test('executes commands in a running container, under its own control group', async () => {
    await run('shell', { command: ['sleep', '600'] }, { terminationGracePeriodSeconds: 0 });
    await kubectl(`wait pod/shell --for=condition=Ready ${patience}`);
    const groups = await kubectl('exec shell -- cat /proc/1/cgroup');
    assert.match(groups, /\/atwatch-cluster-\w+\/kubepods\//);
    await kubectl('delete pod shell');
  });

  test('pulls an image that was loaded, under any name', async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'atwatch-test-'));
    t.after(() => rmSync(directory, { recursive: true }));
    const store = new ImageStore(imageDirectory(cluster.directory));
    const archive = join(directory, 'image.tar');
    const made = new ImageStore(join(directory, 'store'));
    const busybox = store.blob(store.resolve('docker.io/library/busybox:latest')?.digest ?? '');
    const manifest = JSON.parse(readFileSync(busybox ?? '', 'utf8'));
    const root = join(directory, 'root');
    execFileSync('mkdir', [root]);
    execFileSync('tar', ['-C', root, '-xf', store.blob(manifest.layers[0].digest) ?? '']);
    made.create('anything', root, { Cmd: ['echo', 'loaded'], Env: ['PATH=/bin'] });
    execFileSync('tar', ['-C', made.directory, '-cf', archive, '.']);
    cluster.node?.loadImage(archive, 'registry.example/me/app:v1');

    await run('loaded', { image: 'registry.example/me/app:v1', imagePullPolicy: 'Always' });
    await kubectl(`wait pod/loaded --for=jsonpath={.status.phase}=Succeeded ${patience}`);
    assert.equal(await kubectl('logs loaded'), 'loaded\n');
  });

  test('changes nothing of the machine, and a second one does not meet it', async () => {
    const folders = ['/var/lib/kubelet', '/var/lib/cni', '/var/log/pods', '/run/containerd/s'];
    const settings = ['vm/overcommit_memory', 'kernel/panic'].map((name) =>
      readFileSync(`/proc/sys/${name}`, 'utf8'),
    );
    const present = folders.filter((folder) => existsSync(folder));
    const second = await startCluster({ node: true });
    try {
      assert.notEqual(second.node?.address, cluster.node?.address);
      assert.equal(await second.kubectl(['get', 'pods', '-o', 'name']), '');
      assert.deepEqual(
        folders.filter((folder) => existsSync(folder)),
        present,
      );
      assert.ok(!readFileSync('/proc/mounts', 'utf8').includes(second.directory));
      assert.deepEqual(
        ['vm/overcommit_memory', 'kernel/panic'].map((name) => readFileSync(`/proc/sys/${name}`, 'utf8')),
        settings,
      );
    } finally {
      await second.stop();
    }
    assert.equal(await kubectl('get --raw /readyz'), 'ok');
  });
});
