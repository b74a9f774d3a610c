import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import { at, atPod, begin, HandMade, second } from '../hand-made.ts';

const minute = 60 * second;
const started = { type: 'replica', time: begin, replica: 'replica-0', state: 'started' } as const;
const running = { phase: 'RUNNING', attempts: 1 };

function made(
  spec: Readonly<Record<string, unknown>>,
  status: Readonly<Record<string, unknown>>,
  promise = 'L9',
): HandMade {
  return new HandMade([promise]).add(started).change('ats', at('a', 0, spec, status), 'ADDED', 'alice');
}

/** Its Pod is made, and starts where that is said. */
function withPod(made: HandMade, isStarted: boolean, owner = 'a'): HandMade {
  const { spec } = made.history.objects.get<At>('ats', 'shop', 'a')!;
  const run = { 'cnat.programming-kubernetes.info/run': JSON.stringify(spec) };
  const pod = atPod('a-pod', 'first', 'a');
  made.change('pods', { ...pod, metadata: { ...pod.metadata, annotations: run } }, 'ADDED', 'replica-0');
  if (owner !== 'a') made.change('pods', atPod('a-pod', 'first', owner), 'MODIFIED', 'alice');
  const start = { namespace: 'shop', pod: 'a-pod', podUid: 'first', container: 'main', sources: [] };
  return isStarted ? made.add({ type: 'container-start', time: made.time, ...start }) : made;
}

/** The Pod as the cluster has it, with other fields. */
function changePod(made: HandMade, metadata: object, status: object): HandMade {
  const pod = made.history.objects.get<Pod>('pods', 'shop', 'a-pod')!;
  const object = { ...pod, metadata: { ...pod.metadata, ...metadata }, status: { ...pod.status, ...status } };
  return made.change('pods', object, 'MODIFIED', 'replica-0');
}

function withoutPod(made: HandMade): HandMade {
  return made.change('pods', atPod('a-pod', 'first', 'a'), 'DELETED', 'alice');
}

/** A run whose Pod was told to stop. */
function stopped(metadata: object = {}): HandMade {
  const run = withPod(made({}, running), true);
  const annotations = { 'cnat.programming-kubernetes.info/stop-reason': 'BackoffLimitExceeded' };
  return changePod(changePod(run, { annotations }, {}), metadata, {});
}

describe('L9, limits end', () => {
  it('is broken by an At that waits although it is canceled or too late', () => {
    const waiting = { phase: 'PENDING' };
    for (const [spec, clue] of [
      [{ cancel: true }, 'cancel'],
      [{ startingDeadlineSeconds: 60 }, 'startingDeadline'],
    ] as const) {
      assert.deepEqual(made(spec, waiting).calm(90 * second).broken, [], clue);
      assert.deepEqual(made(spec, waiting).calm(10 * minute).broken, [`L9 ${clue}`]);
      assert.deepEqual(made({ ...spec, suspend: true }, waiting).calm(10 * minute).broken, []);
    }
  });

  it('is broken by a run that goes on past a limit', () => {
    for (const [spec, isStarted, clue] of [
      [{ cancel: true }, true, 'cancel'],
      [{ activeDeadlineSeconds: 60 }, true, 'activeDeadline'],
      [{}, false, 'pendingTimeout'],
      [{ pendingTimeoutSeconds: 60 }, false, 'pendingTimeout'],
    ] as const) {
      const run = () => withPod(made(spec, running), isStarted);
      assert.deepEqual(run().calm(2 * minute).broken, [], clue);
      assert.deepEqual(run().calm(20 * minute).broken, [`L9 ${clue}`]);
      assert.deepEqual(withPod(made(spec, running), isStarted, 'b').calm(20 * minute).broken, []);
      const isOver = spec.cancel === true ? [`L9 ${clue}`] : [];
      assert.deepEqual(withoutPod(run()).calm(20 * minute).broken, isOver, `${clue}, without its Pod`);
    }
    for (const [spec, isStarted] of [
      [{}, true],
      [{ pendingTimeoutSeconds: 0, activeDeadlineSeconds: 60 }, false],
    ] as const) {
      assert.deepEqual(withPod(made(spec, running), isStarted).calm(20 * minute).broken, []);
    }
  });

  it('is broken by an At whose node does not answer where its user has canceled it or its time is over, and else not', () => {
    const fault = { type: 'fault', id: 1, kind: 'node-off', replica: undefined, text: 'off' } as const;
    const off = (spec: object, isStarted: boolean, kind: string = fault.kind) =>
      withPod(made({ ...spec }, running), isStarted).add({ ...fault, kind, state: 'begins', time: begin });
    for (const [spec, isStarted, broken] of [
      [{ cancel: true }, true, ['L9 cancel']],
      [{ activeDeadlineSeconds: 60 }, true, ['L9 activeDeadline']],
      [{ pendingTimeoutSeconds: 60 }, false, []],
    ] as const) {
      assert.deepEqual(off(spec, isStarted).calm(20 * minute).broken, broken);
      assert.deepEqual(off(spec, isStarted, 'server-down').calm(20 * minute).broken, []);
    }
  });

  it('is broken by a run that goes on after more failures than its backoffLimit', () => {
    const failing = (failures: number) => {
      const run = withPod(made({ backoffLimit: 2 }, running), true);
      for (let count = 1; count <= failures; count += 1) {
        const place = { namespace: 'shop', pod: 'a-pod', podUid: 'first', container: 'main' };
        run.add({ type: 'container-end', time: run.time, ...place, exitCode: 1 });
        changePod(run, {}, { containerStatuses: [{ name: 'main', restartCount: count }] });
      }
      return run;
    };
    assert.deepEqual(failing(2).calm(20 * minute).broken, []);
    assert.deepEqual(failing(3).calm(2 * minute).broken, []);
    assert.deepEqual(failing(3).calm(20 * minute).broken, ['L9 backoffLimit']);
  });

  it('is broken by a stopped Pod that runs on after its grace period', () => {
    assert.deepEqual(stopped().calm(90 * second).broken, []);
    assert.deepEqual(stopped().calm(3 * minute).broken, ['L9 stop']);
    const deletionTimestamp = new Date(begin).toISOString();
    assert.deepEqual(stopped({ deletionTimestamp }).calm(20 * minute).broken, []);
  });

  it('is broken by an At that is there after its ttl', () => {
    const done = { phase: 'DONE', completionTime: new Date(begin + minute).toISOString() };
    assert.deepEqual(made({ ttlSecondsAfterFinished: 60 }, done).calm(150 * second).broken, []);
    assert.deepEqual(made({ ttlSecondsAfterFinished: 60 }, done).calm(4 * minute).broken, ['L9 ttl']);
    assert.deepEqual(made({}, done).calm(20 * minute).broken, []);
  });

  it('is kept by one that is on its way out, or was written by a person', () => {
    const gone = { ...at('a', 0, { cancel: true }), metadata: { name: 'a', generation: 1 } };
    const deleted = {
      ...gone,
      metadata: { ...gone.metadata, deletionTimestamp: new Date(begin).toISOString() },
    };
    const { broken } = made({ cancel: true }, {})
      .change('ats', deleted, 'MODIFIED', 'alice')
      .calm(10 * minute);
    assert.deepEqual(broken, []);
    const forged = at('a', 0, { cancel: true }, { phase: 'PENDING', reason: 'Mine' });
    assert.deepEqual(
      made({ cancel: true }, {})
        .change('ats', forged, 'MODIFIED', 'alice')
        .calm(10 * minute).broken,
      [],
    );
  });
});

