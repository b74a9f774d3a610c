/** The simulated node controller, Pod garbage collector, scheduler and drain do what the rows ask of the real ones. */
import { describe, test } from 'node:test';
import { drain } from '../../src/testing/node/drain.ts';
import { type NodeSubject, nodeLossRows } from '../conformance/node-loss.ts';
import { TestCluster } from './cluster.ts';
import { simulatedSubject } from './simulated-subject.ts';

function nodeSubject(seed: string): NodeSubject {
  const cluster = new TestCluster({ seed, nodes: 2 });
  const become = (name: string, state: 'running' | 'disconnected') => {
    cluster.kubelets.find((kubelet) => kubelet.name === name)?.become(state);
  };
  return {
    ...simulatedSubject(cluster),
    nodes: ['node-0', 'node-1'],
    placement: {},
    silence: (node) => become(node, 'disconnected'),
    revive: async (node) => become(node, 'running'),
    drain: (node) => drain({ cluster: cluster.access, random: cluster.random.fork('drain'), node }),
  };
}

describe('the simulated controllers make of a lost node what the real ones do', () => {
  for (const seed of ['one', 'two', 'three']) {
    for (const { title, run } of nodeLossRows) {
      test(`${title} (seed ${seed})`, () => run(nodeSubject(seed)));
    }
  }
});
