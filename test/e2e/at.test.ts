import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { installCrds, type Namespace, withNamespace } from './kubectl.ts';
import { type OperatorUnderTest, operatorUnderTest } from './operator.ts';

const books = '../shared/books/cnat';
const booksAbsent = existsSync(books) ? false : `the books' manifests are not at ${books}`;

interface At {
  readonly status: {
    readonly phase: string;
    readonly outcome?: string;
    readonly reason?: string;
    readonly exitCode?: number;
  };
}

interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly creationTimestamp: string };
}

interface FinishedPod {
  readonly status: {
    readonly containerStatuses: readonly [
      {
        readonly restartCount: number;
        readonly state: { readonly terminated: { readonly finishedAt: string } };
      },
    ];
  };
}

/** When the status was last written, by the clock of the API server, which is also the node's. Epoch milliseconds. */
async function statusWrittenAt(namespace: Namespace, what: string): Promise<number> {
  const text = await namespace.kubectl('get', what, '--output=json', '--show-managed-fields');
  const { metadata }: { metadata: { managedFields: { subresource?: string; time: string }[] } } =
    JSON.parse(text);
  const times = metadata.managedFields
    .filter(({ subresource }) => subresource === 'status')
    .map(({ time }) => Date.parse(time));
  return Math.max(...times);
}

function atObject(name: string, schedule: number, spec: object = { command: 'echo YAY' }): object {
  return {
    apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
    kind: 'At',
    metadata: { name },
    spec: { schedule: new Date(schedule).toISOString(), ...spec },
  };
}

const waitForPhase = (namespace: Namespace, what: string, phase: string) =>
  namespace.kubectl('wait', `--for=jsonpath={.status.phase}=${phase}`, '--timeout=110s', what);

const waitForDone = (namespace: Namespace, name: string) => waitForPhase(namespace, `at/${name}`, 'DONE');

