/** Node registration: the Node object of a kubelet, made once and found ready again after each loss. */
import { formatTime } from '../../kubernetes/time.ts';
import type { ClusterAccess } from '../cluster-ports.ts';
import { create, patchStatus, perform } from '../controllers/write.ts';
import { type Node, nodes } from '../objects.ts';
import { withCondition } from '../pod-conditions.ts';

export interface NodeDescription {
  readonly cluster: ClusterAccess;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly maxPods?: number;
}

const ready = {
  type: 'Ready',
  status: 'True',
  reason: 'KubeletReady',
  message: 'kubelet is posting ready status',
};

export class NodeRegistration {
  readonly #node: NodeDescription;
  readonly #clock: () => number;

  constructor(node: NodeDescription, clock: () => number) {
    this.#node = node;
    this.#clock = clock;
  }

  register(): void {
    const { cluster, name, labels, maxPods = 110 } = this.#node;
    const user = `system:node:${name}`;
    if (cluster.view.get(nodes, '', name) === undefined) {
      const metadata = { name, labels: { 'kubernetes.io/hostname': name, ...labels } };
      const object = { apiVersion: 'v1', kind: 'Node', metadata, spec: {} };
      perform(cluster.writes, user, create(nodes, object));
    }
    const node: Node | undefined = cluster.view.get(nodes, '', name);
    if (node === undefined) return;
    const room = { pods: String(maxPods) };
    const conditions = withCondition(node.status?.conditions ?? [], ready, formatTime(this.#clock()));
    perform(
      cluster.writes,
      user,
      patchStatus(nodes, node, { capacity: room, allocatable: room, conditions }),
    );
  }
}
