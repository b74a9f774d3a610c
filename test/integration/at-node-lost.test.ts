/**
 * A node that stops answering, for the real node controller, scheduler and Pod garbage collector. There is no kubelet:
 * its part, which is to be heard of, is the test's.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { nodes } from '../../src/kubernetes/types/core.generated.ts';
import { condition } from '../fixtures/at.ts';
import { AtRig } from './at-rig.ts';
import { HeartbeatNodes } from './heartbeat-nodes.ts';
import { applyCrds, eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

before(() => applyCrds());

/** An administrator says that nothing runs there any more. */
async function giveUp({ client }: AtRig, name: string): Promise<void> {
  const value = { key: 'node.kubernetes.io/out-of-service', value: 'off', effect: 'NoExecute' };
  const operations = [{ op: 'add', path: '/spec/taints/-', value }] as const;
  await client.patch(nodes, { name }, { type: 'json', operations });
}

describe('a run on a node that does not answer any more', () => {
  it('goes on until the node is given up, is told meanwhile, and is then lost, or repeated elsewhere with Retry', {
    timeout: 240_000,
  }, async (t) => {
    const rig = await AtRig.create(t);
    const kubelets = new HeartbeatNodes(t, rig.client, rig.namespace);
    const { options, advance } = await timeTravel(t);
    const created = await rig.watchPods(t);
    await rig.startOperator(options);
    const [first, second] = [`${rig.namespace}-first`, `${rig.namespace}-second`];
    await kubelets.add(first);
    const isOn = (pod: string, node: string) =>
      eventually(async () => (await rig.pod(pod)).spec.nodeName === node, {
        message: `${pod} is on ${node}`,
      });
    const { nodeSelector, tolerations } = kubelets.placement;
    const unreachable = { key: 'node.kubernetes.io/unreachable', operator: 'Exists', tolerationSeconds: 0 };
    const placed = { nodeSelector, tolerations: [...tolerations, { ...unreachable, effect: 'NoExecute' }] };
    const template = { spec: { ...placed, terminationGracePeriodSeconds: 1, containers: [{}] } };
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

    await giveUp(rig, first);
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
