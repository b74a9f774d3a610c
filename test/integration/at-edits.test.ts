/** Edits of an At on a real API server: what people and their tools see of them. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { atAnnotation } from '../../src/api/at-constants.ts';
import { kubectl } from '../e2e/kubectl.ts';
import { condition } from '../fixtures/at.ts';
import { AtRig, seconds } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';

before(() => applyCrds());

const later = () => seconds(Date.now() + 3_600_000);

async function waiting(t: TestContext): Promise<AtRig> {
  const rig = await AtRig.create(t);
  await rig.startOperator();
  await rig.createAt({ schedule: later() });
  await rig.atWhen('accepted', ({ status }) => condition(status, 'Accepted') === 'True Armed');
  return rig;
}

async function eventsAre(rig: AtRig, events: readonly string[]): Promise<void> {
  await eventually(async () => (await rig.events()).length >= events.length, { message: `${events}` });
  assert.deepEqual(await rig.events(), events);
}

describe('an edit', { concurrency: true }, () => {
  it('that resumes an At past its time is told before the launch', async (t) => {
    const rig = await waiting(t);
    await rig.editAt({ suspend: true, schedule: seconds(Date.now()) });
    await rig.atWhen('suspended', ({ status }) => condition(status, 'Suspended') === 'True Suspended');
    await rig.editAt({ suspend: false });
    const { status } = await rig.inPhase('RUNNING');
    assert.equal(condition(status, 'Suspended'), 'False Resumed');
    await eventsAre(rig, ['Suspended', 'Resumed', 'Launched']);
  });

  it('that resumes an At before its time is told, with its time', async (t) => {
    const rig = await waiting(t);
    await rig.editAt({ suspend: true });
    await rig.atWhen('suspended', ({ status }) => condition(status, 'Suspended') === 'True Suspended');
    await rig.editAt({ suspend: false });
    await eventsAre(rig, ['Suspended', 'Resumed', 'Scheduled']);
  });

  it('that makes an At due at once is told before the launch', async (t) => {
    const rig = await waiting(t);
    await rig.editAt({ schedule: '2019-04-12T10:12:00Z' });
    await rig.inPhase('RUNNING');
    await eventsAre(rig, ['Rescheduled', 'Launched']);
  });

  it('that resumes and spoils leaves no Suspended behind', async (t) => {
    const rig = await waiting(t);
    await rig.editAt({ suspend: true });
    await rig.atWhen('suspended', ({ status }) => condition(status, 'Suspended') === 'True Suspended');
    await rig.editAt({ suspend: false, command: `echo 'a` });
    const at = await rig.atWhen(
      'refused',
      ({ status }) => condition(status, 'Accepted') === 'False InvalidCommand',
    );
    assert.equal(condition(at.status, 'Suspended'), 'False Resumed');
    await eventsAre(rig, ['Suspended', 'Resumed', 'InvalidCommand (W)']);
  });

  it('that is allowed after the end keeps kubectl wait from nothing', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    await rig.createAt();
    await rig.inPhase('RUNNING');
    await rig.exit(0);
    await rig.inPhase('DONE');
    await rig.editAt({ ttlSecondsAfterFinished: 3600, command: 'echo NO', image: 'alpine' });
    const { status } = await rig.atWhen('looked at', (at) => at.status?.observedGeneration === 2);
    assert.equal(condition(status, 'Accepted'), 'True EditedTooLate');
    assert.deepEqual([status?.outcome, condition(status, 'Stalled')], ['Succeeded', undefined]);
    for (const type of ['Accepted', 'Ready', 'Launched', 'Complete']) {
      const args = [`--namespace=${rig.namespace}`, 'wait', `--for=condition=${type}`, '--timeout=30s'];
      await kubectl([...args, 'at/example-at']);
    }
  });
});

describe('a shell operator in a command without a shell', () => {
  it('is told at once, and in status while there is time to mend it', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    await rig.createAt({ command: 'echo a | wc', schedule: later() });
    const { status } = await rig.atWhen('accepted', (at) => at.status?.reason === 'Armed');
    assert.match(status?.message ?? '', /^command holds a shell operator/);
    await eventsAre(rig, ['ShellOperator (W)']);
    await rig.editAt({ shell: '/bin/sh' });
    const mended = await rig.atWhen('mended', (at) => at.status?.observedGeneration === 2);
    assert.equal(mended.status?.message, undefined);
    await rig.editAt({ schedule: '2019-04-12T10:12:00Z' });
    await eventsAre(rig, ['ShellOperator (W)', 'Rescheduled', 'Launched']);
  });
});

describe('the Events of an At that ends badly', { concurrency: true }, () => {
  it('say that it was missed', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    await rig.createAt({ startingDeadlineSeconds: 1 });
    await eventsAre(rig, ['MissedDeadline (W)']);
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Missed');
  });

  it('say that its command failed, and not what it printed', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    await rig.createAt({ backoffLimit: 0 });
    await rig.inPhase('RUNNING');
    await rig.exit(3, undefined, 'the password is x');
    await eventsAre(rig, ['Launched', 'Failed (W)']);
    assert.doesNotMatch((await rig.notes()).join(), /password/);
  });
});

describe('a template that was copied from the Pod of another At', () => {
  it('does not bring the end of that run along', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    const annotations = { [atAnnotation.stopReason]: 'Canceled', [atAnnotation.exitCode]: '143' };
    await rig.createAt({ command: 'true', template: { metadata: { annotations } } });
    await rig.inPhase('RUNNING');
    await rig.exit(0);
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
  });
});
