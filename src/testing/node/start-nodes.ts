/** Starts the nodes of a simulated cluster, with the scheduler and what watches over them. */
import type { ClusterAccess, RandomSource } from '../cluster-ports.ts';
import { Kubelet } from './kubelet.ts';
import type { KubeletOptions } from './kubelet-options.ts';
import { NodeLifecycle } from './node-lifecycle.ts';
import { Scheduler } from './scheduler.ts';

export interface NodesOptions extends Omit<KubeletOptions, 'cluster' | 'random' | 'name' | 'network'> {
  readonly cluster: ClusterAccess;
  /** Gives each part a source of its own. */
  readonly random: { fork(label: string): RandomSource };
  /** How many, named `node-0`, `node-1`, … */
  readonly count: number;
}

export interface Nodes {
  readonly kubelets: readonly Kubelet[];
  readonly scheduler: Scheduler;
}

export function startNodes({ cluster, random, count, ...options }: NodesOptions): Nodes {
  const scheduler = new Scheduler({ cluster, random: random.fork('scheduler') });
  const lifecycle = new NodeLifecycle({ cluster, random: random.fork('node-lifecycle') });
  const kubelets = Array.from({ length: count }, (_, network) => {
    const name = `node-${network}`;
    const kubelet = new Kubelet({ ...options, cluster, random: random.fork(name), name, network });
    lifecycle.watch(kubelet);
    kubelet.start();
    return kubelet;
  });
  return { kubelets, scheduler };
}
