/** What status says of a run that waits: for its Pod to start, or for another one to be accepted. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import type { Observed } from '../../../src/at/facts/observed.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import {
  actionOf,
  actionTypes,
  condition,
  created,
  type Decided,
  decideInParts as decide,
  eventReasons,
  inState,
  launched,
  observing,
  second,
  started,
  succeeded,
  withPodStatus,
  withStatus,
} from '../../fixtures/at.ts';

const at = launched();
const createdAt = Date.parse(created(at).metadata.creationTimestamp ?? '');
const soon = createdAt + 9 * second;
const later = createdAt + 10 * second;
const muchLater = createdAt + 901 * second;

function unschedulable(message: string, pod: Pod = created(at)): Pod {
  return withPodStatus(pod, {
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
  });
}

function without(reason: string, message: string): Pod {
  return inState(created(at), { waiting: { reason, message } });
}

const noNodes = unschedulable('0/3 nodes are available');
const noImage = without('ImagePullBackOff', 'Back-off pulling image "busybix"');

function look(observed: Partial<Observed>): Decided {
  return decide(observing({ at, now: later, ...observed }));
}

function waitingFor(pod: Pod, of: At = at): At {
  return withStatus(of, look({ at: of, pod }).status);
}

describe('a Pod that does not start', () => {
  it('has no more than 1 KiB of its reason in status, also when it comes after the reason', () => {
    const { status } = look({ at: waitingFor(unschedulable('')), pod: unschedulable('x'.repeat(5000)) });
    assert.equal(status?.reason, 'Unschedulable');
    assert.equal(Buffer.byteLength(status?.message ?? ''), 1024);
  });

  it('is not worth a word in the first ten seconds', () => {
    const decision = look({ pod: noNodes, now: soon });
    assert.deepEqual(decision.status, at.status);
    assert.equal(decision.requeueAt, later);
  });

  it('has its reason in status then, long before the time limit', () => {
    const { status, events, requeueAt } = look({ pod: noNodes });
    assert.equal(status?.phase, 'RUNNING');
    assert.equal(status?.reason, 'Unschedulable');
    assert.equal(status?.message, '0/3 nodes are available');
    assert.equal(condition(status, 'Launched'), 'True Unschedulable');
    assert.equal(condition(status, 'Ready'), 'True Launched');
    assert.equal(condition(status, 'Stalled'), undefined);
    assert.deepEqual(events, []);
    assert.equal(requeueAt, createdAt + 900 * second);
  });

  it('has it also without a time limit', () => {
    const patient = launched({ pendingTimeoutSeconds: 0 });
    const pod = unschedulable('0/3 nodes are available', created(patient));
    assert.equal(look({ at: patient, pod, now: soon }).requeueAt, later);
    assert.equal(look({ at: patient, pod }).status?.reason, 'Unschedulable');
    assert.equal(look({ at: patient, pod }).requeueAt, undefined);
  });

  for (const [first, next] of [
    [noNodes, unschedulable('0/4 nodes are available')],
    [noImage, without('ErrImagePull', 'rpc error: code = NotFound')],
  ] as const) {
    it(`is written once, however its sentence changes: ${first.status?.conditions ? 'nodes' : 'image'}`, () => {
      const waiting = waitingFor(first);
      assert.deepEqual(look({ at: waiting, pod: first }).status, waiting.status);
      assert.deepEqual(look({ at: waiting, pod: next }).status, waiting.status);
    });
  }

  it('is written again when it waits for something else', () => {
    const { status } = look({ at: waitingFor(noNodes), pod: noImage });
    assert.equal(status?.reason, 'ImagePullBackOff');
    assert.match(status?.message ?? '', /busybix/);
    const pulling = look({ at: waitingFor(noImage), pod: without('ContainerCreating', '') });
    assert.deepEqual(pulling.status, at.status);
  });

  it('leaves no trace once it starts, in the write that tells the start', () => {
    const { status } = look({
      at: waitingFor(noNodes),
      pod: started(created(at), later + second),
      now: later + second,
    });
    assert.equal(status?.reason, undefined);
    assert.equal(status?.message, undefined);
    assert.equal(condition(status, 'Launched'), 'True Launched');
    assert.ok(status?.startTime);
  });

  it('leaves none either when it has ended by then', () => {
    const { status } = look({ at: waitingFor(noNodes), pod: succeeded(created(at)) });
    assert.equal(status?.outcome, 'Succeeded');
    assert.equal(status?.message, undefined);
    assert.equal(condition(status, 'Launched'), 'True Launched');
  });

  it('is lost, not stopped, when a user deletes it', () => {
    const { status } = look({ at: waitingFor(noNodes), live: true });
    assert.equal(status?.reason, 'PodLost');
    const patient = waitingFor(noNodes, launched({ disruptionPolicy: 'Retry' }));
    assert.equal(actionOf(look({ at: patient, live: true }), 'CreatePod').attempt, 2);
  });

  it('gives its reason to the end at the time limit', () => {
    for (const pod of [noNodes, noImage]) {
      const waiting = waitingFor(pod);
      const noted = look({ at: waiting, pod, now: muchLater });
      assert.equal(noted.locks.length, 1);
      const known = withStatus(waiting, noted.locks[0]);
      const stop = look({ at: known, pod, now: muchLater });
      assert.deepEqual(actionTypes(stop), [pod === noNodes ? 'DeletePod' : 'PatchPod']);
      const { status } = look({ at: known, live: true, now: muchLater });
      assert.equal(status?.outcome, 'Failed');
      assert.equal(status?.reason, waiting.status?.reason);
      assert.equal(status?.message, waiting.status?.message);
    }
  });

  it('does not speak for a cancel', () => {
    const waiting = waitingFor(noNodes);
    const canceled = { ...waiting, spec: { ...waiting.spec, cancel: true } };
    const noted = look({ at: canceled, pod: noNodes });
    const { status } = look({ at: withStatus(canceled, noted.status), live: true });
    assert.equal(status?.outcome, 'Canceled');
    assert.equal(status?.message, 'canceled after its Pod was created');
  });
});

describe('another attempt that the API server refuses', () => {
  const lost = { at: launched({ disruptionPolicy: 'Retry' }), live: true } as const;
  const refused = look({ ...lost, refusal: { reason: 'PodRejected', message: 'exceeded quota: used 3' } });
  const waiting = withStatus(lost.at, refused.status);

  it('is in status and in one Event after that of the lost one', () => {
    assert.equal(refused.status?.phase, 'RUNNING');
    assert.equal(refused.status?.reason, 'PodRejected');
    assert.equal(refused.status?.message, 'exceeded quota: used 3');
    assert.equal(condition(refused.status, 'Launched'), 'True PodRejected');
    assert.equal(condition(refused.status, 'Ready'), 'True Launched');
    assert.deepEqual(eventReasons(refused), ['Disrupted (W)', 'PodRejected (W)']);
    assert.equal(refused.requeueAfter, 250);
  });

  it('is tried again without another write', () => {
    const again = look({ ...lost, at: waiting });
    assert.equal(actionOf(again, 'CreatePod').attempt, 2);
    assert.equal(again.status, undefined);
    const still = look({
      ...lost,
      at: waiting,
      refusal: { reason: 'PodRejected', message: 'exceeded quota: used 4' },
    });
    assert.deepEqual(still.status, waiting.status);
    const isRepeated = still.events.map((event) => 'isRepeated' in event && event.isRepeated);
    assert.deepEqual([eventReasons(still), isRepeated], [[], [true]]);
  });

  it('is told apart from a name that is taken', () => {
    const stranger = { ...created(lost.at, later, 2) };
    const { status, events } = look({
      ...lost,
      at: waiting,
      nextPod: { ...stranger, metadata: { ...stranger.metadata, ownerReferences: [] } },
    });
    assert.equal(status?.reason, 'PodNameConflict');
    assert.equal(events.length, 1);
  });

  it('is forgotten once it is accepted', () => {
    const { status } = look({ at: waiting, nextPod: created(lost.at, later, 2) });
    assert.equal(status?.attempts, 2);
    assert.equal(status?.reason, undefined);
    assert.equal(condition(status, 'Launched'), 'True Launched');
  });

  it('can be canceled', () => {
    const canceled = { ...waiting, spec: { ...waiting.spec, cancel: true } };
    const { status } = look({ ...lost, at: canceled });
    assert.equal(status?.outcome, 'Canceled');
    assert.equal(status?.reason, 'Canceled');
  });
});
