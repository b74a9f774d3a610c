/**
 * Why a run was stopped, on a real API server, where no status can be written of that: the Pod says so itself, and it
 * counts, whatever the Pod reports later. The kubelet's part is the test's.
 */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import type { AtSpec } from '../../src/api/at.generated.ts';
import { atAnnotation } from '../../src/api/at-constants.ts';
import { AtRig, seconds } from './at-rig.ts';
import { type Asked, HostileProxy } from './hostile-proxy.ts';
import { applyCrds, eventually } from './support.ts';

before(() => applyCrds());

interface Row {
  readonly spec: Partial<AtSpec>;
  /** What makes the operator stop the Pod. */
  readonly act: (rig: AtRig, name: string) => Promise<unknown>;
  /** On the Pod: stop-reason and exit-code. */
  readonly annotations: readonly [string, string | undefined];
  /** Outcome, reason and exit code in the end. */
  readonly end: readonly [string, string, number];
}

const main = { name: 'busybox', image: 'busybox', imageID: '', ready: false, restartCount: 0 };

/** The command fails with 7 for the second time. */
async function failAgain(rig: AtRig, name: string): Promise<void> {
  const time = seconds(Date.now());
  const terminated = { exitCode: 7, reason: 'Error', startedAt: time, finishedAt: time };
  const state = { waiting: { reason: 'CrashLoopBackOff' } };
  const containerStatuses = [{ ...main, restartCount: 1, state, lastState: { terminated } }];
  await rig.setPod({ phase: 'Running', startTime: time, containerStatuses }, `${name}-pod`);
}

const rows: Readonly<Record<string, Row>> = {
  'failed-too-often': {
    spec: { backoffLimit: 1 },
    act: failAgain,
    annotations: ['BackoffLimitExceeded', '7'],
    end: ['Failed', 'BackoffLimitExceeded', 7],
  },
  canceled: {
    spec: {},
    act: async (rig, name) => {
      await rig.editAt({ cancel: true }, name);
      await rig.stopped(`${name}-pod`);
      // From now on nothing but the Pod says so.
      await rig.editAt({ cancel: false }, name);
    },
    annotations: ['Canceled', undefined],
    end: ['Canceled', 'Canceled', 137],
  },
  // Last: its Pod may not run before no status is taken any more.
  'ran-too-long': {
    spec: { activeDeadlineSeconds: 1 },
    act: (rig, name) => rig.start(`${name}-pod`),
    annotations: ['DeadlineExceeded', undefined],
    end: ['Failed', 'DeadlineExceeded', 137],
  },
};
const names = Object.keys(rows);

/** As of a Pod that its node has evicted: alone that would be a disruption, after which the run is repeated. */
async function evict(rig: AtRig, name: string): Promise<void> {
  const time = seconds(Date.now());
  const terminated = { exitCode: 137, reason: 'Error', startedAt: time, finishedAt: time };
  await rig.setPod(
    {
      ...{ phase: 'Failed', reason: 'Evicted', message: 'the node was low on memory' },
      conditions: [{ type: 'DisruptionTarget', status: 'True' }],
      containerStatuses: [{ ...main, restartCount: 2, state: { terminated } }],
    },
    `${name}-pod`,
  );
}

/** Runs that were stopped, and have ended otherwise since, while no status was taken of it. `accept` ends that. */
async function untold(t: TestContext) {
  const rig = await AtRig.create(t);
  const proxy = await HostileProxy.start(t);
  const created = await rig.watchPods(t);
  await rig.startOperator({ kubeConfig: proxy.kubeConfig });
  for (const name of names) {
    await rig.createAt({ disruptionPolicy: 'Retry', ...rows[name]?.spec }, name);
    await rig.inPhase('RUNNING', name);
    // After ten seconds status would tell what keeps the Pod from its start.
    if (rows[name]?.spec.activeDeadlineSeconds === undefined) await rig.start(`${name}-pod`);
  }
  const isStatusWrite = ({ method, path }: Asked) => method === 'PATCH' && path.endsWith('/status');
  proxy.treat = (asked) => (isStatusWrite(asked) ? { code: 503, body: 'busy' } : undefined);
  await Promise.all(
    names.map(async (name) => {
      await rows[name]?.act(rig, name);
      const { metadata } = await rig.stopped(`${name}-pod`);
      const { [atAnnotation.stopReason]: reason, [atAnnotation.exitCode]: code } = metadata.annotations ?? {};
      assert.deepEqual([reason, code], rows[name]?.annotations, name);
    }),
  );
  const assertEnds = async () => {
    for (const name of names) {
      const { status } = await rig.inPhase('DONE', name);
      assert.deepEqual([status?.outcome, status?.reason, status?.exitCode], rows[name]?.end, name);
      assert.equal(status?.attempts, 1, name);
    }
    assert.equal(created.size, names.length, 'none is repeated');
  };
  return { rig, proxy, isStatusWrite, assertEnds };
}

describe('why a run was stopped', { concurrency: true }, () => {
  it('is told when a status is taken again, whatever its Pod has reported since', async (t) => {
    const { rig, proxy, isStatusWrite, assertEnds } = await untold(t);
    const from = proxy.asked.length;
    for (const name of names) await evict(rig, name);
    const isTried = (name: string) =>
      proxy.asked.slice(from).some((one) => isStatusWrite(one) && one.path.includes(`/${name}/`));
    await eventually(() => names.every(isTried), { message: 'the end is to be written' });
    proxy.treat = () => undefined;
    await assertEnds();
  });

  it('is known to the next operator, whatever its Pod has reported since', async (t) => {
    const { rig, assertEnds } = await untold(t);
    await rig.stopOperators();
    for (const name of names) {
      assert.equal((await rig.at(name)).status?.reason, undefined, 'status does not tell it');
      await evict(rig, name);
    }
    await rig.startOperator();
    await assertEnds();
  });
});
