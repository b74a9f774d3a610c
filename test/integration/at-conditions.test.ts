/** The conditions of Ats, as the API server holds them. The kubelet's part is the test's. */
import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { AtSpec } from '../../src/api/at.generated.ts';
import { condition } from '../fixtures/at.ts';
import { AtRig } from './at-rig.ts';
import { imposeQuota } from './quota.ts';
import { applyCrds } from './support.ts';

before(() => applyCrds());

/** One way for an At to end: what it asks for, and what is done until then. */
interface End {
  readonly spec: Partial<AtSpec>;
  readonly act: (rig: AtRig, name: string) => unknown;
}

const far = { schedule: '2100-01-01T00:00:00Z' };

function exits(exitCode: number) {
  return async (rig: AtRig, name: string) => {
    await rig.inPhase('RUNNING', name);
    await rig.exit(exitCode, `${name}-pod`);
  };
}

/** The operator stops the Pod, and so does the kubelet then. */
async function isStopped(rig: AtRig, pod: string): Promise<void> {
  await rig.stopped(pod);
  await rig.setPod({ phase: 'Failed', reason: 'DeadlineExceeded' }, pod);
}

async function failsTwice(rig: AtRig, name: string): Promise<void> {
  const pod = `${name}-pod`;
  await rig.inPhase('RUNNING', name);
  await rig.start(pod);
  await rig.failAgain(1, pod);
  await isStopped(rig, pod);
}

async function runsOn(rig: AtRig, name: string): Promise<void> {
  await rig.inPhase('RUNNING', name);
  await rig.start(`${name}-pod`);
  await isStopped(rig, `${name}-pod`);
}

async function canceled(rig: AtRig, name: string): Promise<void> {
  await rig.atWhen('looked at', ({ status }) => status?.observedGeneration === 1, name);
  await rig.editAt({ cancel: true }, name);
}

async function canceledWhileItRuns(rig: AtRig, name: string): Promise<void> {
  await rig.inPhase('RUNNING', name);
  await rig.start(`${name}-pod`);
  await rig.editAt({ cancel: true }, name);
  await isStopped(rig, `${name}-pod`);
}

const ends: Readonly<Record<string, End>> = {
  succeeded: { spec: {}, act: exits(0) },
  'command-failed': { spec: { backoffLimit: 0 }, act: exits(3) },
  'failed-too-often': { spec: { backoffLimit: 1 }, act: failsTwice },
  'ran-too-long': { spec: { activeDeadlineSeconds: 1 }, act: runsOn },
  missed: { spec: { startingDeadlineSeconds: 1 }, act: () => {} },
  canceled: { spec: far, act: canceled },
  'canceled-while-it-ran': { spec: {}, act: canceledWhileItRuns },
  // It could not have run, whatever else became of it.
  'canceled-and-impossible': { spec: { ...far, command: `echo 'a` }, act: canceled },
};

const good = (reason: string, complete: 'True' | 'False') => ({
  ...{ Ready: `True ${reason}`, Stalled: undefined },
  ...{ Complete: `${complete} ${reason}`, Failed: `False ${reason}` },
});
const bad = (reason: string) => ({
  ...{ Ready: `False ${reason}`, Stalled: `True ${reason}` },
  ...{ Complete: `False ${reason}`, Failed: `True ${reason}` },
});

const expected = {
  succeeded: { outcome: 'Succeeded', ...good('Succeeded', 'True') },
  'command-failed': { outcome: 'Failed', ...bad('CommandFailed') },
  'failed-too-often': { outcome: 'Failed', ...bad('BackoffLimitExceeded') },
  'ran-too-long': { outcome: 'Failed', ...bad('DeadlineExceeded') },
  missed: { outcome: 'Missed', ...bad('MissedDeadline') },
  canceled: { outcome: 'Canceled', ...good('Canceled', 'False') },
  'canceled-while-it-ran': { outcome: 'Canceled', ...good('Canceled', 'False') },
  'canceled-and-impossible': {
    ...{ outcome: 'Canceled', Ready: 'False InvalidCommand', Stalled: 'True InvalidCommand' },
    ...{ Complete: 'False Canceled', Failed: 'False Canceled' },
  },
};

it('an At that has ended is stalled and not ready exactly where it failed, was missed or never could run', async (t) => {
  const rig = await AtRig.create(t);
  await rig.startOperator();
  const rows = Object.entries(ends).map(async ([name, { spec, act }]) => {
    await rig.createAt(spec, name);
    await act(rig, name);
    const { status } = await rig.inPhase('DONE', name);
    const shown = ['Ready', 'Stalled', 'Complete', 'Failed'].map((type) => [type, condition(status, type)]);
    return [name, { outcome: status?.outcome, ...Object.fromEntries(shown) }];
  });
  assert.deepEqual(Object.fromEntries(await Promise.all(rows)), expected);
});

it('an At that is due and held, or that is suspended, is ready and not stalled', async (t) => {
  const rig = await AtRig.create(t);
  await imposeQuota(rig, { pods: '0' });
  await rig.startOperator();
  const waiting: Readonly<Record<string, readonly [Partial<AtSpec>, string]>> = {
    held: [{}, 'PodRejected'],
    'suspended-and-due': [{ suspend: true }, 'Suspended'],
    'suspended-before-it-is-due': [{ ...far, suspend: true }, 'Suspended'],
  };
  const rows = Object.entries(waiting).map(async ([name, [spec, reason]]) => {
    await rig.createAt(spec, name);
    const { status } = await rig.atWhen(reason, ({ status }) => status?.reason === reason, name);
    const shown = ['Ready', 'Stalled', 'Launched'].map((type) => [type, condition(status, type)]);
    return [name, { phase: status?.phase, ...Object.fromEntries(shown) }];
  });
  const ready = (reason: string) => ({ phase: 'PENDING', Ready: `True ${reason}`, Stalled: undefined });
  assert.deepEqual(Object.fromEntries(await Promise.all(rows)), {
    held: { ...ready('Armed'), Launched: 'False PodRejected' },
    'suspended-and-due': { ...ready('Suspended'), Launched: undefined },
    'suspended-before-it-is-due': { ...ready('Suspended'), Launched: undefined },
  });
});
