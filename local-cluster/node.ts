/**
 * Node: a control plane with a real kubelet, containerd and kube-proxy, on Linux as root.
 *
 * All of it runs in namespaces of its own (processes, mounts, network), so it changes nothing of the machine, and when
 * their first process ends the kernel removes everything. Pods reach the API server, and the machine reaches Pods and
 * NodePorts; the Internet is not reached.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { connect } from 'node:net';
import { basename, join } from 'node:path';
import { createCgroup } from './cgroup.ts';
import { ClusterError } from './cluster-error.ts';
import { assemble, type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts';
import { createStandardImages, fullImageName, ImageStore } from './images.ts';
import { connectNode, type NodeNetwork } from './network.ts';
import {
  cniConfig,
  containerdConfig,
  containerdSocket,
  kubeletConfig,
  registryHosts,
  registryPort,
} from './node-config.ts';
import { ensurePackages, type NodePackages } from './packages.ts';
import { findPrograms, type Programs } from './programs.ts';
import { Supervision, temporaryDirectory } from './supervision.ts';

export interface Cluster extends ControlPlane {
  /** The node, if there is one. */
  readonly node: ClusterNode | undefined;
}

export interface ClusterNode {
  readonly name: string;
  /** Reachable from this machine, also for NodePort Services. */
  readonly address: string;
  /** Makes an image of an OCI archive pullable under this name, as if a registry had it. */
  loadImage(archive: string, name: string): void;
}

export interface ClusterOptions extends ControlPlaneOptions {
  /** Whether the cluster has a node that runs Pods. Default false. */
  node?: boolean;
}

export const nodeName = 'node';

const apiServerPort = 6443;
const proxyHealthPort = 10_256;

/** In milliseconds. */
const limits = { containerd: 30_000, registered: 60_000, ready: 60_000, proxy: 30_000 };

/** Where the images of a cluster with a node lie. */
export function imageDirectory(directory: string): string {
  return join(directory, 'images');
}

/** Why this process cannot start a node, as part of a sentence; undefined if it can. */
export function whyNoNode(platform: string = process.platform, uid = process.getuid?.()): string | undefined {
  if (platform !== 'linux') {
    return 'a node needs Linux';
  }
  return uid === 0 ? undefined : 'a node needs root';
}

/** @throws {ClusterError} when a node is asked for where none can be, and as {@link startControlPlane} does */
export async function startCluster({ node = false, ...options }: ClusterOptions = {}): Promise<Cluster> {
  if (!node) {
    return { ...(await startControlPlane(options)), node: undefined };
  }
  const obstacle = whyNoNode();
  if (obstacle !== undefined) {
    throw new ClusterError(`${obstacle}; without --node you get a control plane only`);
  }
  const programs = await findNodePrograms(options.signal);
  const packages = await ensurePackages();
  options.signal?.throwIfAborted();
  const supervision = await Supervision.start({
    ...options,
    parentDirectory: temporaryDirectory(copiedFolders),
    wrapper: (directory) => [...namespaces, 'sh', join(import.meta.dirname, 'node-init.sh'), directory],
  });
  try {
    return await startNode({ programs, packages, supervision, options });
  } catch (error) {
    await supervision.stop();
    throw error;
  }
}

/** A node sees a copy of these; its own folder must not be in one of them. */
const copiedFolders = ['/run', '/var/run', '/var/lib', '/var/log'];

const namespaces = ['unshare', '--fork', '--kill-child', '--pid', '--mount-proc', '--mount', '--net', '--'];

async function findNodePrograms(signal: AbortSignal | undefined): Promise<Programs> {
  const programs = await findPrograms(signal);
  const needed = [
    'kubelet',
    'kube-proxy',
    'kube-controller-manager',
    'kube-scheduler',
    'pause',
    'mini-http-server',
  ];
  const missing = needed.filter((name) => !programs.has(name));
  if (missing.length > 0) {
    throw new ClusterError(
      `${programs.directory} has no program ${missing.join(', ')}, which a node needs. ` +
        'Unset KUBEBUILDER_ASSETS to have all of them built from source.',
    );
  }
  return programs;
}

interface Parts {
  programs: Programs;
  packages: NodePackages;
  supervision: Supervision;
  options: ControlPlaneOptions;
}

async function startNode({ programs, packages, supervision, options }: Parts): Promise<Cluster> {
  const { directory } = supervision;
  const pid = Number(readFileSync(join(directory, 'supervisor.pid'), 'utf8'));
  const network = connectNode(pid);
  startContainerd(supervision, packages, network);
  const store = new ImageStore(imageDirectory(directory));
  createStandardImages(store, {
    busybox: packages.busybox,
    pause: programs.path('pause'),
    miniHttpServer: programs.path('mini-http-server'),
  });
  const endpoint = { address: network.node, port: apiServerPort };
  const controlPlane = await assemble(programs, supervision, options, endpoint);
  await startAgents({ programs, supervision, options, network, controlPlane });
  return {
    ...controlPlane,
    node: {
      name: nodeName,
      address: network.node,
      loadImage: (archive, name) => store.import(archive, fullImageName(name)),
    },
  };
}

