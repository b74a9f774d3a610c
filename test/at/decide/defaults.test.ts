import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AtStatus } from '../../../src/api/at.generated.ts';
import type { AtDefaults, Observed } from '../../../src/at/facts/observed.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import {
  accepted,
  actionOf,
  actionTypes,
  crashLooping,
  created,
  decideInParts,
  dueTime,
  evicted,
  failed,
  finished,
  justAfterDue,
  launched,
  observing,
  second,
  succeeded,
  withStatus,
} from '../../fixtures/at.ts';

const decided = (defaults: AtDefaults, observed: Partial<Observed>) =>
  decideInParts(observing({ defaults, ...observed }));

/** The Pod that is created for the At now. */
function podOf(defaults: AtDefaults, observed: Partial<Observed>): Pod {
  return actionOf(decided(defaults, observed), 'CreatePod').pod;
}

const stored = (pod: Pod): Pod => ({
  ...pod,
  metadata: { ...pod.metadata, uid: 'pod-uid-1', creationTimestamp: '2030-01-31T09:00:00Z' },
});

describe('the default image', () => {
  const defaults = { image: 'registry.example/tools:1' };
  const imageOf = ({ spec }: Pod) => (spec.containers[0] as { image?: string } | undefined)?.image;

  it('is that of a Pod for which neither spec nor template names one, and of that alone', () => {
    const unnamed = { template: { spec: { containers: [{ name: 'main' }] } }, command: 'echo' };
    const named = { template: { spec: { containers: [{ image: 'alpine' }] } }, command: 'echo' };
    for (const spec of [{}, unnamed])
      assert.equal(imageOf(podOf(defaults, { at: accepted(spec) })), defaults.image);
    assert.equal(imageOf(podOf(defaults, { at: accepted({ image: 'debian' }) })), 'debian');
    assert.equal(imageOf(podOf(defaults, { at: accepted(named) })), 'alpine');
    assert.equal(imageOf(podOf({}, { at: accepted() })), 'busybox');
  });

  it('stands in status as the Pod was made with it, whatever the operator that records it was started with', () => {
    const at = accepted();
    const pod = stored(podOf(defaults, { at }));
    for (const now of [{}, { image: 'another' }]) {
      assert.deepEqual(decided(now, { at, pod }).status?.operatorDefaults, defaults);
    }
    const own = accepted({ image: 'debian' });
    const status = decided(defaults, { at: own, pod: stored(podOf(defaults, { at: own })) }).status;
    assert.equal(status?.operatorDefaults, undefined);
  });

  it('of a later attempt is that of the first, also where only this process knows that there was a Pod', () => {
    const at = accepted({ disruptionPolicy: 'Retry' });
    const launch = { attempt: 1, podName: 'example-at-pod', podUID: 'pod-uid-1', launchTime: justAfterDue };
    const gone = { at, launch: { ...launch, defaultImage: defaults.image }, live: true };
    const { status } = decided(defaults, gone);
    assert.equal(status?.operatorDefaults?.image, defaults.image);
    assert.equal(imageOf(podOf(defaults, gone)), defaults.image);
  });

  it('of a later attempt is that of the first', () => {
    const at = accepted({ disruptionPolicy: 'Retry' });
    const pod = stored(podOf(defaults, { at }));
    const running = withStatus(at, decided(defaults, { at, pod }).status);
    const lost = { at: running, pod: evicted(pod), live: true };
    assert.equal(imageOf(podOf({ image: 'another' }, lost)), defaults.image);
    const plain = launched({ disruptionPolicy: 'Retry' });
    const unnamed = { at: plain, pod: evicted(created(plain)), live: true };
    assert.equal(imageOf(podOf(defaults, unnamed)), 'busybox');
  });
});

