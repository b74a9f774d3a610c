import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from '@prometheus-io/client';
import type { At, AtStatus } from '../../../src/api/at.generated.ts';
import { AtMetrics } from '../../../src/at/act/at-metrics.ts';
import {
  accepted,
  created,
  decideInParts as decide,
  dueTime,
  edited,
  finished,
  observing,
  timeText,
  waiting,
  withStatus,
} from '../../fixtures/at.ts';

describe('AtMetrics', () => {
  const suspended = accepted({ suspend: true });
  const metricsOf = (statuses: readonly (readonly [AtStatus | At, AtStatus])[]) => {
    const registry = new Registry();
    const known = [waiting(), accepted(), suspended, finished()];
    const metrics = new AtMetrics(
      registry,
      () => known,
      () => dueTime,
    );
    for (const [before, after] of statuses) {
      metrics.written('metadata' in before ? before : withStatus(waiting(), before), after);
    }
    return registry.metrics();
  };

  it('counts what is there, and what should have been launched', async () => {
    const text = await metricsOf([]);
    assert.match(text, /^atwatch_ats\{phase="PENDING"\} 3$/m);
    assert.match(text, /^atwatch_ats\{phase="RUNNING"\} 0$/m);
    assert.match(text, /^atwatch_ats\{phase="DONE"\} 1$/m);
    assert.match(text, /^atwatch_at_due_backlog 2$/m);
    assert.match(text, /^atwatch_at_finished_total\{outcome="Missed",reason="MissedDeadline"\} 0$/m);
  });

  it('counts apart what waits for its author, not for the operator', async () => {
    const reasons = ['PodRejected', 'NotAuthorized', 'PodNameConflict', 'CreateFailed', undefined];
    const ats = reasons.map((reason) => withStatus(waiting(), { ...waiting().status, reason } as AtStatus));
    const registry = new Registry();
    new AtMetrics(
      registry,
      () => [...ats, accepted()],
      () => dueTime,
    );
    const text = await registry.metrics();
    assert.match(text, /^atwatch_at_due_backlog 6$/m);
    assert.match(text, /^atwatch_at_refused 3$/m);
  });

  it('has a series at 0 for every end that there is', async () => {
    const text = await metricsOf([]);
    const series = [...text.matchAll(/^atwatch_at_finished_total\{outcome="(\w+)",reason="(\w+)"\} 0$/gm)];
    const ends = series.map(([, outcome, reason]) => `${outcome} ${reason}`).sort();
    assert.deepEqual(ends, [
      'Canceled Canceled',
      'Failed BackoffLimitExceeded',
      'Failed CannotStart',
      'Failed CommandFailed',
      'Failed DeadlineExceeded',
      'Failed Evicted',
      'Failed ImagePullBackOff',
      'Failed Other',
      'Failed PendingTimeout',
      'Failed PodLost',
      'Failed Unschedulable',
      'Missed MissedDeadline',
      'Succeeded Succeeded',
    ]);
  });

  it('measures a life once', async () => {
    const running: AtStatus = {
      phase: 'RUNNING',
      podUID: 'u',
      scheduledTime: '2030-01-31T09:00:00.000Z',
      launchTime: '2030-01-31T09:00:00.020Z',
      latenessMilliseconds: 20,
    };
    const done: AtStatus = {
      ...running,
      phase: 'DONE',
      outcome: 'Succeeded',
      reason: 'Succeeded',
      startTime: '2030-01-31T09:00:02.000Z',
    };
    const text = await metricsOf([
      [{}, running],
      [running, done],
      [done, { ...done, observedGeneration: 2 }],
    ]);
    assert.match(text, /^atwatch_at_launch_lateness_seconds_sum 0.02$/m);
    assert.match(text, /^atwatch_at_launch_lateness_seconds_count 1$/m);
    assert.match(text, /^atwatch_at_start_latency_seconds_sum 1.98$/m);
    assert.match(text, /^atwatch_at_finished_total\{outcome="Succeeded",reason="Succeeded"\} 1$/m);
  });

  it('measures also the delay of a Pod that was recorded in time and released late', async () => {
    const recorded: AtStatus = { phase: 'RUNNING', podUID: 'u', latenessMilliseconds: 20 };
    const released: AtStatus = { ...recorded, latenessMilliseconds: 7020, operatorDelaySeconds: 7 };
    const text = await metricsOf([
      [recorded, released],
      [released, { ...released, startTime: timeText(dueTime) }],
    ]);
    assert.match(text, /^atwatch_at_launch_lateness_seconds_sum 7$/m);
    assert.match(text, /^atwatch_at_launch_lateness_seconds_count 1$/m);
  });

  const past = { schedule: timeText(dueTime - 1_200_000) };
  const held = decide(
    observing({ at: accepted(), refusal: { reason: 'PodRejected', message: 'exceeded quota' } }),
  ).status;
  for (const [name, at, seconds] of [
    ['an At that was created after its instant', waiting(past, { creationTimestamp: timeText(dueTime) }), 30],
    ['one that was edited after it', edited(accepted(), past), 0],
    ['one that was resumed after it', edited(suspended, { suspend: false }), 0],
    ['one that waited for quota', withStatus(accepted(), held), 0],
    ['one that was there in time', accepted(), 30.9],
  ] as const) {
    it(`blames the operator for ${seconds} s of the lateness of ${name}`, async () => {
      const launchTime = dueTime + 30_900;
      const launch = { attempt: 1, podName: 'example-at-pod', podUID: 'pod-uid-1', launchTime };
      const { status } = decide(observing({ at, pod: created(at, launchTime), launch, now: launchTime }));
      assert.ok(status?.latenessMilliseconds !== undefined);
      assert.equal(status.operatorDelaySeconds, seconds === 0 ? undefined : 30);
      const text = await metricsOf([[at, status]]);
      assert.match(text, new RegExp(`^atwatch_at_launch_lateness_seconds_sum ${seconds}$`, 'm'));
      assert.match(text, /^atwatch_at_launch_lateness_seconds_count 1$/m);
    });
  }

  it('takes the wait for another attempt for no latency of the first', async () => {
    const again = {
      phase: 'RUNNING',
      podUID: 'u',
      launchTime: '2030-01-31T09:00:00.020Z',
      attempts: 2,
    } as const;
    const text = await metricsOf([[again, { ...again, startTime: '2030-01-31T11:00:00.000Z' }]]);
    assert.match(text, /^atwatch_at_start_latency_seconds_count 0$/m);
  });

  it('makes no series of a word that a client has written on a Pod', async () => {
    const text = await metricsOf([[{}, { outcome: 'Failed', reason: 'Surprise' }]]);
    assert.match(text, /^atwatch_at_finished_total\{outcome="Failed",reason="Other"\} 1$/m);
    assert.doesNotMatch(text, /Surprise/);
  });
});
