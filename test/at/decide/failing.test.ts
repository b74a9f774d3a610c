/** A command that fails and is started again, and what can never start. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { AtSpec } from '../../../src/api/at.generated.ts';
import type { ContainerState, Pod } from '../../../src/kubernetes/objects.ts';
import {
  actionTypes,
  condition,
  created,
  decideInParts as decide,
  dueTime,
  eventReasons,
  evicted,
  exited,
  failed,
  inState,
  launched,
  observing,
  second,
  withPodStatus,
  withStatus,
} from '../../fixtures/at.ts';

const now = dueTime + 20 * second;
const backOff: ContainerState = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } };

/** The Pod after so many failures, between two starts. */
function failing(pod: Pod, failures: number, output = `no such table ${failures}`): Pod {
  return withPodStatus(inState(pod, backOff, failures - 1, exited(3, output)), { phase: 'Running' });
}

/** The same once its next start is under way. */
function restarted(pod: Pod): Pod {
  const [main] = pod.status?.containerStatuses ?? [];
  assert.ok(main);
  const state = { running: { startedAt: '2030-01-31T09:00:15Z' } };
  return withPodStatus(pod, { containerStatuses: [{ ...main, restartCount: main.restartCount + 1, state }] });
}

const noProgram =
  'failed to create containerd task: exec: "absent": executable file not found in $PATH: unknown';

function startError(pod: Pod, failures: number, message = noProgram): Pod {
  const terminated = {
    exitCode: 128,
    reason: 'StartError',
    message,
    startedAt: '1970-01-01T00:00:00Z',
    finishedAt: '2030-01-31T09:00:02Z',
  };
  return withPodStatus(inState(pod, backOff, failures - 1, { terminated }), { phase: 'Running' });
}

function waitingFor(pod: Pod, reason: string, message = 'why'): Pod {
  return withPodStatus(inState(pod, { waiting: { reason, message } }), { phase: 'Pending' });
}

