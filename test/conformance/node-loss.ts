/**
 * Rows about nodes that are silent, gone or drained: what the controllers make of their Pods. No program runs in them, so
 * that a kubelet can be played.
 */
import assert from 'node:assert/strict';
import { configMaps } from '../../src/kubernetes/objects.ts';
import { parseTime } from '../../src/kubernetes/time.ts';
import { unreachableTaint } from '../../src/testing/node-fit.ts';
import {
  type Node,
  nodes,
  type Pod,
  type PodSpec,
  pods,
  type Toleration,
} from '../../src/testing/objects.ts';
import { conditionOf, createdAt, isReady, isTerminating } from '../../src/testing/pod-facts.ts';
import {
  type DaemonSet,
  daemonSets,
  deployments,
  podDisruptionBudgets,
  type ReplicaSet,
  replicaSets,
  statefulSets,
} from '../../src/testing/workloads.ts';
import { newPod, running, serving, type WorkloadSubject, workload } from './workload-subject.ts';

export interface NodeSubject extends WorkloadSubject {
  /** Two nodes, on which only Pods of the row run. */
  readonly nodes: readonly [string, string];
  /** What a Pod needs to run on one of them. */
  readonly placement: {
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly tolerations?: readonly Toleration[];
  };
  /** From now on nothing is heard of it. */
  silence(node: string): void;
  /** It is heard of again, and has its Pods still. */
  revive(node: string): Promise<void>;
  /** Begins what `kubectl drain` does. */
  drain(node: string): void;
}

/** One thing that both clusters must do alike. */
export interface NodeRow {
  readonly title: string;
  run(subject: NodeSubject): Promise<void>;
}

const unreachable = { key: unreachableTaint, operator: 'Exists', effect: 'NoExecute' };

function placed(
  subject: NodeSubject,
  tolerations: readonly Toleration[] = [],
  node?: string,
): Partial<PodSpec> {
  const { placement } = subject;
  const pinned = node === undefined ? {} : { 'kubernetes.io/hostname': node };
  return {
    nodeSelector: { ...placement.nodeSelector, ...pinned },
    tolerations: [...(placement.tolerations ?? []), ...tolerations],
  };
}

/** As {@link workload}, on the nodes of the row. */
function placedWorkload(subject: NodeSubject, name: string, tolerations?: readonly Toleration[]): object {
  const made = workload(name, '1') as { template: { metadata: object; spec: object } };
  const spec = { ...made.template.spec, ...placed(subject, tolerations) };
  return { ...made, template: { ...made.template, spec } };
}

async function podsOn(subject: NodeSubject, node: string): Promise<readonly Pod[]> {
  return (await subject.list(pods)).filter(({ spec }) => spec.nodeName === node);
}

function namesOf(found: readonly Pod[]): readonly string[] {
  return found.map(({ metadata }) => metadata.name).sort();
}

function getPod(subject: NodeSubject, name: string): Promise<Pod> {
  return subject.until(`the Pod ${name}`, () => subject.find(pods, name));
}

function allReady(subject: NodeSubject, names: readonly string[]): Promise<readonly Pod[]> {
  return subject.until(`${names} are ready`, async () => {
    const found = await Promise.all(names.map((name) => subject.find(pods, name)));
    const ready = found.filter((pod) => pod !== undefined && isReady(pod)) as Pod[];
    return ready.length === names.length && ready;
  });
}

function taintsOf(node: Node | undefined): readonly string[] {
  const taints = (node?.spec?.taints ?? []).filter(({ key }) => key === unreachableTaint);
  return taints.map(({ effect }) => effect).sort();
}

function tainted(subject: NodeSubject, name: string): Promise<Node> {
  return subject.until(`the taints of ${name}`, async () => {
    const node = await subject.find(nodes, name);
    return taintsOf(node).length === 2 && node;
  });
}

function cordon(subject: NodeSubject, name: string, unschedulable: boolean): Promise<Node> {
  return subject.patch(nodes, name, { spec: { unschedulable: unschedulable || null } });
}