describe('the default starting deadline', () => {
  const defaults = { startingDeadlineSeconds: 60 };
  const late = dueTime + 61 * second;

  it('ends an At that has none, and says where it is from', () => {
    const { status } = decided(defaults, { at: accepted(), now: late, live: true });
    assert.equal(status?.outcome, 'Missed');
    assert.deepEqual(status?.operatorDefaults, defaults);
    assert.match(
      status?.message ?? '',
      /late, and startingDeadlineSeconds is 60 \(the operator's default\)$/,
    );
    const inTime = { at: accepted(), now: late - 2000, live: true };
    assert.deepEqual(actionTypes(decided(defaults, inTime)), ['CreatePod']);
  });

  it('gives way to that of the At', () => {
    const at = accepted({ startingDeadlineSeconds: 3600 });
    assert.deepEqual(actionTypes(decided(defaults, { at, now: late, live: true })), ['CreatePod']);
    const missed = decided(defaults, { at, now: dueTime + 3601 * second, live: true }).status;
    assert.equal(missed?.operatorDefaults, undefined);
    assert.match(missed?.message ?? '', /it was 1h1s late, and startingDeadlineSeconds is 3600$/);
  });
});

describe('the default time to live', () => {
  const defaults = { ttlSecondsAfterFinished: 60 };
  /** Its end was told at once, of which a condition keeps whole seconds. */
  const expiry = dueTime + 62 * second + 999;
  const ended = (spec = {}): AtStatus | undefined => {
    const at = launched(spec);
    return decided(defaults, { at, pod: succeeded(created(at)), now: dueTime + 2 * second }).status;
  };

  it('stands in status with the end, and deletes the At', () => {
    assert.deepEqual(ended()?.operatorDefaults, defaults);
    const at = withStatus(launched(), ended());
    assert.equal(decided(defaults, { at }).requeueAt, expiry);
    assert.deepEqual(actionTypes(decided(defaults, { at, now: expiry, live: true })), ['DeleteAt']);
  });

  it('gives way to that of the At', () => {
    assert.equal(ended({ ttlSecondsAfterFinished: 5 })?.operatorDefaults, undefined);
    const at = finished({ ttlSecondsAfterFinished: 3600 });
    assert.deepEqual(decided(defaults, { at, now: expiry, live: true }).actions, []);
  });

  it('that has applied once holds for an operator with another one', () => {
    const at = withStatus(launched(), ended());
    for (const other of [{}, { ttlSecondsAfterFinished: 1 }]) {
      const { status, requeueAt } = decided(other, { at });
      assert.deepEqual([status?.operatorDefaults, requeueAt], [defaults, expiry]);
    }
  });

  it('reaches an At that had ended before there was one', () => {
    const at = finished();
    assert.deepEqual(decided(defaults, { at }).status?.operatorDefaults, defaults);
  });
});

describe('outputInStatus: false of the operator', () => {
  const defaults = { outputInStatus: false };

  it('leaves the output out of status, which says so', () => {
    const at = launched();
    const { status } = decided(defaults, { at, pod: failed(created(at), 3, 'the password is x') });
    assert.doesNotMatch(status?.message ?? '', /password/);
    assert.deepEqual(status?.operatorDefaults, defaults);
  });

  it('holds while the command fails and is started again, also for an operator that tells it', () => {
    const at = launched();
    const pod = crashLooping(created(at), 1);
    const { status } = decided(defaults, { at, pod, now: justAfterDue + 2000 });
    assert.equal(status?.reason, 'CommandFailing');
    assert.deepEqual(status?.operatorDefaults, defaults);
    const end = decided(
      { outputInStatus: true },
      { at: withStatus(at, status), pod: failed(pod, 3, 'secret') },
    );
    assert.doesNotMatch(end.status?.message ?? '', /secret/);
  });

  it('gives way to the At, and is not said where it is what the API says', () => {
    const at = launched({ outputInStatus: true });
    const { status } = decided(defaults, { at, pod: failed(created(at), 3, 'disk full') });
    assert.deepEqual([status?.message, status?.operatorDefaults], ['disk full', undefined]);
    const plain = launched();
    const told = decided({ outputInStatus: true }, { at: plain, pod: failed(created(plain)) }).status;
    assert.equal(told?.operatorDefaults, undefined);
  });
});
