/**
 * Node lifecycle: what the controller manager makes of a node that is silent. It is tainted, its Pods are not
 * ready any more, and those that do not tolerate the taint for longer are deleted.
 */
import { formatTime, parseTime } from '../../kubernetes/time.ts';
import {
  type ClusterAccess,
  type ClusterChange,
  delayWithin,
  isSameResource,
  type RandomSource,
} from '../cluster-ports.ts';
import { controllerUser } from '../controllers/controller.ts';
import { isDone, patch, patchStatus, perform, remove, type Write } from '../controllers/write.ts';
import { isTolerated, unreachableTaint } from '../node-fit.ts';
import { type Node, nodes, type Pod, pods, type Taint } from '../objects.ts';
import { withCondition } from '../pod-conditions.ts';
import { conditionOf, isTerminating } from '../pod-facts.ts';
import { type Outcome, WorkList } from '../work-list.ts';
import type { Kubelet } from './kubelet.ts';

export interface NodeLifecycleOptions {
  readonly cluster: ClusterAccess;
  readonly random: RandomSource;
  /** For how long a silent node counts as healthy, in ms. */
  readonly grace?: readonly [number, number];
}

const user = controllerUser('node-controller');

export class NodeLifecycle {
  readonly #cluster: ClusterAccess;
  readonly #options: NodeLifecycleOptions;
  readonly #health: WorkList;
  readonly #evictions: WorkList;
  readonly #kubelets = new Map<string, Kubelet>();

  constructor(options: NodeLifecycleOptions) {
    const { cluster, random } = options;
    this.#cluster = cluster;
    this.#options = options;
    const work = { time: cluster.time, random, backOff: [1000, 60_000] as const };
    this.#health = new WorkList({ ...work, delay: [100, 5000], sync: (name) => this.#judge(name) });
    this.#evictions = new WorkList({ ...work, delay: [10, 200], sync: (key) => this.#evict(key) });
    cluster.changes.onChange((change) => this.#see(change));
  }

  /** Hears the heartbeat of a node from now on. */
  watch(kubelet: Kubelet): void {
    this.#kubelets.set(kubelet.name, kubelet);
    kubelet.onState(() => {
      const { grace = [40_000, 50_000] } = this.#options;
      if (kubelet.isHeard) this.#health.add(kubelet.name);
      else this.#health.add(kubelet.name, delayWithin(this.#options.random, grace));
    });
  }

  #see({ type, resource, object, previous }: ClusterChange): void {
    if (type === 'DELETED') return;
    if (isSameResource(resource, nodes)) {
      const [after, before] = [object as Node, previous as Node | undefined];
      if (noExecute(after).length === noExecute(before).length) return;
      for (const pod of this.#podsOn(after.metadata.name)) this.#evictions.add(keyOf(pod));
    } else if (isSameResource(resource, pods)) {
      const [after, before] = [object as Pod, previous as Pod | undefined];
      const { nodeName } = after.spec;
      if (!nodeName || nodeName === before?.spec.nodeName) return;
      if (noExecute(this.#cluster.view.get(nodes, '', nodeName)).length > 0)
        this.#evictions.add(keyOf(after));
    }
  }

  #judge(name: string): Outcome {
    const node = this.#cluster.view.get(nodes, '', name);
    const kubelet = this.#kubelets.get(name);
    if (node === undefined || kubelet === undefined) return {};
    return { retry: !(kubelet.isHeard ? this.#release(node) : this.#condemn(node)) };
  }

  #condemn(node: Node): boolean {
    const { now } = this.#cluster.time;
    const taints = (['NoSchedule', 'NoExecute'] as const).map((effect) => ({
      key: unreachableTaint,
      effect,
      timeAdded: formatTime(now),
    }));
    if ((node.spec?.taints ?? []).some(({ key }) => key === unreachableTaint)) return true;
    const condition = {
      type: 'Ready',
      status: 'Unknown',
      reason: 'NodeStatusUnknown',
      message: 'Kubelet stopped posting node status.',
    };
    const conditions = withCondition(node.status?.conditions ?? [], condition, formatTime(now));
    const unready = this.#podsOn(node.metadata.name).map((pod) => notReady(pod, now));
    return this.#performAll([
      patchStatus(nodes, node, { conditions }),
      ...unready.filter((write) => write !== undefined),
      patch(nodes, node, { spec: { taints: [...(node.spec?.taints ?? []), ...taints] } }),
    ]);
  }

  #release(node: Node): boolean {
    const taints = node.spec?.taints ?? [];
    const rest = taints.filter(({ key }) => key !== unreachableTaint);
    if (rest.length === taints.length) return true;
    return this.#performAll([patch(nodes, node, { spec: { taints: rest.length === 0 ? null : rest } })]);
  }

  #evict(key: string): Outcome {
    const slash = key.indexOf('/');
    const pod = this.#cluster.view.get(pods, key.slice(0, slash), key.slice(slash + 1));
    if (pod === undefined || isTerminating(pod) || !pod.spec.nodeName) return {};
    const { now } = this.#cluster.time;
    const due = evictionTime(pod, noExecute(this.#cluster.view.get(nodes, '', pod.spec.nodeName)));
    if (due === undefined) return {};
    if (due > now) return { after: due - now };
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByTaintManager',
      message: 'Taint manager: deleting due to NoExecute taint',
    };
    const conditions = withCondition(pod.status?.conditions ?? [], condition, formatTime(now));
    return { retry: !this.#performAll([patchStatus(pods, pod, { conditions }), remove(pods, pod)]) };
  }

  #podsOn(name: string): readonly Pod[] {
    return this.#cluster.view.list(pods).filter(({ spec }) => spec.nodeName === name);
  }

  #performAll(writes: readonly Write[]): boolean {
    return writes
      .map((write) => perform(this.#cluster.writes, user, write))
      .every((answer) => isDone(answer) || answer.code === 404);
  }
}

function noExecute(node: Node | undefined): readonly Taint[] {
  return (node?.spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
}

/** When a Pod has tolerated the taints of its node for long enough, epoch ms; undefined: never. */
export function evictionTime({ spec }: Pod, taints: readonly Taint[]): number | undefined {
  const times = taints.map((taint) => {
    const added = parseTime(taint.timeAdded ?? '') || 0;
    const tolerations = (spec.tolerations ?? []).filter((toleration) => isTolerated(toleration, taint));
    if (tolerations.length === 0) return added;
    const seconds = tolerations.map(({ tolerationSeconds }) => tolerationSeconds ?? Number.POSITIVE_INFINITY);
    return added + Math.min(...seconds) * 1000;
  });
  const first = Math.min(...times);
  return first === Number.POSITIVE_INFINITY ? undefined : first;
}

/** Its condition stays as the kubelet had it but for the status. */
function notReady(pod: Pod, now: number): Write | undefined {
  const ready = conditionOf(pod, 'Ready');
  if (ready?.status !== 'True') return undefined;
  const { lastTransitionTime, ...told } = ready;
  const condition = { ...told, status: 'False' };
  const conditions = withCondition(pod.status?.conditions ?? [], condition, formatTime(now));
  return patchStatus(pods, pod, { conditions });
}

function keyOf({ metadata }: Pod): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}
