/**
 * `run`: a command with a cluster around it that starts before and stops after it.
 */
import { delimiter } from 'node:path';
import type { ClusterError } from './cluster-error.ts';
import { Interruption, startCommand } from './foreground.ts';
import { kubectlEnvironment } from './kubectl.ts';
import { namesForeignCluster, requireLocalCluster } from './local-cluster.ts';
import { type Cluster, type ClusterOptions, startCluster } from './node.ts';
import { findKubectl, findPrograms } from './programs.ts';
import { sweep } from './sweep.ts';

export interface RunOptions {
  command: readonly string[];
  node: boolean;
  audit: boolean;
}

/** Returns the exit code: the command's own, or 128 plus the number of the signal that ended it or us. */
export function run({ command, node, audit }: RunOptions): Promise<number> {
  return Interruption.during(async (interruption) => {
    if (process.env.KUBECONFIG) {
      const local = namesForeignCluster() ? undefined : await requireLocalCluster();
      console.error(`using the cluster of KUBECONFIG=${process.env.KUBECONFIG}`);
      const { directory } = await findKubectl(interruption.signal);
      const env = { ...process.env, ...auditEnvironment(local), PATH: pathWith(directory) };
      return await interruption.attend(startCommand(command, env));
    }
    const programs = await findPrograms(interruption.signal);
    await sweep();
    const cluster = await start({ node, auditLog: audit, signal: interruption.signal });
    try {
      const env = {
        ...kubectlEnvironment(cluster.kubeconfig, cluster.directory),
        ...auditEnvironment(cluster),
        ATWATCH_CLUSTER: cluster.directory,
        PATH: pathWith(programs.directory),
      };
      return await interruption.attend(startCommand(command, env));
    } finally {
      await cluster.stop();
    }
  });
}

function auditEnvironment(cluster: { auditLog?: string | undefined } | undefined): NodeJS.ProcessEnv {
  return cluster?.auditLog === undefined ? {} : { ATWATCH_AUDIT_LOG: cluster.auditLog };
}

/** A PATH in which the folder comes first. */
function pathWith(directory: string): string {
  return [directory, process.env.PATH ?? ''].join(delimiter);
}

async function start(options: ClusterOptions): Promise<Cluster> {
  const began = performance.now();
  const onDeath = (error: ClusterError) => console.error(error.message);
  const cluster = await startCluster({ ...options, onDeath });
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const what = cluster.node === undefined ? 'control plane' : 'control plane and node';
  console.error(`${what} ready at ${cluster.server} after ${seconds} s`);
  return cluster;
}