/** Its last state, once it is gone. */
async function lastState(subject: NodeSubject, { metadata }: Pod): Promise<Pod> {
  return subject.until(`the watch shows the end of ${metadata.name}`, async () => {
    const last = subject.history(pods).findLast(({ object }) => object.metadata.uid === metadata.uid);
    return last?.type === 'DELETED' && (last.object as Pod);
  });
}

/** Status, reason and message of a condition. */
function told(pod: Pod, type: string): readonly unknown[] {
  const { status, reason, message } = conditionOf(pod, type) ?? {};
  return [status, reason, message];
}

/** The time of the server, which has whole seconds, as epoch ms. */
async function serverTime(subject: NodeSubject, name: string): Promise<number> {
  const { metadata } = await subject.create(configMaps, { metadata: { name } });
  return parseTime(metadata.creationTimestamp ?? '');
}

function changedAt(pod: Pod, type: string): number {
  return parseTime(conditionOf(pod, type)?.lastTransitionTime ?? '');
}

const byTaint = ['True', 'DeletionByTaintManager', 'Taint manager: deleting due to NoExecute taint'];
const byCollector = ['True', 'DeletionByPodGC', 'PodGC: node no longer exists'];
/** So long a node must be gone. What it is measured with has whole seconds. */
const quarantineMs = 40_000 - 1000;