describe('a command that fails and is started again', () => {
  const at = launched();

  it('shows it, with one Warning at the first failure that does not quote the output', () => {
    const decision = decide(observing({ at, pod: failing(created(at), 1), now }));
    const { status } = decision;
    assert.deepEqual(
      [status?.phase, status?.reason, status?.restarts, status?.exitCode, status?.message],
      ['RUNNING', 'CommandFailing', 0, 3, 'no such table 1'],
    );
    assert.equal(condition(status, 'Launched'), 'True CommandFailing');
    assert.equal(condition(status, 'Ready'), 'True Launched');
    assert.deepEqual(eventReasons(decision), ['CommandFailing (W)']);
    assert.equal(decision.events[0]?.note, 'the command failed with exit code 3 and is started again');
  });

  it('is told with one write for each failure, whatever happens between them', () => {
    let told = at;
    const seen: string[] = [];
    for (const failures of [1, 2, 3]) {
      const pod = failing(created(at), failures);
      for (const look of [pod, pod, restarted(pod)]) {
        const { status, events } = decide(observing({ at: told, pod: look, now }));
        const isSame = isDeepStrictEqual(status, told.status);
        seen.push(`${isSame ? '-' : status?.restarts}${events.map(({ reason }) => ` ${reason}`)}`);
        told = withStatus(told, status);
      }
      assert.equal(told.status?.message, `no such table ${failures}`);
    }
    assert.deepEqual(seen, ['0 CommandFailing', '-', '-', '1', '-', '-', '2', '-', '-']);
  });

  it('warns once, also where its image could not be pulled again in between', () => {
    let told = at;
    const events: string[] = [];
    const look = (pod: Pod) => {
      const decision = decide(observing({ at: told, pod, now }));
      events.push(`${decision.status?.reason}: ${eventReasons(decision)}`);
      told = withStatus(told, decision.status);
    };
    const failed = failing(created(at), 1);
    look(failed);
    look(inState(failed, { waiting: { reason: 'ImagePullBackOff', message: 'gone' } }, 1, exited(3, '')));
    look(failing(created(at), 2));
    assert.deepEqual(events, [
      'CommandFailing: CommandFailing (W)',
      'ImagePullBackOff: ',
      'CommandFailing: ',
    ]);
  });

  it('warns again in the next attempt', () => {
    const at = launched({ disruptionPolicy: 'Retry' });
    const first = failing(created(at), 1);
    const told = withStatus(at, decide(observing({ at, pod: first, now })).status);
    const nextPod = failing(created(at, now, 2), 1, 'no such table 1 again');
    const decision = decide(observing({ at: told, pod: evicted(first), nextPod, now: now + second }));
    assert.equal(decision.status?.message, 'no such table 1 again');
    assert.deepEqual(eventReasons(decision), ['Disrupted (W)', 'Launched', 'CommandFailing (W)']);
  });

  it('leaves no trace but its restarts when it succeeds after all', () => {
    const told = withStatus(at, decide(observing({ at, pod: failing(created(at), 2), now })).status);
    const pod = withPodStatus(inState(created(at), exited(0), 2), { phase: 'Succeeded' });
    const { status } = decide(observing({ at: told, pod, now }));
    assert.deepEqual(
      [status?.outcome, status?.reason, status?.message, status?.exitCode, status?.restarts],
      ['Succeeded', 'Succeeded', undefined, 0, 2],
    );
    assert.equal(condition(status, 'Launched'), 'True Launched');
  });

  it('tells its output without escape sequences and control characters', () => {
    const at = launched();
    const output = '\u001b[31mred\u001b[0m\u0007\r\n\tthe \u0000end\u001b]0;title\u0007\n';
    const { status } = decide(observing({ at, pod: failed(created(at), 3, output), now }));
    assert.equal(status?.message, 'red\n\tthe end');
  });

  it('keeps its output to itself where that is asked for', () => {
    for (const [spec, defaults] of [
      [{ outputInStatus: false }, {}],
      [{}, { outputInStatus: false }],
    ] as const satisfies readonly (readonly [Partial<AtSpec>, object])[]) {
      const silent = launched(spec);
      const told = decide(observing({ at: silent, pod: failing(created(silent), 1), now, defaults })).status;
      assert.deepEqual([told?.reason, told?.message], ['CommandFailing', undefined]);
      const end = decide(observing({ at: silent, pod: failed(created(silent), 3, 'secret'), now, defaults }));
      assert.deepEqual([end.status?.exitCode, end.status?.message], [3, undefined]);
    }
    const loud = launched({ outputInStatus: true });
    const pod = failed(created(loud), 3, 'words');
    const { status } = decide(observing({ at: loud, pod, now, defaults: { outputInStatus: false } }));
    assert.equal(status?.message, 'words');
  });
});

