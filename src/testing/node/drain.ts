/** Drain: what `kubectl drain` does to a node: a cordon, then evictions until its Pods are gone. */
import { controllerOf } from '../../kubernetes/objects.ts';
import { type ClusterAccess, delayWithin, type RandomSource } from '../cluster-ports.ts';
import { patch, perform } from '../controllers/write.ts';
import { nodes, type Pod, pods } from '../objects.ts';
import { isTerminating } from '../pod-facts.ts';

export interface DrainOptions {
  readonly cluster: ClusterAccess;
  readonly random: RandomSource;
  /** Name of the node. */
  readonly node: string;
  /** Who drains. Default `kubernetes-admin`. */
  readonly user?: string;
  /** Gives up after so many ms. Default: 10 min. */
  readonly timeout?: number;
}

/** How often a refused eviction is tried again, in ms. */
const retry: readonly [number, number] = [5000, 5500];

/** Begins it. The node stays cordoned at the end. */
export function drain({
  cluster,
  random,
  node,
  user = 'kubernetes-admin',
  timeout = 600_000,
}: DrainOptions): void {
  cordon(cluster, node, true, user);
  const deadline = cluster.time.now + timeout;
  const round = () => {
    if (cluster.time.now >= deadline) return;
    const left = drainable(cluster, node);
    for (const pod of left) if (!isTerminating(pod)) evict(cluster, pod, user);
    if (left.length > 0) cluster.time.schedule(delayWithin(random, retry), round);
  };
  round();
}

/** Sets whether new Pods may be bound to a node. */
export function cordon(
  cluster: ClusterAccess,
  name: string,
  unschedulable: boolean,
  user = 'kubernetes-admin',
): void {
  const node = cluster.view.get(nodes, '', name);
  if (node === undefined) return;
  perform(cluster.writes, user, patch(nodes, node, { spec: { unschedulable: unschedulable || null } }));
}

/** DaemonSets would put theirs back at once. */
function drainable({ view }: ClusterAccess, node: string): readonly Pod[] {
  return view
    .list(pods)
    .filter((pod) => pod.spec.nodeName === node && controllerOf(pod)?.kind !== 'DaemonSet');
}

function evict({ writes }: ClusterAccess, { metadata }: Pod, user: string): void {
  const { namespace = '', name, uid = '' } = metadata;
  writes.request(user, 'POST', `/api/v1/namespaces/${namespace}/pods/${name}/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name, namespace },
    deleteOptions: { preconditions: { uid } },
  });
}