const silenceRows: readonly NodeRow[] = [
  {
    title:
      'a silent node is tainted; its Pods are not ready, are deleted when they tolerate that no more, and stay',
    async run(subject) {
      const [node, other] = subject.nodes;
      const pod = (name: string, tolerations: readonly Toleration[], container = serving(), on = node) =>
        subject.create(pods, newPod(name, container, placed(subject, tolerations, on)));
      await pod('leaving', [{ ...unreachable, tolerationSeconds: 3 }]);
      await pod('staying', [unreachable]);
      await pod('usual', []);
      await pod('done', [unreachable], running('true'));
      await pod('elsewhere', [{ ...unreachable, tolerationSeconds: 0 }], serving(), other);
      const names = ['leaving', 'staying', 'usual'];
      await allReady(subject, [...names, 'elsewhere']);
      await subject.until(
        'the end of one',
        async () => (await getPod(subject, 'done')).status?.phase === 'Succeeded',
      );
      subject.silence(node);

      const { status, spec } = await tainted(subject, node);
      assert.deepEqual(taintsOf({ metadata: { name: node }, spec: spec ?? {} }), ['NoExecute', 'NoSchedule']);
      const ready = status?.conditions?.find(({ type }) => type === 'Ready');
      assert.deepEqual(
        [ready?.status, ready?.reason, ready?.message],
        ['Unknown', 'NodeStatusUnknown', 'Kubelet stopped posting node status.'],
      );
      const leaving = await subject.until('its deletion', async () => {
        const now = await subject.find(pods, 'leaving');
        return now !== undefined && isTerminating(now) && now;
      });
      assert.deepEqual(told(leaving, 'DisruptionTarget'), byTaint);
      const added = spec?.taints?.find(
        ({ key, effect }) => key === unreachableTaint && effect === 'NoExecute',
      );
      const { deletionTimestamp, deletionGracePeriodSeconds } = leaving.metadata;
      assert.equal(deletionGracePeriodSeconds, 2);
      const deletedAt = parseTime(deletionTimestamp ?? '') - 2000;
      assert.ok(
        deletedAt >= parseTime(added?.timeAdded ?? '') + 3000 - 1000,
        'it has the time that it tolerates',
      );
      await subject.until('that none is ready', async () => {
        const found = await Promise.all(names.map((name) => getPod(subject, name)));
        return !found.some(isReady);
      });
      // Longer than its grace period.
      await subject.pass(6);
      for (const name of names) {
        const now = await getPod(subject, name);
        assert.equal(now.status?.phase, 'Running');
        assert.deepEqual(told(now, 'Ready'), ['False', undefined, undefined], name);
        assert.equal(isTerminating(now), name === 'leaving', name);
      }
      assert.equal(isReady(await getPod(subject, 'elsewhere')), true);
      const done = await getPod(subject, 'done');
      assert.deepEqual([isTerminating(done), done.status?.phase], [false, 'Succeeded']);
    },
  },
  {
    title: 'a node that answers again in time loses its taints, and keeps its Pods',
    async run(subject) {
      const [node] = subject.nodes;
      await subject.create(pods, newPod('usual', serving(), placed(subject, [], node)));
      const [before] = await allReady(subject, ['usual']);
      subject.silence(node);
      await tainted(subject, node);
      await subject.until('that it is not ready', async () => !isReady(await getPod(subject, 'usual')));
      await subject.revive(node);
      const healthy = await subject.until('the end of the taints', async () => {
        const now = await subject.find(nodes, node);
        return taintsOf(now).length === 0 && now;
      });
      const ready = healthy.status?.conditions?.find(({ type }) => type === 'Ready');
      assert.equal(ready?.status, 'True');
      const [after] = await allReady(subject, ['usual']);
      assert.equal(after?.metadata.uid, before?.metadata.uid);
      assert.equal(after && isTerminating(after), false);
      assert.equal(after && conditionOf(after, 'DisruptionTarget'), undefined);
    },
  },
  {
    title:
      'in the place of a Pod on a silent node a ReplicaSet makes another at once, a StatefulSet when that is gone',
    async run(subject) {
      const [node, other] = subject.nodes;
      const atOnce = [{ ...unreachable, tolerationSeconds: 0 }];
      await cordon(subject, other, true);
      await subject.create(deployments, {
        metadata: { name: 'web' },
        spec: { replicas: 1, ...placedWorkload(subject, 'web', atOnce) },
      });
      await subject.create(statefulSets, {
        metadata: { name: 'db' },
        spec: { replicas: 1, ...placedWorkload(subject, 'db', atOnce) },
      });
      await subject.until('both', async () => (await podsOn(subject, node)).filter(isReady).length === 2);
      await cordon(subject, other, false);
      await subject.create(daemonSets, {
        metadata: { name: 'agent' },
        spec: placedWorkload(subject, 'agent'),
      });
      await agents(subject, ({ numberReady }) => numberReady === 2);
      const before = await podsOn(subject, node);
      subject.silence(node);

      const made = await subject.until('another in the place of the first', async () => {
        const [found] = (await podsOn(subject, other)).filter(
          ({ metadata }) => metadata.labels?.app === 'web',
        );
        return found && isReady(found) && found;
      });
      const one = await subject.until('the deletion of the other', async () => {
        const now = await subject.find(pods, 'db-0');
        return now !== undefined && isTerminating(now) && now;
      });
      await subject.pass(5);
      assert.equal((await getPod(subject, 'db-0')).metadata.uid, one.metadata.uid);
      const left = await podsOn(subject, node);
      assert.deepEqual(namesOf(left), namesOf(before));
      assert.deepEqual(
        left
          .filter(isTerminating)
          .map(({ metadata }) => metadata.labels?.app)
          .sort(),
        ['db', 'web'],
        'an agent stays',
      );
      assert.notEqual(
        made.metadata.name,
        before.find(({ metadata }) => metadata.labels?.app === 'web')?.metadata.name,
      );
      await agents(subject, (status) => {
        const { desiredNumberScheduled, currentNumberScheduled, numberMisscheduled, numberReady } = status;
        return (
          [desiredNumberScheduled, currentNumberScheduled, numberMisscheduled, numberReady].join() ===
          '1,1,1,1'
        );
      });
      await subject.delete(pods, 'db-0', { gracePeriodSeconds: 0 });
      await subject.until('db-0 elsewhere', async () => {
        const now = await subject.find(pods, 'db-0');
        return now?.spec.nodeName === other && isReady(now);
      });
    },
  },
];

async function agents(
  subject: NodeSubject,
  holds: (status: NonNullable<DaemonSet['status']>) => boolean,
): Promise<void> {
  await subject.until('the status of the DaemonSet', async () => {
    const { status, metadata } = (await subject.find(daemonSets, 'agent')) ?? {};
    return status?.observedGeneration === metadata?.generation && status !== undefined && holds(status);
  });
}