describe('what can never start', () => {
  const at = launched();

  it('ends at the second start in a row for which the program is missing', () => {
    const first = decide(observing({ at, pod: startError(created(at), 1), now }));
    assert.deepEqual([first.actions, first.status?.reason], [[], 'CommandFailing']);
    const note = 'the container cannot start: its program is missing or not executable; it is tried again';
    assert.deepEqual(
      first.events.map((event) => event.note),
      [note],
    );
    const told = withStatus(at, first.status);
    const noted = decide(observing({ at: told, pod: startError(created(at), 2), now }));
    assert.deepEqual([noted.status?.reason, noted.status?.exitCode], ['CannotStart', 128]);
    assert.match(noted.status?.message ?? '', /executable file not found/);
    const stop = decide(
      observing({ at: withStatus(told, noted.status), pod: startError(created(at), 2), now }),
    );
    assert.deepEqual(actionTypes(stop), ['PatchPod']);
  });

  it('is told as such also where that may pass', () => {
    const terminated = { exitCode: 128, reason: 'StartError', message: 'no space left on device' };
    const pod = withPodStatus(inState(created(at), backOff, 0, { terminated }), { phase: 'Running' });
    const [event] = decide(observing({ at, pod, now })).events;
    assert.equal(event?.note, 'the container cannot start; it is tried again');
  });

  it('is no command that failed by itself before', () => {
    const told = withStatus(at, decide(observing({ at, pod: failing(created(at), 1), now })).status);
    const decision = decide(observing({ at: told, pod: startError(created(at), 2), now }));
    assert.equal(decision.status?.reason, 'CommandFailing');
  });

  it('is looked at any number of times, and counts as one failure that follows another one', () => {
    const told = withStatus(at, decide(observing({ at, pod: failing(created(at), 1), now })).status);
    const second = startError(created(at), 2);
    const shown = withStatus(told, decide(observing({ at: told, pod: second, now })).status);
    const again = decide(observing({ at: shown, pod: second, now }));
    assert.deepEqual([again.actions, again.status], [[], shown.status]);
    const third = decide(observing({ at: shown, pod: startError(created(at), 3), now }));
    assert.equal(third.status?.reason, 'CannotStart');
  });

  it('is stopped once that is noted, although it was started once more before', () => {
    const first = withStatus(at, decide(observing({ at, pod: startError(created(at), 1), now })).status);
    const pod = startError(created(at), 2);
    const noted = withStatus(first, decide(observing({ at: first, pod, now })).status);
    const stop = decide(observing({ at: noted, pod: startError(created(at), 3), now }));
    assert.deepEqual(actionTypes(stop), ['PatchPod']);
  });

  it('ends at once where the name of the image is none', () => {
    const { status } = decide(observing({ at, pod: waitingFor(created(at), 'InvalidImageName'), now }));
    assert.deepEqual([status?.reason, status?.message], ['CannotStart', 'InvalidImageName: why']);
  });

  it('ends after 30 s where a Secret is missing, and not before', () => {
    const pod = waitingFor(created(at), 'CreateContainerConfigError', 'secret "s" not found');
    const early = decide(observing({ at, pod, now, configErrorAge: 29_000 }));
    assert.equal(early.status?.reason, 'CreateContainerConfigError');
    assert.equal(early.requeueAt, now + 1000);
    const almost = decide(observing({ at, pod, now, configErrorAge: 29_999.6 }));
    assert.equal(almost.requeueAt, now + 1, 'not at once');
    const { status } = decide(observing({ at, pod, now, configErrorAge: 30_000 }));
    assert.equal(status?.reason, 'CannotStart');
    assert.match(status?.message ?? '', /secret "s" not found/);
  });

  it('ends after 30 s, too, where the Secret went away between two starts', () => {
    const waiting = { waiting: { reason: 'CreateContainerConfigError', message: 'secret "s" not found' } };
    const pod = withPodStatus(inState(created(at), waiting, 1, exited(3)), { phase: 'Running' });
    const early = decide(observing({ at, pod, now, configErrorAge: 20_000 }));
    assert.deepEqual(
      [early.actions, early.status?.reason, early.status?.message, early.requeueAt],
      [[], 'CreateContainerConfigError', 'secret "s" not found', now + 10_000],
    );
    const { status } = decide(observing({ at, pod, now, configErrorAge: 30_000 }));
    assert.equal(status?.reason, 'CannotStart');
  });

  it('tells what keeps a command from its next start, and not that it is started again', () => {
    const told = withStatus(at, decide(observing({ at, pod: failing(created(at), 1), now })).status);
    const waiting = { waiting: { reason: 'ImagePullBackOff', message: 'no such tag' } };
    const pod = withPodStatus(inState(created(at), waiting, 1, exited(3)), { phase: 'Running' });
    const { status, actions } = decide(observing({ at: told, pod, now }));
    assert.deepEqual([actions, status?.reason, status?.message], [[], 'ImagePullBackOff', 'no such tag']);
    assert.equal(status?.restarts, told.status?.restarts);
    const again = decide(observing({ at: withStatus(told, status), pod: failing(created(at), 2), now }));
    assert.equal(again.status?.reason, 'CommandFailing');
  });

  for (const [what, message, ends] of [
    ['a program that is not there', 'exec: "nosuch": executable file not found in $PATH: unknown', true],
    ['a program that is not there, by crun', 'executable file `nosuch` not found in $PATH', true],
    ['an interpreter that is not there', 'exec /run.sh: no such file or directory', true],
    ['a program that must not be run', 'exec: "/etc/passwd": permission denied: unknown', true],
    ['a mount', 'error mounting "/var/lib/x" to rootfs at "/y": no such file or directory', false],
    ['a device', 'error gathering device information: open /dev/x: permission denied', false],
  ] as const) {
    it(`${ends ? 'ends' : 'does not end'} where two starts in a row fail for ${what}`, () => {
      const first = startError(created(at), 1, message);
      const told = withStatus(at, decide(observing({ at, pod: first, now })).status);
      const { status } = decide(observing({ at: told, pod: startError(created(at), 2, message), now }));
      assert.equal(status?.reason, ends ? 'CannotStart' : 'CommandFailing');
    });
  }
});
