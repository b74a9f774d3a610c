/** Commands that can never start, on a real API server: they end without further tries. The kubelet's part is the test's. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { atAnnotation } from '../../src/api/at-constants.ts';
import type { ContainerState, ContainerStatus } from '../../src/kubernetes/objects.ts';
import { condition } from '../fixtures/at.ts';
import { AtRig, seconds } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

before(() => applyCrds());

const main = { name: 'busybox', image: 'busybox', imageID: '', ready: false, restartCount: 0 };
const backOff = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } };

/** What the kubelet says of the main container. */
async function show(rig: AtRig, name: string, container: Partial<ContainerStatus>): Promise<void> {
  const containerStatuses = [{ ...main, ...container }];
  await rig.setPod({ phase: 'Pending', startTime: seconds(Date.now()), containerStatuses }, `${name}-pod`);
}

const waiting = (reason: string, message: string) => ({ state: { waiting: { reason, message } } });

/** A start that failed: as a runtime tells it, it has begun in 1970. */
function failedStart(message: string): ContainerState {
  const startedAt = '1970-01-01T00:00:00Z';
  const finishedAt = seconds(Date.now());
  return { terminated: { exitCode: 128, reason: 'StartError', message, startedAt, finishedAt } };
}

/** So many starts have failed, and this is how the last one did. */
function failures(count: number, lastState: ContainerState): Partial<ContainerStatus> {
  return { restartCount: count - 1, state: backOff, lastState };
}

/** The kubelet ends what was stopped, and the At is over because it could not start. */
async function assertEnds(rig: AtRig, name: string, says: RegExp, exitCode?: number): Promise<void> {
  const { metadata } = await rig.stopped(`${name}-pod`);
  const { [atAnnotation.stopReason]: reason, [atAnnotation.exitCode]: code } = metadata.annotations ?? {};
  assert.deepEqual([reason, code], ['CannotStart', exitCode?.toString()], name);
  await rig.setPod({ phase: 'Failed', reason: 'DeadlineExceeded' }, `${name}-pod`);
  const { status } = await rig.inPhase('DONE', name);
  assert.deepEqual([status?.outcome, status?.reason, status?.exitCode], ['Failed', 'CannotStart', exitCode]);
  assert.match(status?.message ?? '', says, name);
  assert.deepEqual(
    ['Ready', 'Failed'].map((type) => condition(status, type)),
    ['False CannotStart', 'True CannotStart'],
  );
}

async function assertTold(rig: AtRig, name: string, says: RegExp): Promise<void> {
  const told = async () => (await rig.events(name)).includes('Failed (W)');
  await eventually(told, { message: `the Event of the end of ${name}` });
  assert.doesNotMatch((await rig.notes(name)).join(), says, 'its words are in status alone');
}

async function assertCannotStart(rig: AtRig, name: string, says: RegExp, exitCode?: number): Promise<void> {
  await assertEnds(rig, name, says, exitCode);
  await assertTold(rig, name, says);
}

describe('a start that fails in the runtime', () => {
  it('ends the run when it fails twice in a row for a program that is missing or must not be executed', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    const programs = {
      missing: ['no-such-program', 'executable file not found in $PATH: unknown'],
      absent: ['/bin/none', 'stat /bin/none: no such file or directory: unknown'],
      forbidden: ['/etc/passwd', 'permission denied: unknown'],
    };
    await Promise.all(
      Object.entries(programs).map(async ([name, [program = '', why]]) => {
        const message = `exec: "${program}": ${why}`;
        await rig.createAt({ disruptionPolicy: 'Retry' }, name);
        await rig.inPhase('RUNNING', name);
        await show(rig, name, failures(1, failedStart(message)));
        const { status } = await rig.atWhen('failing', (at) => at.status?.reason === 'CommandFailing', name);
        assert.deepEqual([status?.restarts, status?.exitCode], [0, 128]);
        assert.ok(status?.message?.startsWith('StartError: '), status?.message);
        assert.notEqual((await rig.pod(`${name}-pod`)).spec.activeDeadlineSeconds, 1, 'once is not enough');
        await show(rig, name, failures(2, failedStart(message)));
        await assertCannotStart(rig, name, new RegExp(program), 128);
        assert.equal((await rig.at(name)).status?.attempts, 1, 'it is not repeated');
      }),
    );
  });

  it('is tried again when another failure was between, or the program is not to blame', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    const missing = failedStart('exec: "sometimes": executable file not found in $PATH');
    const time = seconds(Date.now());
    const ended = { exitCode: 1, reason: 'Error', startedAt: time, finishedAt: time };
    const busy = failedStart('unable to apply cgroup configuration: device or resource busy');
    const mount = failedStart('error mounting "/var/lib/x" to rootfs at "/y": no such file or directory');
    const rows = {
      alternating: [missing, { terminated: ended }, missing],
      busy: [busy, busy, busy],
      unmounted: [mount, mount, mount],
    };
    await Promise.all(
      Object.entries(rows).map(async ([name, states]) => {
        await rig.createAt({}, name);
        await rig.inPhase('RUNNING', name);
        for (const [index, lastState] of states.entries()) {
          await show(rig, name, failures(index + 1, lastState));
          await rig.atWhen(`told of failure ${index + 1}`, ({ status }) => status?.restarts === index, name);
        }
        assert.notEqual((await rig.pod(`${name}-pod`)).spec.activeDeadlineSeconds, 1, `${name} goes on`);
        assert.equal((await rig.at(name)).status?.reason, 'CommandFailing');
      }),
    );
  });
});