const collectorRows: readonly NodeRow[] = [
  {
    title:
      'a Pod whose node is gone for forty seconds ends as Failed and goes; one that had ended goes as it is',
    async run(subject) {
      const [node] = subject.nodes;
      const tolerations = [unreachable];
      for (const [name, script] of [
        ['runs', undefined],
        ['held', undefined],
        ['done', 'true'],
      ] as const) {
        const container = script === undefined ? serving() : running(script);
        await subject.create(pods, newPod(name, container, placed(subject, tolerations, node)));
      }
      const finalizers = ['example.com/hold'];
      await subject.patch(pods, 'held', { metadata: { finalizers } });
      const [runs] = await allReady(subject, ['runs', 'held']);
      const done = await subject.until('the end of one', async () => {
        const now = await subject.find(pods, 'done');
        return now?.status?.phase === 'Succeeded' && now;
      });
      subject.silence(node);
      const present = await serverTime(subject, 'present');
      await subject.delete(nodes, node);
      // That it changes meanwhile does not make it go earlier.
      await subject.patch(pods, 'runs', { metadata: { annotations: { seen: 'true' } } });

      const last = await lastState(subject, runs as Pod);
      assert.equal(last.status?.phase, 'Failed');
      assert.deepEqual(told(last, 'DisruptionTarget'), byCollector);
      assert.ok(changedAt(last, 'DisruptionTarget') >= present + quarantineMs);
      const ended = await lastState(subject, done);
      assert.deepEqual(
        [ended.status?.phase, conditionOf(ended, 'DisruptionTarget')],
        ['Succeeded', undefined],
      );
      const held = await subject.until('the end of the Pod with a finalizer', async () => {
        const now = await getPod(subject, 'held');
        return isTerminating(now) && now;
      });
      assert.deepEqual([held.status?.phase, held.metadata.deletionGracePeriodSeconds], ['Failed', 0]);
      assert.deepEqual(told(held, 'DisruptionTarget'), byCollector);
      await subject.patch(pods, 'held', { metadata: { finalizers: null } });
      await subject.until('its end', async () => (await subject.find(pods, 'held')) === undefined);
    },
  },
  {
    title:
      'a Pod of a node that never was has forty seconds; one deleted before it had a node ends as Failed',
    async run(subject) {
      const stray = await subject.create(pods, newPod('stray', serving(), { nodeName: 'never-was' }));
      const gates = { schedulingGates: [{ name: 'example.com/gate' }] };
      await subject.create(pods, newPod('unbound', serving(), gates));
      const finalizers = ['example.com/hold'];
      await subject.patch(pods, 'unbound', { metadata: { finalizers } });
      await subject.delete(pods, 'unbound');
      const unbound = await subject.until('its phase', async () => {
        const now = await subject.find(pods, 'unbound');
        return now?.status?.phase === 'Failed' && now;
      });
      assert.equal(conditionOf(unbound, 'DisruptionTarget'), undefined);
      assert.equal(unbound.metadata.deletionGracePeriodSeconds, 0);
      await subject.patch(pods, 'unbound', { metadata: { finalizers: null } });
      assert.equal(await subject.find(pods, 'unbound'), undefined);
      const last = await lastState(subject, stray);
      assert.equal(last.status?.phase, 'Failed');
      assert.deepEqual(told(last, 'DisruptionTarget'), byCollector);
      assert.ok(changedAt(last, 'DisruptionTarget') >= createdAt(stray) + quarantineMs);
    },
  },
];