describe('At on a real node', () => {
  let operator: OperatorUnderTest;
  before(async () => {
    await installCrds();
    operator = await operatorUnderTest();
  });
  after(() => operator?.remove());

  /** Kills the operator while an At waits for its time: soon, or later on a machine that was too slow for that. */
  async function killBeforeDue(namespace: Namespace): Promise<{ name: string; schedule: number }> {
    for (let lead = 4000; lead < 120_000; lead *= 2) {
      const name = `later-${lead}`;
      const schedule = Math.ceil((Date.now() + lead) / 1000) * 1000;
      await namespace.apply(atObject(name, schedule));
      await namespace.kubectl('wait', '--for=condition=Accepted', '--timeout=60s', `at/${name}`);
      await operator.kill();
      if (Date.now() < schedule) return { name, schedule };
      await operator.start();
    }
    throw new Error('this machine is too slow to kill a process in time');
  }

  it('runs the sample and shows it', async (t) => {
    const namespace = await withNamespace(t);
    await namespace.kubectl('apply', '--filename=config/samples/cnat_v1alpha1_at.yaml');
    await waitForDone(namespace, 'example-at');
    assert.equal(await namespace.kubectl('logs', 'example-at-pod'), 'YAY');
    const [header, row] = (await namespace.kubectl('get', 'ats')).split('\n');
    assert.match(header ?? '', /^NAME +SCHEDULE +TIMEZONE +PHASE +OUTCOME +REASON +EXIT +AGE$/);
    assert.match(row ?? '', /^example-at +2019-04-12T10:12:00Z +DONE +Succeeded +Succeeded +0 +/);
  });

  it("runs the book's own manifests unchanged", { skip: booksAbsent }, async (t) => {
    for (const file of await readdir(books)) {
      const namespace = await withNamespace(t);
      await namespace.kubectl('apply', `--filename=${books}/${file}`);
      await waitForDone(namespace, 'example-at');
      assert.equal(await namespace.kubectl('logs', 'example-at-pod'), 'YAY', file);
    }
  });

  it('says how a failing command ended, once', async (t) => {
    const namespace = await withNamespace(t);
    await namespace.apply(
      atObject('failing', Date.now(), { shell: '/bin/sh', command: 'exit 3', backoffLimit: 0 }),
    );
    await waitForDone(namespace, 'failing');
    const { outcome, exitCode } = (await namespace.getJson<At>('at/failing')).status;
    assert.deepEqual({ outcome, exitCode }, { outcome: 'Failed', exitCode: 3 });
    assert.equal((await namespace.kubectl('get', 'pods', '--output=name')).split('\n').length, 1);
  });

  it('is DONE in status within 2 s of the end of its command', async (t) => {
    const namespace = await withNamespace(t);
    const delays: number[] = [];
    // A busy machine may delay one or the other; a pause of our own delays all of them.
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await namespace.apply(atObject(name, Date.now(), { command: 'true' }));
      await waitForDone(namespace, name);
      const pod = await namespace.getJson<FinishedPod>(`pod/${name}-pod`);
      const ended = pod.status.containerStatuses[0].state.terminated.finishedAt;
      // Both in whole seconds, the rest of which is dropped.
      const delay = (await statusWrittenAt(namespace, `at/${name}`)) - Date.parse(ended);
      if (delay <= 2000) return;
      delays.push(delay);
    }
    assert.fail(`${delays} ms after the end of each`);
  });

  it('is neither early nor lost when the operator is killed while it waits', async (t) => {
    const namespace = await withNamespace(t);
    const { name, schedule } = await killBeforeDue(namespace);
    await operator.start();
    await waitForDone(namespace, name);
    const pod = await namespace.getJson<Pod>(`pod/${name}-pod`);
    assert.ok(Date.parse(pod.metadata.creationTimestamp) >= schedule);
  });

  it('runs the command once when the operator is killed while it runs', async (t) => {
    const namespace = await withNamespace(t);
    // It runs until it is told to end.
    const command = 'echo run; until [ -e /tmp/end ]; do sleep 0.2; done';
    await namespace.apply(atObject('long', Date.now(), { shell: '/bin/sh', command }));
    await waitForPhase(namespace, 'at/long', 'RUNNING');
    await waitForPhase(namespace, 'pod/long-pod', 'Running');
    const before = await namespace.getJson<Pod>('pod/long-pod');
    await operator.kill();
    await operator.start();
    await namespace.kubectl('exec', 'long-pod', '--', 'touch', '/tmp/end');
    await waitForDone(namespace, 'long');
    assert.equal((await namespace.getJson<Pod>('pod/long-pod')).metadata.uid, before.metadata.uid);
    assert.equal((await namespace.getJson<At>('at/long')).status.outcome, 'Succeeded');
    assert.equal(await namespace.kubectl('logs', 'long-pod'), 'run');
  });

  it('starts its command once with backoffLimit 0, also while no operator is there', async (t) => {
    const namespace = await withNamespace(t);
    const command = 'until [ -e /tmp/end ]; do sleep 0.2; done; exit 3';
    await namespace.apply(atObject('hard', Date.now(), { shell: '/bin/sh', command, backoffLimit: 0 }));
    await namespace.kubectl('wait', '--for=create', '--timeout=110s', 'pod/hard-pod');
    await waitForPhase(namespace, 'pod/hard-pod', 'Running');
    await operator.kill();
    await namespace.kubectl('exec', 'hard-pod', '--', 'touch', '/tmp/end');
    await waitForPhase(namespace, 'pod/hard-pod', 'Failed');
    const pod = await namespace.getJson<FinishedPod>('pod/hard-pod');
    assert.equal(pod.status.containerStatuses[0].restartCount, 0);
    await operator.start();
    await waitForDone(namespace, 'hard');
    const { outcome, exitCode } = (await namespace.getJson<At>('at/hard')).status;
    assert.deepEqual({ outcome, exitCode }, { outcome: 'Failed', exitCode: 3 });
  });

  it('ends by its deadline also while no operator is there', async (t) => {
    const namespace = await withNamespace(t);
    await namespace.apply(
      atObject('alone', Date.now(), {
        ...{ command: 'sleep 600', activeDeadlineSeconds: 1, pendingTimeoutSeconds: 20 },
        template: { spec: { terminationGracePeriodSeconds: 1, containers: [{}] } },
      }),
    );
    await namespace.kubectl('wait', '--for=create', '--timeout=110s', 'pod/alone-pod');
    await operator.kill();
    await waitForPhase(namespace, 'pod/alone-pod', 'Failed');
    await operator.start();
    await waitForDone(namespace, 'alone');
    const { outcome, reason } = (await namespace.getJson<At>('at/alone')).status;
    assert.deepEqual([outcome, reason], ['Failed', 'DeadlineExceeded']);
  });

  it('is gone with its Pod when its time to live is over', async (t) => {
    const namespace = await withNamespace(t);
    await namespace.apply(atObject('short', Date.now(), { command: 'true', ttlSecondsAfterFinished: 1 }));
    await namespace.kubectl('wait', '--for=delete', '--timeout=110s', 'at/short');
    // The garbage collector learns of a new kind within half a minute.
    await namespace.kubectl('wait', '--for=delete', '--timeout=110s', 'pod/short-pod');
  });
});
