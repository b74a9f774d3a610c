/** On which nodes a DaemonSet has Pods, and how many of them it replaces at a time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { workloadRef } from '../../../src/testing/controllers/claim.ts';
import { daemonSetPlan } from '../../../src/testing/controllers/daemon-set.ts';
import { revisionLabel, revisionPlan } from '../../../src/testing/controllers/revisions.ts';
import { affinityTo } from '../../../src/testing/node-fit.ts';
import type { Node, Pod, Taint } from '../../../src/testing/objects.ts';
import { type DaemonSet, daemonSets } from '../../../src/testing/workloads.ts';
import { now, type PodFields, pod, statusOf, writesOf } from './decisions.ts';

const set: DaemonSet = {
  metadata: {
    name: 'agent',
    namespace: 'test',
    uid: 'set',
    generation: 2,
    annotations: { 'deprecated.daemonset.template.generation': '2' },
  },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [] } },
  },
};
const { current } = revisionPlan(daemonSets, set, []);
const owner = workloadRef(daemonSets, set);

function node(name: string, taints: readonly Taint[] = [], labels = {}): Node {
  return { metadata: { name, labels }, spec: { taints } };
}

function agent(on: string, generation: '1' | '2', fields: PodFields = {}): Pod {
  const hash = generation === '2' ? (current.metadata.labels?.[revisionLabel] ?? '') : 'older';
  const labels = { app: 'web', [revisionLabel]: hash, 'pod-template-generation': generation };
  return pod(`agent-${on}`, { owner, labels, node: on, readyFor: 60, ...fields });
}

function plan(nodes: readonly Node[], pods: readonly Pod[], daemonSet = set) {
  return daemonSetPlan({ daemonSet, nodes, pods, revisions: [current], now });
}

const three = ['a', 'b', 'c'].map((name) => node(name));

describe('A DaemonSet', () => {
  it('has one Pod on every node that takes it', () => {
    const nodes = [
      ...three,
      node('tainted', [{ key: 'gpu', effect: 'NoSchedule' }]),
      { ...node('cordoned'), spec: { unschedulable: true } },
    ];
    const { batches = [] } = plan(nodes, [agent('a', '2')]);
    const made = batches.flat().map(({ object }) => (object as Pod).spec.affinity);
    assert.deepEqual(made, [affinityTo('b'), affinityTo('c'), affinityTo('cordoned')]);
  });

  it('stays where a taint came that only keeps new ones away, and goes from where one evicts', () => {
    const nodes = [
      node('a', [{ key: 'gpu', effect: 'NoSchedule' }]),
      node('b', [{ key: 'gpu', effect: 'NoExecute' }]),
      node('c', [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }]),
    ];
    const pods = ['a', 'b', 'c'].map((name) => agent(name, '2'));
    assert.deepEqual(writesOf(plan(nodes, pods)), ['delete agent-b']);
    const status: DaemonSet = statusOf(plan(nodes, pods));
    assert.equal(status.status?.desiredNumberScheduled, 1);
    assert.equal(status.status?.numberMisscheduled, 2);
  });

  it('replaces what has failed, and the younger of two', () => {
    const pods = [
      agent('a', '2', { phase: 'Failed' }),
      agent('b', '2'),
      {
        ...agent('b', '2', { age: 5 }),
        metadata: { ...agent('b', '2', { age: 5 }).metadata, name: 'double' },
      },
      agent('c', '2'),
    ];
    assert.deepEqual(writesOf(plan(three, pods)), ['delete agent-a', 'delete double']);
  });

  it('updates one at a time, and first what is not available', () => {
    const old = ['a', 'b', 'c'].map((name) => agent(name, '1'));
    assert.deepEqual(writesOf(plan(three, old)), ['delete agent-a']);
    const broken = pod('agent-c', {
      owner,
      node: 'c',
      labels: { app: 'web', 'pod-template-generation': '1' },
    });
    assert.deepEqual(writesOf(plan(three, [agent('a', '1'), agent('b', '1'), broken])), ['delete agent-c']);
    const one = [agent('a', '2', { terminating: true }), agent('b', '1'), agent('c', '1')];
    assert.deepEqual(writesOf(plan(three, one)), []);
  });

  it('updates as many at a time as maxUnavailable says, none under OnDelete', () => {
    const old = ['a', 'b', 'c'].map((name) => agent(name, '1'));
    const strategy = (updateStrategy: DaemonSet['spec']['updateStrategy']) => ({
      ...set,
      spec: { ...set.spec, ...(updateStrategy && { updateStrategy }) },
    });
    const half = strategy({ type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '50%' } });
    assert.deepEqual(writesOf(plan(three, old, half)), ['delete agent-a', 'delete agent-b']);
    assert.deepEqual(writesOf(plan(three, old, strategy({ type: 'OnDelete' }))), []);
  });

  it('counts', () => {
    const pods = [agent('a', '2'), agent('b', '1')];
    const { status }: DaemonSet = statusOf(plan(three, pods));
    assert.deepEqual(status, {
      observedGeneration: 2,
      currentNumberScheduled: 2,
      desiredNumberScheduled: 3,
      numberMisscheduled: 0,
      numberReady: 2,
      updatedNumberScheduled: 1,
      numberAvailable: 2,
      numberUnavailable: 1,
    });
  });
});
