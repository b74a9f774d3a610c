/**
 * A node that stops answering, for the real node controller, scheduler and Pod garbage collector. There is no kubelet:
 * its part, which is to be heard of, is the test's.
 */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { nodes, type Taint } from '../../src/kubernetes/types/core.generated.ts';
import { condition } from '../fixtures/at.ts';
import { AtRig } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

before(() => applyCrds());

/** The node controller misses one after 50 s. */
const heartbeatMs = 10_000;

/** Nodes for the Pods of one test alone. */
class Kubelets {
  /** What a Pod needs to be scheduled on one, and to be evicted at once when its node does not answer. */
  readonly placement: object;
  readonly #rig: AtRig;
  readonly #zone: object;
  readonly #taint: Taint;
  readonly #alive = new Set<string>();

  constructor(t: TestContext, rig: AtRig) {
    const { namespace } = rig;
    this.#rig = rig;
    // In a zone of their own: where all nodes of a zone are lost, the node controller evicts nothing.
    this.#zone = { 'topology.kubernetes.io/region': namespace, 'topology.kubernetes.io/zone': namespace };
    this.#taint = { key: 'example.com/test', value: namespace, effect: 'NoSchedule' };
    const unreachable = { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' };
    this.placement = {
      nodeSelector: { 'topology.kubernetes.io/zone': namespace },
      tolerations: [this.#taint, { ...unreachable, operator: 'Exists', tolerationSeconds: 0 }],
    };
    const beats = setInterval(() => void this.#beat().catch(() => {}), heartbeatMs);
    t.after(() => clearInterval(beats));
    t.after(() => rig.client.deleteCollection(nodes, { labelSelector: `at=${namespace}` }));
  }

  async add(name: string): Promise<void> {
    const { client, namespace } = this.#rig;
    const metadata = { name, labels: { ...this.#zone, at: namespace } };
    await client.create(nodes, { metadata, spec: { taints: [this.#taint] } });
    const resources = { pods: '10', cpu: '1', memory: '1Gi' };
    const body = { status: { allocatable: resources, capacity: resources } };
    await client.patchStatus(nodes, { name }, { type: 'merge', body });
    this.#alive.add(name);
    await this.#beat();
  }

  silence(name: string): void {
    this.#alive.delete(name);
  }

  /** An administrator says that nothing runs there any more. */
  async giveUp(name: string): Promise<void> {
    const value = { key: 'node.kubernetes.io/out-of-service', value: 'off', effect: 'NoExecute' };
    const operations = [{ op: 'add', path: '/spec/taints/-', value }] as const;
    await this.#rig.client.patch(nodes, { name }, { type: 'json', operations });
  }

  async #beat(): Promise<void> {
    const lastHeartbeatTime = new Date().toISOString();
    const body = { status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime }] } };
    for (const name of this.#alive) {
      await this.#rig.client.patchStatus(nodes, { name }, { type: 'merge', body });
    }
  }
}

describe('a run on a node that does not answer any more', () => {
  it('goes on until the node is given up, is told meanwhile, and is then lost, or repeated elsewhere with Retry', {
    timeout: 240_000,
  }, async (t) => {
    const rig = await AtRig.create(t);
    const kubelets = new Kubelets(t, rig);
    const { options, advance } = await timeTravel(t);
    const created = await rig.watchPods(t);
    await rig.startOperator(options);
    const [first, second] = [`${rig.namespace}-first`, `${rig.namespace}-second`];
    await kubelets.add(first);
    const isOn = (pod: string, node: string) =>
      eventually(async () => (await rig.pod(pod)).spec.nodeName === node, {
        message: `${pod} is on ${node}`,
      });
    const template = { spec: { ...kubelets.placement, terminationGracePeriodSeconds: 1, containers: [{}] } };
    const names = ['least', 'once'];
    await rig.createAt({ command: 'true', template }, 'least');
    await rig.createAt(
      { command: 'true', template, launchGuarantee: 'ExactlyOnce', disruptionPolicy: 'Retry' },
      'once',
    );
    for (const name of names) {
      await rig.inPhase('RUNNING', name);
      await isOn(`${name}-pod`, first);
      await rig.start(`${name}-pod`);
    }
    await kubelets.add(second);
    kubelets.silence(first);

    for (const name of names) {
      const isEvicted = ({ status }: { status?: { reason?: string } }) => status?.reason === 'Evicted';
      const { status } = await rig.atWhen('told of the eviction', isEvicted, name, 150_000);
      assert.equal(status?.phase, 'RUNNING');
      assert.ok((await rig.pod(`${name}-pod`)).metadata.deletionTimestamp);
    }
    await advance(90_000);
    for (const name of names) {
      const { status } = await rig.atWhen(
        'unreachable',
        (at) => condition(at.status, 'Launched') === 'True PodUnreachable',
        name,
      );
      assert.equal(status?.phase, 'RUNNING');
      assert.match(status?.message ?? '', /its node does not answer/);
      await eventually(async () => (await rig.events(name)).includes('PodStuck (W)'));
    }
    assert.equal(created.size, 2, 'nothing is repeated while the command may still run');

    await kubelets.giveUp(first);
    const least = (await rig.inPhase('DONE', 'least', 60_000)).status;
    assert.deepEqual([least?.outcome, least?.reason, least?.attempts], ['Failed', 'Evicted', 1]);
    await rig.atWhen('in its second attempt', ({ status }) => status?.attempts === 2, 'once', 60_000);
    await isOn('once-pod-2', second);
    await eventually(() => rig.isPodGone('once-pod'), { message: 'the first Pod is let go' });
    await rig.exit(0, 'once-pod-2');
    const once = (await rig.inPhase('DONE', 'once')).status;
    assert.deepEqual(
      once?.history?.map(({ podName, reason }) => [podName, reason]),
      [
        ['once-pod', 'Evicted'],
        ['once-pod-2', 'Succeeded'],
      ],
    );
    assert.equal(created.size, 3);
    const stuck = (await rig.events('once')).filter((event) => event === 'PodStuck (W)');
    assert.equal(stuck.length, 1, 'it is said once');
  });
});