function startContainerd(
  supervision: Supervision,
  { containerd, cni }: NodePackages,
  { pods }: NodeNetwork,
): void {
  const { directory } = supervision;
  const write = (path: string, content: string) => writeFileSync(join(directory, path), content);
  for (const folder of ['containerd/certs.d/_default', 'cni', 'images']) {
    mkdirSync(join(directory, folder), { recursive: true });
  }
  write('containerd/config.toml', containerdConfig({ directory, cni }));
  write('containerd/certs.d/_default/hosts.toml', registryHosts);
  write('cni/10-pods.conflist', cniConfig(pods));
  supervision.run({
    name: 'registry',
    command: process.execPath,
    args: [
      '--disable-warning=ExperimentalWarning',
      join(import.meta.dirname, 'registry-server.ts'),
      imageDirectory(directory),
      String(registryPort),
    ],
  });
  supervision.run({
    name: 'containerd',
    command: containerd,
    args: ['--config', `${directory}/containerd/config.toml`],
  });
}

interface Agents extends Omit<Parts, 'packages'> {
  network: NodeNetwork;
  controlPlane: Awaited<ReturnType<typeof assemble>>;
}

async function startAgents({ programs, supervision, options, network, controlPlane }: Agents): Promise<void> {
  const { directory } = supervision;
  const { pki, probe, server } = controlPlane;
  const { signal } = options;
  const wait = <T>(what: string, limit: number, test: () => Promise<T>) =>
    supervision.wait(what, limit, test, signal);

  const user = {
    name: `system:node:${nodeName}`,
    organization: 'system:nodes',
    hosts: [nodeName, network.node],
  };
  const cgroup = basename(directory);
  createCgroup(cgroup);
  writeFileSync(join(directory, 'resolv.conf'), '');
  const kubelet = pki.writeKubeconfig('kubelet', server, await pki.issue('kubelet', user));
  const config = kubeletConfig({ directory, cgroup, pki: pki.file });
  writeFileSync(join(directory, 'kubelet.json'), config);
  await wait('containerd', limits.containerd, () => accepts(containerdSocket(directory)));
  supervision.run({
    name: 'kubelet',
    command: programs.path('kubelet'),
    args: [
      `--config=${directory}/kubelet.json`,
      `--kubeconfig=${kubelet}`,
      `--root-dir=${directory}/kubelet`,
      `--hostname-override=${nodeName}`,
      `--node-ip=${network.node}`,
    ],
  });
  const proxy = await pki.issue('kube-proxy', { name: 'system:kube-proxy' });
  supervision.run({
    name: 'kube-proxy',
    command: programs.path('kube-proxy'),
    args: [
      `--kubeconfig=${pki.writeKubeconfig('kube-proxy', server, proxy)}`,
      `--hostname-override=${nodeName}`,
      '--proxy-mode=iptables',
      `--cluster-cidr=${network.pods}`,
      `--healthz-bind-address=${network.node}:${proxyHealthPort}`,
      // Or else answers between two Pods of the node pass the bridge without being translated back, unless the
      // machine has loaded br_netfilter, and we load nothing.
      '--masquerade-all',
      // The table of connections is the machine's.
      '--conntrack-max-per-core=0',
    ],
  });
  const path = `/api/v1/nodes/${nodeName}`;
  await wait('the node to be ready', limits.ready, async () => isReady(await probe.get(path)));
  await wait('kube-proxy', limits.proxy, () => answers(`http://${network.node}:${proxyHealthPort}/healthz`));
}

/** Ready, and without the taint that keeps Pods away until the node controller has noticed. */
function isReady(body: string | undefined): boolean {
  if (body === undefined) {
    return false;
  }
  const { spec, status } = JSON.parse(body) as {
    spec: { taints?: object[] };
    status: { conditions?: { type: string; status: string }[] };
  };
  const ready = status.conditions?.some(
    (condition) => condition.type === 'Ready' && condition.status === 'True',
  );
  return ready === true && (spec.taints ?? []).length === 0;
}

function accepts(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    connection.once('connect', () => {
      connection.destroy();
      resolve(true);
    });
    connection.once('error', () => resolve(false));
  });
}

function answers(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    get(url, { agent: false, timeout: 2000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    })
      .once('timeout', () => resolve(false))
      .once('error', () => resolve(false));
  });
}
