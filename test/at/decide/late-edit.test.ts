/** Edits that come after the Pod and before the status that forbids them: they change nothing about the run. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AtSpec } from '../../../src/api/at.generated.ts';
import type { Observed } from '../../../src/at/facts/observed.ts';
import {
  actionOf,
  actionTypes,
  condition,
  created,
  decideInParts as decide,
  edited,
  eventReasons,
  evicted,
  failed,
  justAfterDue,
  observing,
  succeeded,
  waiting,
  withStatus,
} from '../../fixtures/at.ts';

const retry = { disruptionPolicy: 'Retry' } as const;
const podTemplate = (key: string) => ({ metadata: { labels: { [key]: 'x' } }, spec: { containers: [{}] } });

/** The At with a Pod of its first spec, when the second one has just been recorded as launched. */
function recorded(before: Partial<AtSpec>, edit: Partial<AtSpec>, observed: Partial<Observed> = {}) {
  const launched = waiting(before);
  const pod = created(launched);
  const at = edited(launched, edit);
  return { at: withStatus(at, decide(observing({ at, pod, ...observed })).status), pod };
}

const harmful: { name: string; before?: Partial<AtSpec>; edit: Partial<AtSpec> }[] = [
  { name: 'another command', edit: { command: 'echo NO' } },
  { name: 'a shell', edit: { shell: '/bin/sh' } },
  { name: 'another image', edit: { image: 'alpine' } },
  { name: 'another template', before: { template: podTemplate('a') }, edit: { template: podTemplate('b') } },
  { name: 'other arguments', before: { argv: ['a'] }, edit: { argv: ['b'] } },
  { name: 'another backoffLimit', edit: { backoffLimit: 1 } },
  { name: 'another deadline', edit: { activeDeadlineSeconds: 5 } },
  { name: 'another time limit for the start', edit: { pendingTimeoutSeconds: 5 } },
  { name: 'a command that cannot be read', edit: { command: `'` } },
  { name: 'Retry in place of Fail', before: { disruptionPolicy: 'Fail' }, edit: retry },
  { name: 'Fail in place of Retry', edit: { disruptionPolicy: 'Fail' } },
];

describe('an edit that comes too late', () => {
  for (const { name, before, edit } of harmful) {
    it(`is told, and lets nothing else run than what was launched: ${name}`, () => {
      const { at, pod } = recorded({ ...retry, ...before }, edit);
      assert.equal(at.status?.phase, 'RUNNING');
      assert.equal(condition(at.status, 'Accepted'), 'True EditedTooLate');
      assert.equal(condition(at.status, 'Ready'), 'True Launched');
      for (const [observed, reason] of [
        [{ at, live: true }, 'PodLost'],
        [{ at, pod: evicted(pod) }, 'Evicted'],
      ] as const) {
        const decision = decide(observing(observed));
        assert.deepEqual(actionTypes(decision), []);
        assert.deepEqual(eventReasons(decision), ['Failed (W)']);
        assert.equal(decision.status?.reason, reason);
        assert.match(
          decision.status?.message ?? '',
          edit.disruptionPolicy === 'Fail'
            ? /[^;]+; the spec was edited after the Pod was cre/
            : /; not repeated: the spec was edited after the Pod was cre/,
        );
      }
    });
  }

  for (const [name, edit] of [
    ['ttlSecondsAfterFinished', { ttlSecondsAfterFinished: 9 }],
    ['suspend', { suspend: true }],
    ['what only a launch asks for', { startingDeadlineSeconds: 9 }],
  ] as const) {
    it(`does not keep the run from another attempt where that is the same: ${name}`, () => {
      const { at, pod } = recorded(retry, edit);
      assert.equal(condition(at.status, 'Accepted'), 'True Armed');
      for (const observed of [
        { at, live: true },
        { at, pod: evicted(pod), live: true },
      ]) {
        assert.equal(actionOf(decide(observing(observed)), 'CreatePod').attempt, 2);
      }
    });
  }

  it('is not there when the edit has been taken back', () => {
    const { at } = recorded(retry, { ...retry, command: 'echo YAY' });
    assert.equal(condition(at.status, 'Accepted'), 'True Armed');
  });

  for (const [name, edit] of [
    ['another instant', { schedule: '2031-01-31T09:00:00Z' }],
    ['a time that cannot be read', { schedule: '2030-01-31T09:00:00', timeZone: 'Mars/Olympus' }],
  ] as const) {
    it(`is told and changes nothing when it asks for ${name}`, () => {
      const { at } = recorded({}, edit);
      assert.equal(condition(at.status, 'Accepted'), 'True RescheduledTooLate');
      assert.equal(at.status?.scheduledTime, '2030-01-31T09:00:00.000Z');
    });
  }

  it('lets a run go on to further attempts when it asks for the same at another time', () => {
    const { at, pod } = recorded(retry, { schedule: '2031-01-31T09:00:00Z' });
    const next = decide(observing({ at, pod: evicted(pod), live: true }));
    assert.equal(actionOf(next, 'CreatePod').attempt, 2);
    const nextPod = created(at, justAfterDue, 2);
    const { status } = decide(observing({ at, pod: evicted(pod), nextPod }));
    assert.equal(status?.attempts, 2);
    assert.equal(condition(status, 'Accepted'), 'True RescheduledTooLate');
    assert.equal(status?.scheduledTime, '2030-01-31T09:00:00.000Z');
  });

  describe('to a run that is not repeated', () => {
    const before = waiting();
    const pod = created(before);
    const at = edited(before, { command: 'echo NO' });

    it('is told with the launch', () => {
      const { status, events } = decide(observing({ at, pod }));
      assert.equal(condition(status, 'Accepted'), 'True EditedTooLate');
      assert.deepEqual(
        events.map(({ note }) => note),
        ['created Pod example-at-pod, before the spec was edited'],
      );
    });

    it('is told with an end that came first', () => {
      const { status } = decide(observing({ at, pod: succeeded(pod) }));
      assert.equal(status?.outcome, 'Succeeded');
      assert.equal(condition(status, 'Accepted'), 'True EditedTooLate');
      assert.equal(status?.message, 'the spec was edited after the Pod was created');
    });

    it('adds nothing to what the command has said', () => {
      const { status } = decide(observing({ at, pod: failed(pod, 3, 'no such file') }));
      assert.equal(status?.message, 'no such file');
    });
  });

  it('is known from memory when the Pod is gone before it was recorded', () => {
    const at = edited(waiting(retry), { command: 'echo NO' });
    const launch = { attempt: 1, podName: 'example-at-pod', podUID: 'pod-uid-1', launchTime: justAfterDue };
    const observed = { launch: { ...launch, launchedSpec: 'another' }, live: true };
    const lost = decide(observing({ at, ...observed }));
    assert.equal(condition(lost.locks[0], 'Launched'), 'True Launched');
    assert.deepEqual(actionTypes(lost), []);
    assert.match(lost.status?.message ?? '', /^the Pod is gone; not repeated/);
  });

  it('cannot be told of a Pod that says nothing of its terms', () => {
    const at = waiting(retry);
    const pod = created(at);
    const plain = { ...pod, metadata: { ...pod.metadata, annotations: {} } };
    assert.equal(condition(decide(observing({ at, pod: plain })).status, 'Accepted'), 'True Armed');
  });
});
