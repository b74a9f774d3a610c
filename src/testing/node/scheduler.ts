/** Scheduler: binds Pods to the nodes that they fit, the emptiest first. */
import { formatTime } from '../../kubernetes/time.ts';
import {
  type ClusterAccess,
  type ClusterChange,
  isSameResource,
  type RandomSource,
} from '../cluster-ports.ts';
import { isDone, patchStatus, perform, remove } from '../controllers/write.ts';
import { matchesNode, podCapacity, untolerated } from '../node-fit.ts';
import { type Node, nodes, type Pod, pods } from '../objects.ts';
import { withCondition } from '../pod-conditions.ts';
import { isTerminal, isTerminating } from '../pod-facts.ts';
import { type Outcome, WorkList } from '../work-list.ts';

export interface SchedulerOptions {
  readonly cluster: ClusterAccess;
  readonly random: RandomSource;
  /** From a Pod's creation to its binding, in ms. */
  readonly delay?: readonly [number, number];
}

const user = 'system:kube-scheduler';

export class Scheduler {
  readonly #cluster: ClusterAccess;
  readonly #random: RandomSource;
  readonly #work: WorkList;
  readonly #unsubscribe: () => void;
  /** Pods on each node. */
  readonly #used = new Map<string, number>();
  /** Pods that fit nowhere, until something changes. */
  readonly #unschedulable = new Set<string>();

  constructor({ cluster, random, delay = [1, 50] }: SchedulerOptions) {
    this.#cluster = cluster;
    this.#random = random;
    this.#work = new WorkList({ time: cluster.time, random, delay, sync: (key) => this.#sync(key) });
    this.#unsubscribe = cluster.changes.onChange((change) => this.#see(change));
    for (const pod of cluster.view.list(pods)) {
      this.#count(pod, 1);
      if (isWaiting(pod)) this.#work.add(keyOf(pod));
    }
  }

  stop(): void {
    this.#unsubscribe();
    this.#work.clear();
  }

  #see({ type, resource, object, previous }: ClusterChange): void {
    if (isSameResource(resource, nodes)) {
      this.#retryAll();
      return;
    }
    if (!isSameResource(resource, pods)) return;
    const [pod, before] = [object as Pod, previous as Pod | undefined];
    if (before !== undefined) this.#count(before, -1);
    if (type !== 'DELETED') this.#count(pod, 1);
    const freed = type === 'DELETED' || (isTerminal(pod) && before !== undefined && !isTerminal(before));
    if (freed && pod.spec.nodeName) this.#retryAll();
    if (type === 'DELETED') this.#unschedulable.delete(keyOf(pod));
    else if (isWaiting(pod) && !this.#unschedulable.has(keyOf(pod))) this.#work.add(keyOf(pod));
  }