describe('R1, limits are kept', () => {
  /** A run with this spec that is stopped for this reason, so many seconds after its Pod was made or has started. */
  const stoppedAfter = (spec: object, reason: string, seconds: number, failures = 0) => {
    const run = withPod(made({ ...spec }, running, 'R1'), reason !== 'PendingTimeout');
    const of = { namespace: 'shop', pod: 'a-pod', podUid: 'first', container: 'main' };
    for (let failure = 0; failure < failures; failure++)
      run.add({ type: 'container-end', time: run.time, exitCode: 1, ...of });
    const annotations = { 'cnat.programming-kubernetes.info/stop-reason': reason };
    return changePod(run.pass(seconds * second), { annotations }, {}).broken;
  };

  for (const [spec, reason] of [
    [{ activeDeadlineSeconds: 60 }, 'DeadlineExceeded'],
    [{ pendingTimeoutSeconds: 60 }, 'PendingTimeout'],
  ] as const) {
    it(`is broken by ${reason} before its time, and kept by one in time`, () => {
      assert.deepEqual(stoppedAfter(spec, reason, 40), [`R1 ${reason}`]);
      assert.deepEqual(stoppedAfter(spec, reason, 61), []);
    });
  }

  it('is broken by BackoffLimitExceeded after too few failures', () => {
    const spec = { backoffLimit: 2 };
    assert.deepEqual(stoppedAfter(spec, 'BackoffLimitExceeded', 40, 2), ['R1 BackoffLimitExceeded']);
    assert.deepEqual(stoppedAfter(spec, 'BackoffLimitExceeded', 40, 3), []);
  });

  it('counts starts that were refused, which only the Pod shows', () => {
    const stoppedWith = (restartCount: number) => {
      const run = withPod(made({ backoffLimit: 1 }, running, 'R1'), false);
      const lastState = { terminated: { exitCode: 128, reason: 'StartError' } };
      const annotations = { 'cnat.programming-kubernetes.info/stop-reason': 'BackoffLimitExceeded' };
      const containerStatuses = [{ name: 'main', restartCount, state: {}, lastState }];
      return changePod(run, { annotations }, { containerStatuses }).broken;
    };
    assert.deepEqual(stoppedWith(0), ['R1 BackoffLimitExceeded']);
    assert.deepEqual(stoppedWith(1), []);
  });

  it('says nothing of a stop that is for no limit', () => {
    assert.deepEqual(stoppedAfter({}, 'Canceled', 1), []);
  });
});