const drainRows: readonly NodeRow[] = [
  {
    title: 'a drain cordons, evicts all but the Pods of DaemonSets, and tries again what a budget refuses',
    async run(subject) {
      const [node, other] = subject.nodes;
      await cordon(subject, other, true);
      await subject.create(podDisruptionBudgets, {
        metadata: { name: 'web' },
        spec: { minAvailable: 2, selector: { matchLabels: { app: 'web' } } },
      });
      await subject.create(deployments, {
        metadata: { name: 'web' },
        spec: { replicas: 2, ...placedWorkload(subject, 'web') },
      });
      await subject.create(daemonSets, {
        metadata: { name: 'agent' },
        spec: placedWorkload(subject, 'agent'),
      });
      await subject.create(pods, newPod('bare', serving(), placed(subject, [], node)));
      await subject.create(pods, newPod('done', running('true'), placed(subject, [], node)));
      await agents(subject, ({ numberReady }) => numberReady === 2);
      const before = await subject.until('all on one node', async () => {
        const found = await podsOn(subject, node);
        const isDone = found.some(({ status }) => status?.phase === 'Succeeded');
        return isDone && found.filter(isReady).length === 4 && found;
      });
      await subject.until('the budget', async () => {
        const { status } = (await subject.find(podDisruptionBudgets, 'web')) ?? {};
        return status?.currentHealthy === 2;
      });
      await cordon(subject, other, false);
      subject.drain(node);

      for (const name of ['bare', 'done']) {
        await subject.until(`the end of ${name}`, async () => (await subject.find(pods, name)) === undefined);
      }
      assert.equal((await subject.find(nodes, node))?.spec?.unschedulable, true);
      const evicted = await lastState(
        subject,
        before.find(({ metadata }) => metadata.name === 'bare') as Pod,
      );
      assert.deepEqual(told(evicted, 'DisruptionTarget'), [
        'True',
        'EvictionByEvictionAPI',
        'Eviction API: evicting',
      ]);
      // Longer than until the next try.
      await subject.pass(7);
      const kept = await podsOn(subject, node);
      assert.deepEqual([kept.length, kept.filter(isTerminating).length], [3, 0]);
      await subject.patch(podDisruptionBudgets, 'web', { spec: { minAvailable: 1 } });
      await subject.until('both elsewhere', async () => {
        const web = (await podsOn(subject, other)).filter(({ metadata }) => metadata.labels?.app === 'web');
        return web.filter(isReady).length === 2 && (await podsOn(subject, node)).length === 1;
      });
      const available = subject.history(replicaSets).map(({ object }) => {
        return (object as ReplicaSet).status?.availableReplicas ?? 0;
      });
      assert.ok(Math.min(...available.slice(available.indexOf(2))) >= 1, 'the budget holds');
      const [agent, ...others] = await podsOn(subject, node);
      assert.equal(others.length, 0);
      const spared = before.find(({ metadata }) => metadata.labels?.app === 'agent');
      assert.equal(agent?.metadata.uid, spared?.metadata.uid, 'it is not evicted');
      assert.equal(agent && isTerminating(agent), false);
    },
  },
  {
    title: 'a cordoned node takes no new Pod but that of a DaemonSet, until it is uncordoned',
    async run(subject) {
      const [node] = subject.nodes;
      await subject.create(daemonSets, {
        metadata: { name: 'agent' },
        spec: placedWorkload(subject, 'agent'),
      });
      await agents(subject, ({ numberReady }) => numberReady === 2);
      const [old] = await podsOn(subject, node);
      await cordon(subject, node, true);
      await subject.create(pods, newPod('late', serving(), placed(subject, [], node)));
      const waiting = await subject.until('that it fits nowhere', async () => {
        const now = await subject.find(pods, 'late');
        return now && conditionOf(now, 'PodScheduled')?.reason === 'Unschedulable' && now;
      });
      assert.match(conditionOf(waiting, 'PodScheduled')?.message ?? '', /\d+ node\(s\) were unschedulable/);
      await subject.delete(pods, old?.metadata.name ?? '');
      await subject.until('a new agent', async () => {
        const [found] = await podsOn(subject, node);
        return found?.metadata.uid !== old?.metadata.uid && found !== undefined && isReady(found);
      });
      await agents(subject, ({ desiredNumberScheduled, numberMisscheduled }) => {
        return desiredNumberScheduled === 2 && numberMisscheduled === 0;
      });
      assert.equal((await getPod(subject, 'late')).spec.nodeName, undefined);
      await cordon(subject, node, false);
      const [late] = await allReady(subject, ['late']);
      assert.equal(late?.spec.nodeName, node);
    },
  },
];

export const nodeLossRows: readonly NodeRow[] = [...silenceRows, ...collectorRows, ...drainRows];
