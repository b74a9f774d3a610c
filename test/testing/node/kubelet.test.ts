/** What a simulated node does that no row can ask of a real one: losses, clocks, contents, counted writes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configMaps } from '../../../src/kubernetes/objects.ts';
import { parseTime } from '../../../src/kubernetes/time.ts';
import { drain } from '../../../src/testing/node/drain.ts';
import type { Behaviour, Program } from '../../../src/testing/node/program.ts';
import { nodes, type Pod, pods } from '../../../src/testing/objects.ts';
import { conditionOf, isReady, isTerminating } from '../../../src/testing/pod-facts.ts';
import { daemonSets, deployments, podDisruptionBudgets } from '../../../src/testing/workloads.ts';
import { TestCluster } from '../cluster.ts';

const day = 86_400_000;

function newPod(name: string, command: string, spec: object = {}, container: object = {}): object {
  const main = { name: 'main', image: 'busybox', command: ['/bin/sh', '-c', command], ...container };
  return {
    metadata: { name, labels: { app: 'web' } },
    spec: { restartPolicy: 'Never', containers: [main], ...spec },
  };
}

function deployment(replicas: number): object {
  const containers = [{ name: 'main', image: 'busybox', command: ['httpd'] }];
  const template = { metadata: { labels: { app: 'web' } }, spec: { containers } };
  return {
    metadata: { name: 'web' },
    spec: { replicas, selector: { matchLabels: { app: 'web' } }, template },
  };
}

function available(cluster: TestCluster, count: number): () => boolean {
  return () => cluster.get(deployments, 'web').status?.availableReplicas === count;
}

function main({ status }: Pod) {
  return status?.containerStatuses?.[0];
}

function kubelet(cluster: TestCluster, name: string | undefined) {
  const found = cluster.kubelets.find((each) => each.name === name);
  assert.ok(found);
  return found;
}

describe('A simulated node', () => {
  it('runs a Pod to its end in three status writes', () => {
    const cluster = new TestCluster();
    cluster.create(pods, newPod('a', 'sleep 20'));
    cluster.time.until('its end', () => cluster.get(pods, 'a').status?.phase === 'Succeeded');
    const writes = cluster.requests.filter((request) => request.includes('/pods/a/status'));
    assert.equal(writes.length, 3, writes.join('\n'));
    assert.deepEqual(
      cluster.starts.map(({ start, container }) => [start, container.name]),
      [[1, 'main']],
    );
    assert.deepEqual(
      cluster.ends.map(({ exitCode }) => exitCode),
      [0],
    );
  });

  it('costs nothing while nothing happens', () => {
    const cluster = new TestCluster({ nodes: 3 });
    cluster.create(deployments, deployment(5));
    cluster.time.until('the rollout', available(cluster, 5));
    cluster.time.advance(day);
    const [requests, steps] = [cluster.requests.length, cluster.time.steps];
    cluster.time.advance(30 * day);
    assert.equal(cluster.requests.length, requests);
    assert.ok(cluster.time.steps - steps <= 5, `${cluster.time.steps - steps} tasks in a month`);
  });

  it('does the same for the same seed, and something else for another', () => {
    const story = (seed: string) => {
      const cluster = new TestCluster({ seed, nodes: 2 });
      const seen: string[] = [];
      cluster.etcd.onChange(({ type, object }) =>
        seen.push(`${cluster.time.now} ${type} ${JSON.stringify(object)}`),
      );
      cluster.create(deployments, deployment(3));
      cluster.time.advance(120_000);
      return seen.join('\n');
    };
    assert.equal(story('one'), story('one'));
    assert.notEqual(story('one'), story('two'));
  });

  it('has a clock of its own, by which a deadline counts', () => {
    const cluster = new TestCluster();
    const node = kubelet(cluster, 'node-0');
    node.skew = 3_600_000;
    cluster.create(pods, newPod('late', 'sleep 3600', { activeDeadlineSeconds: 10 }));
    cluster.time.until('its start', () => cluster.get(pods, 'late').status?.phase === 'Running');
    const { startTime = '' } = cluster.get(pods, 'late').status ?? {};
    assert.ok(parseTime(startTime) > cluster.time.now + 3_000_000);
    node.skew += 3_600_000;
    cluster.patch(pods, 'late', { metadata: { annotations: { look: 'again' } } });
    cluster.time.advance(1000);
    cluster.time.until('its end', () => cluster.get(pods, 'late').status?.phase === 'Failed', 40_000);
  });

  it('refuses a Pod beyond its capacity that was bound all the same', () => {
    const cluster = new TestCluster({ maxPods: 1 });
    for (const name of ['first', 'second']) {
      cluster.create(pods, { ...newPod(name, 'sleep 60', { nodeName: 'node-0' }) });
      cluster.time.advance(5000);
    }
    const second = cluster.get(pods, 'second');
    assert.equal(second.status?.phase, 'Failed');
    assert.equal(second.status?.reason, 'OutOfpods');
  });

  it('repeats of a log only the end of a failure, and only when it is asked to', () => {
    const cluster = new TestCluster();
    const fallback = { terminationMessagePolicy: 'FallbackToLogsOnError' };
    cluster.create(pods, newPod('silent', 'echo broken; exit 1'));
    cluster.create(pods, newPod('fine', 'echo all good', {}, fallback));
    const lines = Array.from({ length: 100 }, (_, line) => `echo ${line}`).join('; ');
    cluster.create(pods, newPod('long', `${lines}; exit 1`, {}, fallback));
    cluster.time.advance(20_000);
    const messages = ['silent', 'fine', 'long'].map(
      (name) => main(cluster.get(pods, name))?.state?.terminated?.message,
    );
    assert.deepEqual(messages.slice(0, 2), [undefined, undefined]);
    assert.match(messages[2] ?? '', /^20\n21\n[\s\S]*\n99\n$/);
  });

  it('takes its hold off a deleted Pod once, whatever else holds it', () => {
    const cluster = new TestCluster();
    cluster.create(pods, newPod('held', 'sleep 3600', { terminationGracePeriodSeconds: 2 }));
    cluster.patch(pods, 'held', { metadata: { finalizers: ['example.com/hold'] } });
    cluster.time.until('its start', () => cluster.get(pods, 'held').status?.phase === 'Running');
    cluster.delete(pods, 'held');
    cluster.time.advance(60_000);
    cluster.patch(pods, 'held', { metadata: { annotations: { look: 'again' } } });
    cluster.time.advance(60_000);
    const deletes = cluster.requests.filter((request) => request.startsWith('DELETE'));
    assert.equal(deletes.length, 2, 'one from outside, one from the kubelet');
  });

  it('says that a Pod has failed when its last container has ended', () => {
    const slow: Program = ({ role }): Behaviour =>
      role === 'sidecar'
        ? { onTerm: { exitAfter: 10_000, exitCode: 0 } }
        : { exitAfter: 1000, exitCode: role === 'init' ? 1 : 0 };
    const cluster = new TestCluster({ program: slow });
    const initContainers = [
      { name: 'sidecar', image: 'busybox', restartPolicy: 'Always' },
      { name: 'init', image: 'busybox' },
    ];
    cluster.create(pods, newPod('a', '', { initContainers }));
    cluster.time.until('the failure', () => cluster.ends.length === 1);
    cluster.time.advance(5000);
    assert.equal(cluster.get(pods, 'a').status?.phase, 'Pending');
    cluster.time.until('the end', () => cluster.get(pods, 'a').status?.phase === 'Failed');
    assert.equal(cluster.ends.length, 2);
  });

  it('leaves a Pod without a place pending until there is one', () => {
    const cluster = new TestCluster({ maxPods: 1 });
    cluster.create(pods, newPod('first', 'sleep 60'));
    cluster.time.advance(5000);
    cluster.create(pods, newPod('second', 'true'));
    cluster.time.advance(5000);
    const condition = conditionOf(cluster.get(pods, 'second'), 'PodScheduled');
    assert.equal(condition?.message, '0/1 nodes are available: 1 Too many pods.');
    cluster.time.until('its turn', () => cluster.get(pods, 'second').status?.phase === 'Succeeded');
  });
});

describe('A disrupted Pod', () => {
  const running = (cluster: TestCluster, name: string) => {
    cluster.create(pods, newPod(name, 'sleep 3600'));
    cluster.time.until('its start', () => cluster.get(pods, name).status?.phase === 'Running');
    return cluster.get(pods, name);
  };

  for (const { what, end, condition } of [
    {
      what: 'evicted under pressure',
      end: {
        reason: 'Evicted',
        message: 'The node was low on resource: memory.',
        condition: { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' },
      },
      condition: 'TerminationByKubelet',
    },
    {
      what: 'ended with its node',
      end: { reason: 'Terminated', message: 'Pod was terminated in response to imminent node shutdown.' },
      condition: undefined,
    },
  ]) {
    it(`${what} is Failed with its reason and stays`, () => {
      const cluster = new TestCluster();
      const pod = running(cluster, 'a');
      kubelet(cluster, 'node-0').endPod(pod, end, 0);
      cluster.time.advance(10_000);
      const after = cluster.get(pods, 'a');
      assert.equal(after.status?.phase, 'Failed');
      assert.equal(after.status?.reason, end.reason);
      assert.equal(main(after)?.state?.terminated?.exitCode, 137);
      assert.equal(conditionOf(after, 'DisruptionTarget')?.reason, condition);
    });
  }

  it('goes from a drained node within its budget, a DaemonSet does not', () => {
    const cluster = new TestCluster({ nodes: 2 });
    const selector = { matchLabels: { app: 'web' } };
    cluster.create(podDisruptionBudgets, { metadata: { name: 'web' }, spec: { minAvailable: 3, selector } });
    cluster.create(deployments, deployment(4));
    const labels = { app: 'agent' };
    const template = {
      metadata: { labels },
      spec: { containers: [{ name: 'main', image: 'busybox', command: ['httpd'] }] },
    };
    cluster.create(daemonSets, {
      metadata: { name: 'agent' },
      spec: { selector: { matchLabels: labels }, template },
    });
    cluster.time.until('the rollout', available(cluster, 4));
    cluster.time.advance(10_000);
    let least = 4;
    cluster.etcd.onChange(() => {
      const serving = cluster.pods.filter(
        (pod) => pod.metadata.labels?.app === 'web' && isReady(pod) && !isTerminating(pod),
      );
      least = Math.min(least, serving.length);
    });
    drain({ cluster: cluster.access, random: cluster.random.fork('drain'), node: 'node-0' });
    const left = () => cluster.pods.filter(({ spec }) => spec.nodeName === 'node-0');
    cluster.time.until('an empty node', () => left().length === 1, 300_000);
    cluster.time.until('four again', available(cluster, 4));
    assert.equal(left()[0]?.metadata.labels?.app, 'agent');
    assert.equal(least, 3);
  });
});

describe('A lost node', () => {
  it('is tainted, its Pods are unready, deleted after five minutes, and stay until it is back', () => {
    const cluster = new TestCluster({ nodes: 2 });
    cluster.create(deployments, deployment(2));
    cluster.time.until('the rollout', available(cluster, 2));
    const [lost] = cluster.pods;
    assert.ok(lost);
    const node = kubelet(cluster, lost.spec.nodeName);
    const { name } = lost.metadata;
    node.become('disconnected');
    cluster.time.advance(60_000);
    const condition = cluster.get(nodes, node.name).status?.conditions?.find(({ type }) => type === 'Ready');
    assert.equal(condition?.status, 'Unknown');
    assert.equal(isReady(cluster.get(pods, name)), false);
    assert.equal(isTerminating(cluster.get(pods, name)), false);
    cluster.time.advance(300_000);
    const after = cluster.get(pods, name);
    assert.equal(isTerminating(after), true);
    assert.equal(after.status?.phase, 'Running');
    assert.equal(conditionOf(after, 'DisruptionTarget')?.reason, 'DeletionByTaintManager');
    cluster.time.until('another in its place', available(cluster, 2));
    assert.equal(cluster.ends.length, 0, 'what is out of reach goes on');
    node.become('running');
    cluster.time.until('its end', () => cluster.find(pods, name) === undefined);
    cluster.time.until('a node without taints', () => !cluster.get(nodes, node.name).spec?.taints?.length);
  });

  it('that had no power starts its containers again when it is back in time', () => {
    const cluster = new TestCluster();
    cluster.create(pods, newPod('a', 'sleep 3600', { restartPolicy: 'Always' }));
    cluster.time.until('its start', () => cluster.get(pods, 'a').status?.phase === 'Running');
    const node = kubelet(cluster, 'node-0');
    node.become('off');
    assert.deepEqual(
      cluster.ends.map(({ exitCode }) => exitCode),
      [255],
    );
    cluster.time.advance(20_000);
    assert.equal(main(cluster.get(pods, 'a'))?.restartCount, 0, 'no kubelet reports');
    node.become('running');
    cluster.time.until('a restart', () => main(cluster.get(pods, 'a'))?.restartCount === 1);
    assert.equal(main(cluster.get(pods, 'a'))?.lastState?.terminated?.reason, 'Unknown');
  });

  it('whose kubelet only restarts keeps its containers, and catches up', () => {
    const cluster = new TestCluster();
    cluster.create(pods, newPod('short', 'sleep 20'));
    cluster.create(pods, newPod('long', 'sleep 3600'));
    cluster.time.until('both', () => cluster.pods.every(({ status }) => status?.phase === 'Running'));
    const node = kubelet(cluster, 'node-0');
    node.become('stopped');
    cluster.create(pods, newPod('new', 'true'));
    cluster.time.advance(30_000);
    assert.equal(cluster.get(pods, 'short').status?.phase, 'Running');
    node.become('running');
    cluster.time.advance(10_000);
    assert.equal(cluster.get(pods, 'short').status?.phase, 'Succeeded');
    assert.equal(cluster.get(pods, 'new').status?.phase, 'Succeeded');
    assert.equal(main(cluster.get(pods, 'long'))?.restartCount, 0);
  });

  it('that is deleted takes its Pods with it', () => {
    const cluster = new TestCluster({ nodes: 2 });
    cluster.create(deployments, deployment(2));
    cluster.time.until('the rollout', available(cluster, 2));
    const [lost] = cluster.pods;
    assert.ok(lost);
    kubelet(cluster, lost.spec.nodeName).become('off');
    cluster.request('DELETE', `/api/v1/nodes/${lost.spec.nodeName}`);
    cluster.time.until('its end', () => cluster.find(pods, lost.metadata.name) === undefined, 120_000);
    cluster.time.until('another in its place', available(cluster, 2));
  });

  it('a Pod that is deleted by force goes at once, its containers a little later', () => {
    const cluster = new TestCluster();
    cluster.create(pods, newPod('a', 'sleep 3600'));
    cluster.time.until('its start', () => cluster.get(pods, 'a').status?.phase === 'Running');
    cluster.delete(pods, 'a', { gracePeriodSeconds: 0 });
    assert.equal(cluster.find(pods, 'a'), undefined);
    assert.equal(cluster.ends.length, 0);
    cluster.time.advance(10_000);
    assert.deepEqual(
      cluster.ends.map(({ exitCode }) => exitCode),
      [137],
    );
  });
});

describe('A Pod of a higher priority', () => {
  it('takes the place of one of a lower, and waits until that has ended', () => {
    const cluster = new TestCluster({ maxPods: 1 });
    cluster.create(pods, newPod('low', 'sleep 3600'));
    cluster.time.until('its start', () => cluster.get(pods, 'low').status?.phase === 'Running');
    cluster.create(pods, newPod('high', 'sleep 3600', { priority: 1000 }));
    cluster.time.until('the preemption', () => isTerminating(cluster.get(pods, 'low')));
    const condition = conditionOf(cluster.get(pods, 'low'), 'DisruptionTarget');
    assert.equal(condition?.reason, 'PreemptionByScheduler');
    cluster.time.until('its start', () => cluster.get(pods, 'high').status?.phase === 'Running');
    assert.equal(cluster.find(pods, 'low'), undefined);
  });
});

describe('The content that a container gets', () => {
  const environment = { envFrom: [{ configMapRef: { name: 'settings' } }] };
  const byContent: Program = ({ env }): Behaviour =>
    env.mode === 'crash' ? { exitAfter: 500, exitCode: 1 } : {};

  it('is what there is at its start, with uid and version, and decides what it does', () => {
    const cluster = new TestCluster({ program: byContent });
    const first = cluster.create(configMaps, { metadata: { name: 'settings' }, data: { mode: 'crash' } });
    cluster.create(pods, newPod('a', '', { restartPolicy: 'Always' }, environment));
    const crashing = () => main(cluster.get(pods, 'a'))?.state?.waiting?.reason === 'CrashLoopBackOff';
    cluster.time.until('its back-off', crashing);
    const second = cluster.patch(configMaps, 'settings', { data: { mode: 'serve' } });
    cluster.time.until('a start that lasts', () => isReady(cluster.get(pods, 'a')));
    cluster.time.advance(60_000);
    assert.equal(main(cluster.get(pods, 'a'))?.state?.running !== undefined, true);
    const contents = cluster.starts.map(({ sources }) => sources[0]);
    assert.equal(contents[0]?.resourceVersion, first.metadata.resourceVersion);
    assert.equal(contents.at(-1)?.resourceVersion, second.metadata.resourceVersion);
    assert.equal(contents[0]?.uid, contents.at(-1)?.uid);
    assert.notEqual(contents[0]?.digest, contents.at(-1)?.digest);
    assert.deepEqual(contents.at(-1)?.data, { mode: 'serve' });
  });

  it('is what the kubelet saw last where it has no connection', () => {
    const cluster = new TestCluster();
    cluster.create(configMaps, { metadata: { name: 'settings' }, data: { mode: 'old' } });
    cluster.create(pods, newPod('a', 'sleep 30', { restartPolicy: 'Always' }, environment));
    cluster.time.until('its start', () => cluster.starts.length === 1);
    kubelet(cluster, 'node-0').become('disconnected');
    cluster.patch(configMaps, 'settings', { data: { mode: 'new' } });
    cluster.time.until('another start', () => cluster.starts.length === 2);
    assert.equal(cluster.starts[1]?.env.mode, 'old');
    kubelet(cluster, 'node-0').become('running');
    cluster.time.until('one more', () => cluster.starts.length === 3);
    assert.equal(cluster.starts[2]?.env.mode, 'new');
  });

  it('in a volume follows its source after a minute or more', () => {
    const cluster = new TestCluster();
    cluster.create(configMaps, { metadata: { name: 'settings' }, data: { a: '1' } });
    const volumes = [{ name: 'files', configMap: { name: 'settings' } }];
    cluster.create(pods, newPod('a', 'sleep 3600', { volumes }));
    cluster.time.until('its start', () => cluster.starts.length === 1);
    assert.deepEqual(cluster.starts[0]?.files, { files: { a: '1' } });
    cluster.patch(configMaps, 'settings', { data: { a: '2' } });
    cluster.time.advance(59_000);
    assert.equal(cluster.refreshes.length, 0);
    cluster.time.advance(31_000);
    assert.deepEqual(cluster.refreshes[0]?.sources[0]?.data, { a: '2' });
  });

  it('of an immutable source stays the old one while a Pod of the node uses its name', () => {
    const cluster = new TestCluster();
    const settings = (mode: string) => ({ metadata: { name: 'settings' }, immutable: true, data: { mode } });
    cluster.create(configMaps, settings('old'));
    cluster.create(pods, newPod('a', 'sleep 3600', {}, environment));
    cluster.time.until('its start', () => cluster.starts.length === 1);
    cluster.delete(configMaps, 'settings');
    cluster.create(configMaps, settings('new'));
    cluster.create(pods, newPod('b', 'true', {}, environment));
    cluster.time.until('its start', () => cluster.starts.length === 2);
    assert.equal(cluster.starts[1]?.env.mode, 'old');
    for (const name of ['a', 'b']) cluster.delete(pods, name);
    cluster.time.until('no Pod', () => cluster.pods.length === 0);
    cluster.time.advance(5000);
    cluster.create(pods, newPod('c', 'true', {}, environment));
    cluster.time.until('its start', () => cluster.starts.length === 3);
    assert.equal(cluster.starts[2]?.env.mode, 'new');
  });
});
