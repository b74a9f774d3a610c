/**
 * The real node controller, Pod garbage collector and scheduler do what the simulated ones do. There is no kubelet: its
 * part is played, which is to be heard of, to run Pods that need no program, and to end them.
 */
import { execFile } from 'node:child_process';
import { describe, it, type TestContext } from 'node:test';
import { formatTime } from '../../src/kubernetes/time.ts';
import { isNotFound } from '../../src/runtime/client/api-error.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { type Pod, pods } from '../../src/testing/objects.ts';
import { withCondition } from '../../src/testing/pod-conditions.ts';
import { isReady, isTerminal, isTerminating } from '../../src/testing/pod-facts.ts';
import { type NodeSubject, nodeLossRows } from '../conformance/node-loss.ts';
import { clusterSubject } from '../e2e/cluster-subject.ts';
import { HeartbeatNodes } from './heartbeat-nodes.ts';
import { connectToTestCluster } from './support.ts';

const { client } = connectToTestCluster();

async function nodeSubject(t: TestContext): Promise<NodeSubject> {
  const subject = await clusterSubject(t, client);
  const { namespace } = subject;
  const heartbeats = new HeartbeatNodes(t, client, namespace);
  const [first, second] = [`${namespace}-first`, `${namespace}-second`];
  for (const name of [first, second]) await heartbeats.add(name);
  playKubelets(t, namespace, (name) => heartbeats.isAlive(name));
  return {
    ...subject,
    nodes: [first, second],
    placement: heartbeats.placement,
    silence: (node) => heartbeats.silence(node),
    revive: (node) => heartbeats.revive(node),
    drain(node) {
      const options = ['--ignore-daemonsets', '--force', '--timeout=200s'];
      const process = execFile('kubectl', ['drain', node, ...options]);
      t.after(() => process.kill());
    },
  };
}

/** Until the test ends. */
function playKubelets(t: TestContext, namespace: string, isAlive: (node: string) => boolean): void {
  const ended = new AbortController();
  const play = async () => {
    while (!ended.signal.aborted) {
      const { items } = await client.list(pods, { namespace });
      for (const pod of items.filter(({ spec }) => isAlive(spec.nodeName ?? ''))) {
        // The next look sees what has become of it.
        await tend(pod).catch(() => {});
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  };
  const playing = play();
  t.after(() => {
    ended.abort();
    return playing;
  });
}

async function tend(pod: Pod): Promise<void> {
  const { name, namespace = '', uid = '' } = pod.metadata;
  if (isTerminating(pod)) await end({ name, namespace }, uid);
  else if (!isTerminal(pod) && !isReady(pod)) await run(client, pod);
}

async function end(key: { readonly namespace: string; readonly name: string }, uid: string): Promise<void> {
  try {
    await client.delete(pods, key, { gracePeriodSeconds: 0, uid });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** A Pod is ready at once, unless its program has nothing to do. */
async function run(to: Client, { metadata, spec, status }: Pod): Promise<void> {
  const isDone = spec.containers[0]?.command?.at(-1) === 'true';
  const conditions = ['ContainersReady', 'Ready'].reduce(
    (list, type) => withCondition(list, { type, status: isDone ? 'False' : 'True' }, formatTime(Date.now())),
    status?.conditions ?? [],
  );
  const { name, namespace = '', resourceVersion } = metadata;
  const phase = isDone ? 'Succeeded' : 'Running';
  const body = { metadata: { resourceVersion }, status: { phase, conditions } };
  await to.patchStatus(pods, { namespace, name }, { type: 'merge', body: body as never });
}

describe('the real controllers make of a lost node what the simulated ones do', { concurrency: 7 }, () => {
  for (const { title, run: runRow } of nodeLossRows) {
    it(title, { timeout: 280_000 }, async (t) => runRow(await nodeSubject(t)));
  }
});
