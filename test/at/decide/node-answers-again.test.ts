/** A run whose node lost contact while its Pod was being stopped, and answers again. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  actionOf,
  condition,
  crashLooping,
  created,
  decideInParts as decide,
  dueTime,
  exited,
  inState,
  launched,
  observing,
  patched,
  second,
  terminating,
  withPodStatus,
  withStatus,
} from '../../fixtures/at.ts';

describe('a Pod that is stopped for its failures on a node that does not answer', () => {
  const due = dueTime + 600 * second;
  const overdue = due + 60 * second + 1;
  const at = launched({ backoffLimit: 1 });
  const alive = crashLooping(created(at), 2);
  const stopped = patched(alive, actionOf(decide(observing({ at, pod: alive, now: due })), 'PatchPod'));
  const pod = terminating(stopped, due);
  const stuck = withStatus(at, decide(observing({ at, pod, now: overdue })).status);

  it('is told once', () => {
    assert.deepEqual(
      [stuck.status?.reason, condition(stuck.status, 'Launched'), stuck.status?.message],
      [
        'BackoffLimitExceeded',
        'True PodUnreachable',
        'Pod example-at-pod should have ended by now: its node does not answer',
      ],
    );
    const again = decide(observing({ at: stuck, pod, now: overdue + second }));
    assert.deepEqual([again.status, again.events], [stuck.status, []]);
  });

  it('is told no more once the node answers: the command has its last word', () => {
    const ended = withPodStatus(inState(pod, exited(3, 'no such table'), 1), { phase: 'Failed' });
    const { status } = decide(observing({ at: stuck, pod: ended, now: overdue + second }));
    assert.deepEqual(
      [status?.phase, status?.reason, status?.message, condition(status, 'Launched')],
      ['DONE', 'BackoffLimitExceeded', 'no such table', 'True Launched'],
    );
  });

  it('is told no more of one whose command says nothing', () => {
    const ended = withPodStatus(inState(pod, exited(3), 1), { phase: 'Failed' });
    const { status } = decide(observing({ at: stuck, pod: ended, now: overdue + second }));
    assert.equal(status?.message, 'the command failed more often than backoffLimit allows');
  });
});
