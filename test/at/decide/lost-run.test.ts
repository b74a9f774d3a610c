/** What is said of a run that its Pod does not tell the end of, or that was over before its Pod was deleted. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { transformPod } from '../../../src/at/facts/transform.ts';
import {
  actionTypes,
  created,
  decideInParts as decide,
  dueTime,
  exited,
  failed,
  inState,
  launched,
  observing,
  second,
  started,
  targeted,
  terminating,
  timeText,
  withPodStatus,
  withStatus,
} from '../../fixtures/at.ts';

const hour = 3600 * second;

describe('decide, a second run that a lost node took with it', () => {
  const running = { running: { startedAt: timeText(dueTime + 10 * second) } };
  const lost = (exitCode: number, policy: 'Fail' | 'Retry', live: boolean) => {
    const at = launched({ disruptionPolicy: policy });
    const pod = withPodStatus(inState(created(at), running, 1, exited(exitCode)), {
      phase: 'Failed',
      conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'DeletionByPodGC' }],
    });
    return decide(observing({ at, pod, now: dueTime + 4 * hour, live }));
  };
  for (const exitCode of [0, 3]) {
    it(`does not end as the run before it, whose exit code was ${exitCode}`, () => {
      const { status } = lost(exitCode, 'Fail', false);
      assert.deepEqual([status?.outcome, status?.reason], ['Failed', 'Evicted']);
      assert.deepEqual([status?.exitCode, status?.restarts], [undefined, 1]);
      assert.equal(status?.completionTime, '2030-01-31T13:00:00.000Z');
    });

    it(`is tried again, although the exit code of the run before it was ${exitCode}`, () => {
      assert.deepEqual(actionTypes(lost(exitCode, 'Retry', true)), ['CreatePod']);
    });
  }
});

describe('decide, a command that failed by itself', () => {
  const at = launched({ backoffLimit: 0, disruptionPolicy: 'Retry' });
  const finished = dueTime + 2 * second;
  const deletedAfter = (ms: number, live: boolean) => {
    const pod = terminating(failed(created(at), 3), finished + ms + 30 * second);
    return decide(observing({ at, pod, now: finished + ms + second, live }));
  };

  it('is not repeated because a user deletes its Pod later', () => {
    const decision = deletedAfter(10 * second, false);
    assert.deepEqual(decision.actions, []);
    assert.deepEqual([decision.status?.reason, decision.status?.exitCode], ['CommandFailed', 3]);
  });

  it('counts as disturbed when its Pod was deleted first, by a clock that may go 5 s after', () => {
    for (const ms of [-second, 5 * second])
      assert.deepEqual(actionTypes(deletedAfter(ms, true)), ['CreatePod']);
  });

  describe('beside a native sidecar that took long to end, as the last version of its Pod tells it', () => {
    /** By which the kubelet takes a Pod away that has ended; the API server dates the deletion anew. */
    const deleted = (
      failedAt: number,
      sidecarAt: number,
      dated: number,
      isKept: boolean,
      evictedAt?: number,
    ) => {
      const end = (exitCode: number, time: number) => ({
        terminated: { exitCode, startedAt: timeText(dueTime), finishedAt: timeText(time) },
      });
      const ended = withPodStatus(inState(created(at), end(137, failedAt)), {
        phase: 'Failed',
        initContainerStatuses: [{ name: 'proxy', restartCount: 0, state: end(143, sidecarAt) }],
      });
      const metadata = {
        ...ended.metadata,
        ...{ deletionTimestamp: timeText(dated), deletionGracePeriodSeconds: 0 },
      };
      const shown = evictedAt === undefined ? ended : targeted(ended, evictedAt);
      const pod = isKept ? transformPod({ ...shown, metadata }) : { ...shown, metadata };
      return decide(observing({ at, pod, now: dated + second, live: true }));
    };
    const start = dueTime + 60 * second;

    for (const isKept of [false, true]) {
      it(`was disturbed when its Pod was deleted before that: ${isKept ? 'in the cache' : 'live'}`, () => {
        const decision = deleted(start + second, start + 20 * second, start + 21 * second, isKept);
        assert.deepEqual(actionTypes(decision), ['CreatePod']);
      });

      it(`is not repeated when it failed long before: ${isKept ? 'in the cache' : 'live'}`, () => {
        const [failedAt, sidecarAt] = [start - 60 * second, start - 59 * second];
        const { actions, status } = deleted(failedAt, sidecarAt, start, isKept);
        assert.deepEqual([actions, status?.reason], [[], 'CommandFailed']);
      });

      it(`is not repeated when it failed before its eviction: ${isKept ? 'in the cache' : 'live'}`, () => {
        const evicted = (after: number) =>
          deleted(start, start + 30 * second, start + 30 * second, isKept, start + after);
        const { actions, status } = evicted(9 * second);
        assert.deepEqual([actions, status?.reason], [[], 'CommandFailed']);
        assert.deepEqual(actionTypes(evicted(-second)), ['CreatePod']);
      });
    }

    it('is not said to be evicted while its sidecar ends, when it failed before', () => {
      const reasonWhen = (evictedAt: number) => {
        const { containerStatuses = [] } =
          inState(created(at), {
            terminated: { exitCode: 3, startedAt: timeText(dueTime), finishedAt: timeText(start) },
          }).status ?? {};
        const pod = withPodStatus(created(at), { phase: 'Running', containerStatuses });
        const leaving = terminating(targeted(pod, evictedAt), evictedAt + 30 * second);
        return decide(observing({ at, pod: leaving, now: evictedAt + second })).status?.reason;
      };
      assert.equal(reasonWhen(start + 9 * second), undefined);
      assert.equal(reasonWhen(start + second), 'Evicted');
    });
  });

  describe('on a node whose clock is two minutes behind', () => {
    const behind = 120 * second;
    /** Started a second after its creation, ended by itself or by the deletion after so long, and deleted. */
    const deleted = (ranMs: number, deletedMs: number) => {
      const createdAt = dueTime;
      const pod = failed(created(at, createdAt), 137);
      const [main] = pod.status?.containerStatuses ?? [];
      assert.ok(main?.state?.terminated);
      const terminated = {
        ...main.state.terminated,
        startedAt: timeText(createdAt + second - behind),
        finishedAt: timeText(createdAt + second + ranMs - behind),
      };
      const told = withPodStatus(pod, {
        startTime: timeText(createdAt - behind),
        containerStatuses: [{ ...main, state: { terminated } }],
      });
      const now = createdAt + Math.max(ranMs, deletedMs) + 2 * second;
      return decide(
        observing({ at, pod: terminating(told, createdAt + deletedMs + 30 * second), now, live: true }),
      );
    };

    it('was disturbed when its Pod was deleted first', () => {
      assert.deepEqual(actionTypes(deleted(40 * second, 39 * second)), ['CreatePod']);
    });

    it('is not repeated when it failed before that', () => {
      const decision = deleted(3 * second, 60 * second);
      assert.deepEqual(decision.actions, []);
      assert.equal(decision.status?.reason, 'CommandFailed');
      assert.equal(decision.status?.completionTime, '2030-01-31T09:00:04.000Z');
    });
  });
});

describe('decide, a run of which status says that it is evicted', () => {
  it('keeps that where an older view of its Pod shows no sign of it', () => {
    const at = launched();
    const pod = created(at);
    const going = terminating(targeted(pod), dueTime + 30 * second);
    const told = withStatus(at, decide(observing({ at, pod: going })).status);
    assert.equal(told.status?.reason, 'Evicted');
    const { status = told.status } = decide(observing({ at: told, pod: started(pod) }));
    assert.equal(status?.reason, 'Evicted');
    assert.equal(decide(observing({ at: told, live: true })).status?.reason, 'Evicted');
  });
});
