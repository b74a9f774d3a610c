/** What is said of an end: the words of the command, what the runtime calls it, and nothing that is not so. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import {
  created,
  decideInParts as decide,
  dueTime,
  exited,
  failed,
  inState,
  launched,
  observing,
  withPodStatus,
  withStatus,
} from '../../fixtures/at.ts';

describe('the message of an end', () => {
  const at = launched({ backoffLimit: 0 });
  const end = (reason: string, message: string) => {
    const terminated = { ...exited(137).terminated, exitCode: 137, reason, message };
    const pod = withPodStatus(inState(created(at), { terminated }), { phase: 'Failed' });
    return decide(observing({ at, pod })).status?.message ?? '';
  };

  for (const reason of ['OOMKilled', 'ContainerCannotRun', 'StartError']) {
    it(`names ${reason} before the last words`, () => {
      assert.equal(end(reason, 'loading the model\n'), `${reason}: loading the model`);
    });
  }

  it('names it before an output of any length, of which the end is kept', () => {
    const message = end('OOMKilled', `${'é'.repeat(2000)} the end`);
    assert.match(message, /^OOMKilled: é+ the end$/);
    assert.ok(Buffer.byteLength(message) <= 1024);
  });

  for (const reason of ['Error', 'Completed', 'no reason at all', '']) {
    it(`is the last words alone for the reason ${JSON.stringify(reason)}`, () => {
      assert.equal(end(reason, 'no such table'), 'no such table');
    });
  }
});

describe('a deadline on the Pod', () => {
  const at = launched({ activeDeadlineSeconds: 5 });
  const over = { reason: 'DeadlineExceeded', message: 'Pod was active on the node longer than the deadline' };

  /** Its backstop, as the Pod is made with. */
  const limited = (pod: Pod, activeDeadlineSeconds: number) => ({
    ...pod,
    spec: { ...pod.spec, activeDeadlineSeconds },
  });

  it('blames no other container when the command ends well at its SIGTERM', () => {
    const pod = withPodStatus(limited(failed(created(at), 0), 2), over);
    const { status } = decide(observing({ at, pod }));
    assert.equal(status?.reason, 'DeadlineExceeded');
    assert.equal(status?.exitCode, 0);
    assert.equal(status?.message, 'the command ran longer than activeDeadlineSeconds');
  });

  it('is no end of a command that had ended for good before, while other containers ran on', () => {
    const after = (exitCode: number, spec: Partial<At['spec']>) => {
      const one = launched({ activeDeadlineSeconds: 60, ...spec });
      const pod = withPodStatus(limited(failed(created(one), exitCode), 960), over);
      const { status } = decide(observing({ at: one, pod }));
      return [status?.outcome, status?.reason, status?.exitCode];
    };
    assert.deepEqual(after(0, {}), ['Succeeded', 'Succeeded', 0]);
    assert.deepEqual(after(3, { backoffLimit: 0 }), ['Failed', 'CommandFailed', 3]);
    assert.deepEqual(after(3, {}), ['Failed', 'DeadlineExceeded', 3], 'it was to be started again');
  });

  it('tells what kept the command from its start, as status had told', () => {
    const waiting = { waiting: { reason: 'ImagePullBackOff', message: 'no such tag' } };
    const now = dueTime + 60_000;
    const told = withStatus(at, decide(observing({ at, pod: inState(created(at), waiting), now })).status);
    const pod = withPodStatus(created(at), { phase: 'Failed', startTime: '2030-01-31T09:00:00Z', ...over });
    const { status } = decide(observing({ at: told, pod, now }));
    assert.deepEqual([status?.reason, status?.message], ['ImagePullBackOff', 'no such tag']);
  });

  it('leaves the last words to the command', () => {
    const pod = withPodStatus(failed(created(at), 143, 'terminated'), over);
    assert.equal(decide(observing({ at, pod })).status?.message, 'terminated');
  });

  it('says that the command did not start when it did not', () => {
    const pod = withPodStatus(created(at), { phase: 'Failed', startTime: '2030-01-31T09:00:00Z', ...over });
    const { status } = decide(observing({ at, pod }));
    assert.equal(status?.reason, 'PendingTimeout');
    assert.equal(status?.message, 'the command did not start within pendingTimeoutSeconds');
  });
});