describe('a container that the kubelet cannot make', () => {
  it('ends the run at once for the name of its image, and after 30 s for its configuration', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advanceAtRest, stopClock, startClock } = await timeTravel(t);
    await rig.startOperator(options);
    const names = ['misnamed', 'secretless', 'mended'];
    for (const name of names) {
      await rig.createAt({}, name);
      await rig.inPhase('RUNNING', name);
      // The scheduler would say that there is no node for it.
      await rig.bind(t, `${name}-pod`);
    }
    stopClock();
    const secretless = waiting('CreateContainerConfigError', 'secret "absent" not found');
    for (const name of ['secretless', 'mended']) await show(rig, name, secretless);
    const image = 'couldn\'t parse image name "Not/An:Image"';
    await show(rig, 'misnamed', waiting('InvalidImageName', image));
    const misnamed = /^InvalidImageName: couldn't parse image name "Not\/An:Image"$/;
    await assertEnds(rig, 'misnamed', misnamed);

    await advanceAtRest(29_000);
    const isTold = ({ status }: { status?: { reason?: string } }) =>
      status?.reason === 'CreateContainerConfigError';
    for (const name of ['secretless', 'mended']) {
      const { status } = await rig.atWhen('told of its configuration', isTold, name);
      assert.equal(status?.phase, 'RUNNING');
      assert.notEqual(
        (await rig.pod(`${name}-pod`)).spec.activeDeadlineSeconds,
        1,
        `${name} may still start`,
      );
    }
    await rig.start('mended-pod');
    await rig.atWhen('no longer waiting', ({ status }) => status?.reason === undefined, 'mended');
    await advanceAtRest(2000);
    // Events may have to wait for other requests, and so for time to pass.
    startClock();
    await assertTold(rig, 'misnamed', misnamed);
    await assertCannotStart(rig, 'secretless', /^CreateContainerConfigError: secret "absent" not found$/);
    assert.notEqual((await rig.pod('mended-pod')).spec.activeDeadlineSeconds, 1);
    await rig.exit(0, 'mended-pod');
    assert.equal((await rig.inPhase('DONE', 'mended')).status?.outcome, 'Succeeded');
  });

  it('tells what keeps a command that has failed from its next start, and ends after 30 s for its configuration', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advanceAtRest, startClock, stopClock } = await timeTravel(t);
    await rig.startOperator(options);
    const time = seconds(Date.now());
    const lastState = { terminated: { exitCode: 1, reason: 'Error', startedAt: time, finishedAt: time } };
    const again = { restartCount: 1, lastState };
    for (const name of ['secretless', 'untagged']) {
      await rig.createAt({}, name);
      await rig.inPhase('RUNNING', name);
      await rig.bind(t, `${name}-pod`);
    }
    stopClock();
    await show(rig, 'untagged', { ...again, ...waiting('ImagePullBackOff', 'no such tag') });
    const absent = waiting('CreateContainerConfigError', 'secret "absent" not found');
    await show(rig, 'secretless', { ...again, ...absent });
    const reasons = { secretless: 'CreateContainerConfigError', untagged: 'ImagePullBackOff' };
    for (const [name, reason] of Object.entries(reasons)) {
      await rig.atWhen(`told of ${reason}`, ({ status }) => status?.reason === reason, name);
    }
    await advanceAtRest(31_000);
    startClock();
    const says = /^CreateContainerConfigError: secret "absent" not found$/;
    const { metadata } = await rig.stopped('secretless-pod');
    assert.equal(metadata.annotations?.[atAnnotation.stopReason], 'CannotStart');
    await rig.setPod({ phase: 'Failed', reason: 'DeadlineExceeded' }, 'secretless-pod');
    const { status } = await rig.inPhase('DONE', 'secretless');
    assert.match(status?.message ?? '', says);
    assert.equal((await rig.at('untagged')).status?.message, 'no such tag');
  });
});
