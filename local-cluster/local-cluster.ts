/**
 * Local cluster: the one that `up` starts and `down` stops. It outlives both, so its whereabouts are kept in a file.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { cacheDirectory } from './cache.ts';
import { ClusterError } from './cluster-error.ts';
import { lock } from './lock.ts';
import { type ClusterOptions, startCluster } from './node.ts';
import { isUp, stopDetached } from './supervision.ts';

export interface LocalCluster {
  /** The cluster's folder. */
  directory: string;
  server: string;
  /** The node's address, if there is a node. */
  node?: string | undefined;
  /** The path of the audit log, if there is one. */
  auditLog?: string | undefined;
}

/** The kubeconfig of the local cluster; always at the same place, so that it can be exported once. */
export function localKubeconfig(): string {
  return join(cacheDirectory(), 'kubeconfig');
}

/** Whether KUBECONFIG names a cluster that is not the local one. */
export function namesForeignCluster(kubeconfig = process.env.KUBECONFIG): kubeconfig is string {
  return kubeconfig !== undefined && kubeconfig !== '' && resolve(kubeconfig) !== localKubeconfig();
}

function stateFile(): string {
  return join(cacheDirectory(), 'up.json');
}

/** The local cluster, if it is up: its supervisor answers. */
export async function findLocalCluster(): Promise<LocalCluster | undefined> {
  if (!existsSync(stateFile())) {
    return undefined;
  }
  const cluster = JSON.parse(readFileSync(stateFile(), 'utf8')) as LocalCluster;
  return (await isUp(cluster.directory)) ? cluster : undefined;
}

/** @throws {ClusterError} that says how to start it, when it is not up */
export async function requireLocalCluster(): Promise<LocalCluster> {
  const cluster = await findLocalCluster();
  if (cluster === undefined) {
    const named = process.env.KUBECONFIG ? 'KUBECONFIG names it' : 'KUBECONFIG names no other';
    throw new ClusterError(
      `the local cluster is not up, and ${named}: start it with "up", or set KUBECONFIG`,
    );
  }
  return cluster;
}

/**
 * Starts the local cluster unless it is up.
 *
 * @throws {ClusterError} when it is up without the node that is asked for
 */
export function startLocalCluster(
  options: ClusterOptions,
): Promise<{ cluster: LocalCluster; started: boolean }> {
  return alone(options.signal, async () => {
    const existing = await findLocalCluster();
    if (existing === undefined) {
      return { cluster: await start(options), started: true };
    }
    if (options.node === true && existing.node === undefined) {
      throw new ClusterError('the local cluster is up without a node: stop it with "down" first');
    }
    return { cluster: existing, started: false };
  });
}

async function start(options: ClusterOptions): Promise<LocalCluster> {
  const cluster = await startCluster(options);
  try {
    copyFileSync(cluster.kubeconfig, `${localKubeconfig()}.new`);
    renameSync(`${localKubeconfig()}.new`, localKubeconfig());
    const { directory, server, auditLog, node } = cluster;
    const state: LocalCluster = { directory, server, auditLog, node: node?.address };
    writeFileSync(`${stateFile()}.new`, JSON.stringify(state));
    renameSync(`${stateFile()}.new`, stateFile());
    await cluster.detach();
    return state;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** Returns whether there was something to stop. */
export function stopLocalCluster(): Promise<boolean> {
  return alone(undefined, async () => {
    const cluster = await findLocalCluster();
    if (cluster !== undefined) {
      await stopDetached(cluster.directory);
    }
    for (const file of [stateFile(), localKubeconfig()]) {
      rmSync(file, { force: true });
    }
    return cluster !== undefined;
  });
}

/** No two `up` or `down` at once. */
async function alone<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  mkdirSync(cacheDirectory(), { recursive: true });
  const release = await lock(join(cacheDirectory(), 'up.lock'), {
    onWait: (pid) => console.error(`waiting for process ${pid}, which starts or stops the local cluster`),
    signal,
  });
  try {
    return await work();
  } finally {
    release();
  }
}