  #count(pod: Pod, change: number): void {
    const { nodeName } = pod.spec;
    if (nodeName && !isTerminal(pod)) this.#used.set(nodeName, (this.#used.get(nodeName) ?? 0) + change);
  }

  #retryAll(): void {
    for (const key of this.#unschedulable) this.#work.add(key);
    this.#unschedulable.clear();
  }

  #sync(key: string): Outcome {
    const slash = key.indexOf('/');
    const pod = this.#cluster.view.get(pods, key.slice(0, slash), key.slice(slash + 1));
    if (pod === undefined || !isWaiting(pod)) return {};
    const usedOn = (node: string) => this.#used.get(node) ?? 0;
    const { fitting, message } = candidates(pod, this.#cluster.view.list(nodes), usedOn);
    const node = this.#emptiest(fitting);
    if (node !== undefined) return { retry: !this.#bind(pod, node) };
    this.#unschedulable.add(key);
    const told = this.#tell(pod, message);
    return { retry: !told || !this.#preempt(pod) };
  }

  /** Deletes one Pod of the lowest priority, unless one is going already: its place is then taken. */
  #preempt(pod: Pod): boolean {
    const { priority = 0 } = pod.spec;
    if (priority <= 0) return true;
    const { view, writes, time } = this.#cluster;
    const fits = view
      .list(nodes)
      .filter((node) => unfitReason(pod, node, 0) === undefined)
      .map(({ metadata }) => metadata.name);
    const victim = preempted(
      view.list(pods).filter(({ spec }) => fits.includes(spec.nodeName ?? '')),
      priority,
    );
    if (victim === undefined) return true;
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'PreemptionByScheduler',
      message: 'default-scheduler: preempting to accommodate a higher priority pod',
    };
    const conditions = withCondition(victim.status?.conditions ?? [], condition, formatTime(time.now));
    return [patchStatus(pods, victim, { conditions }), remove(pods, victim)]
      .map((write) => perform(writes, user, write))
      .every((answer) => isDone(answer) || answer.code === 404);
  }

  #emptiest(fitting: readonly Candidate[]): Node | undefined {
    const least = Math.min(...fitting.map(({ used }) => used));
    const best = fitting.filter(({ used }) => used === least);
    return best[Math.floor(this.#random.next() * best.length)]?.node;
  }

  #bind(pod: Pod, node: Node): boolean {
    const { namespace = '', name, uid = '' } = pod.metadata;
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/binding`;
    const target = { apiVersion: 'v1', kind: 'Node', name: node.metadata.name };
    const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name, namespace, uid }, target };
    const answer = this.#cluster.writes.request(user, 'POST', path, body);
    return isDone(answer) || answer.code === 404;
  }

  #tell(pod: Pod, message: string): boolean {
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message };
    const before = pod.status?.conditions ?? [];
    const conditions = withCondition(before, condition, formatTime(this.#cluster.time.now));
    if (conditions === before) return true;
    const answer = perform(this.#cluster.writes, user, patchStatus(pods, pod, { conditions }));
    return isDone(answer) || answer.code === 404;
  }
}

/** The youngest Pod of the lowest priority below this one; none while one of them is going. */
export function preempted(present: readonly Pod[], priority: number): Pod | undefined {
  const lower = present.filter((pod) => !isTerminal(pod) && (pod.spec.priority ?? 0) < priority);
  if (lower.some(isTerminating)) return undefined;
  const age = ({ metadata }: Pod) => metadata.creationTimestamp ?? '';
  return lower.reduce<Pod | undefined>((chosen, pod) => {
    if (chosen === undefined) return pod;
    const difference = (pod.spec.priority ?? 0) - (chosen.spec.priority ?? 0);
    return difference < 0 || (difference === 0 && age(pod) > age(chosen)) ? pod : chosen;
  }, undefined);
}

interface Candidate {
  readonly node: Node;
  /** Pods on it. */
  readonly used: number;
}

/** The nodes that the Pod fits, or the sentence that says why there is none. */
export function candidates(
  pod: Pod,
  all: readonly Node[],
  usedOn: (node: string) => number,
): { readonly fitting: readonly Candidate[]; readonly message: string } {
  const fitting: Candidate[] = [];
  const reasons = new Map<string, number>();
  for (const node of all) {
    const used = usedOn(node.metadata.name);
    const reason = unfitReason(pod, node, used);
    if (reason === undefined) fitting.push({ node, used });
    else reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  if (all.length === 0) return { fitting, message: 'no nodes available to schedule pods' };
  const counted = [...reasons].map(([reason, count]) => `${count} ${reason}`).sort();
  return { fitting, message: `0/${all.length} nodes are available: ${counted.join(', ')}.` };
}

function unfitReason(pod: Pod, node: Node, used: number): string | undefined {
  if (!matchesNode(pod.spec, node)) return "node(s) didn't match Pod's node affinity/selector";
  const [taint] = untolerated(pod.spec, node, ['NoSchedule', 'NoExecute']);
  if (taint?.key === 'node.kubernetes.io/unschedulable') return 'node(s) were unschedulable';
  if (taint !== undefined) return `node(s) had untolerated taint(s)`;
  return used >= podCapacity(node) ? 'Too many pods' : undefined;
}

function isWaiting(pod: Pod): boolean {
  const { nodeName, schedulingGates = [] } = pod.spec;
  return !nodeName && schedulingGates.length === 0 && !isTerminating(pod) && !isTerminal(pod);
}

function keyOf({ metadata }: Pod): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}
