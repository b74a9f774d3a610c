/**
 * The local cluster's command line; `main.ts --help` tells its commands.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from './build.ts';
import { ClusterError } from './cluster-error.ts';
import { Interruption, startCommand } from './foreground.ts';
import { fullImageName, ImageStore } from './images.ts';
import { kubectlEnvironment } from './kubectl.ts';
import {
  findLocalCluster,
  type LocalCluster,
  localKubeconfig,
  namesForeignCluster,
  requireLocalCluster,
  startLocalCluster,
  stopLocalCluster,
} from './local-cluster.ts';
import { imageDirectory, whyNoNode } from './node.ts';
import { findKubectl } from './programs.ts';
import { run } from './run.ts';
import { sweep } from './sweep.ts';

const usage = `A real Kubernetes on this machine, built from source.

usage: node local-cluster/main.ts COMMAND

  build                               build the programs into the cache, once
  up [--node | --node-if-possible] [--audit]
                                      start a cluster that stays; a node (Linux, root) runs Pods
  down                                stop it and remove everything of it
  kubeconfig                          print the path of its kubeconfig
  kubectl ARGUMENT...                 run kubectl with KUBECONFIG's cluster, else with the one that is up
  load ARCHIVE NAME                   make an image of an OCI archive pullable by the node
  run [--node] [--audit] -- COMMAND   run a command with a cluster of its own

Environment:
  KUBECONFIG          an existing cluster, used instead of a new one
  KUBEBUILDER_ASSETS  a folder with etcd, kube-apiserver and kubectl, used instead of building them
  ATWATCH_CACHE       where built programs are kept (default ~/.cache/atwatch)
"run" gives the command KUBECONFIG, kubectl in PATH and, with --audit, the log's path in ATWATCH_AUDIT_LOG.`;

const flags = {
  node: { type: 'boolean', default: false },
  'node-if-possible': { type: 'boolean', default: false },
  audit: { type: 'boolean', default: false },
} as const;

const { 'node-if-possible': _, ...runFlags } = flags;

function main([command, ...args]: readonly string[]): number | Promise<number> {
  switch (command) {
    case 'build':
      return Interruption.during(async ({ signal }) => {
        console.log(await build(signal));
        return 0;
      });
    case 'up':
      return up(args);
    case 'down':
      return down();
    case 'kubeconfig':
      return kubeconfig();
    case 'kubectl':
      return kubectl(args);
    case 'load':
      return load(args);
    case 'run': {
      const end = args.includes('--') ? args.indexOf('--') : args.length;
      const { values } = parse(args.slice(0, end), runFlags);
      const commandLine = args.slice(end + 1);
      if (commandLine.length === 0) {
        throw new ClusterError(`run: there is no command after --\n\n${usage}`);
      }
      return run({ ...values, command: commandLine });
    }
    case undefined:
    case 'help':
    case '--help':
      console.log(usage);
      return 0;
    default:
      throw new ClusterError(`there is no command ${command}\n\n${usage}`);
  }
}

function parse<T extends typeof runFlags>(args: readonly string[], options: T) {
  try {
    return parseArgs({ args: [...args], options, strict: true });
  } catch (cause) {
    throw new ClusterError(`${(cause as Error).message}\n\n${usage}`, { cause });
  }
}

async function up(args: readonly string[]): Promise<number> {
  const { values } = parse(args, flags);
  if (namesForeignCluster()) {
    console.log(`KUBECONFIG names a cluster already, ${process.env.KUBECONFIG}: there is nothing to start.`);
    return 0;
  }
  return Interruption.during(async ({ signal }) => {
    const obstacle = values['node-if-possible'] ? whyNoNode() : undefined;
    if (obstacle !== undefined) {
      console.error(`${obstacle}: starting a control plane only, Pods will stay Pending`);
    }
    const node = values.node || (values['node-if-possible'] && obstacle === undefined);
    await sweep();
    const { cluster, started } = await startLocalCluster({ node, auditLog: values.audit, signal });
    console.log(describe(cluster, started));
    return 0;
  });
}

function describe({ server, node, directory, auditLog }: LocalCluster, started: boolean): string {
  const what = node === undefined ? 'a control plane without a node' : `with a node at ${node}`;
  const lines = [
    `The local cluster ${started ? 'is up' : 'was up already'}: ${server}, ${what}.`,
    `  use it:    export KUBECONFIG=${localKubeconfig()}`,
    '  look:      make kubectl ARGS="get all --all-namespaces"',
    '  stop it:   make cluster-down',
    `  its logs:  ${join(directory, 'logs')}`,
    ...(auditLog === undefined ? [] : [`  audit log: ${auditLog}`]),
  ];
  return lines.join('\n');
}

async function down(): Promise<number> {
  const stopped = await stopLocalCluster();
  const swept = await sweep();
  const leftovers = swept.length === 0 ? '' : `, and removed what ${swept.length} killed clusters had left`;
  console.log(`${stopped ? 'Stopped the local cluster' : 'No local cluster was up'}${leftovers}.`);
  return 0;
}

async function kubeconfig(): Promise<number> {
  await requireLocalCluster();
  console.log(localKubeconfig());
  return 0;
}

function kubectl(args: readonly string[]): Promise<number> {
  return Interruption.during(async (interruption) => {
    const { path } = await findKubectl(interruption.signal);
    return interruption.attend(startCommand([path, ...args], await kubectlTarget()));
  });
}

/** The environment that names the cluster: the user's own choice, or the local cluster. */
async function kubectlTarget(): Promise<NodeJS.ProcessEnv> {
  if (namesForeignCluster()) {
    return process.env;
  }
  const { directory } = await requireLocalCluster();
  return kubectlEnvironment(localKubeconfig(), directory);
}

/** Into the cluster of the `run` around us, or the local one. */
async function load([archive, name, ...rest]: readonly string[]): Promise<number> {
  if (archive === undefined || name === undefined || rest.length > 0) {
    throw new ClusterError(`load takes an archive and a name\n\n${usage}`);
  }
  const local = await findLocalCluster();
  const directory = process.env.ATWATCH_CLUSTER ?? (local?.node === undefined ? undefined : local.directory);
  if (directory === undefined) {
    throw new ClusterError('no local cluster with a node is up: start one with "up --node"');
  }
  const image = fullImageName(name);
  new ImageStore(imageDirectory(directory)).import(archive, image);
  console.log(`${image} can be pulled now`);
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof ClusterError ? error.message : error);
  process.exitCode = 1;
}
