import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { at, atPod, begin, HandMade } from '../hand-made.ts';

const launchGuarantee = 'ExactlyOnce';
const running = { phase: 'RUNNING', podName: 'a-pod', podUID: 'first', attempts: 1 };
/** The attempt was lost, and the next one is to follow. */
const told = { ...running, history: [{ attempt: 1, podUID: 'first', reason: 'PodLost' }] };
const done = { ...running, phase: 'DONE' };

function failedPod(isHeld: boolean) {
  const pod = atPod('a-pod', 'first', 'a', { phase: 'Failed' });
  const finalizers = isHeld ? ['cnat.programming-kubernetes.info/tracked'] : [];
  return { ...pod, metadata: { ...pod.metadata, finalizers } };
}

/** The Pod is held, and has failed unless another one is given, and this is the status. */
function failed(
  promise: string,
  status: object,
  pod: Parameters<HandMade['change']>[1] = failedPod(true),
): HandMade {
  return new HandMade([promise])
    .add({ type: 'replica', time: begin, replica: 'replica-0', state: 'started' })
    .change('ats', at('a', 0, { launchGuarantee }), 'ADDED', 'alice')
    .change('pods', pod, 'ADDED', 'replica-0')
    .change('ats', at('a', 0, { launchGuarantee }, { ...status }), 'MODIFIED', 'replica-0');
}

describe('S16, a Pod is held until its end is recorded', () => {
  it('is broken where it is let go before that, and kept after it, also while the run goes on', () => {
    const letGo = (status: object) =>
      failed('S16', status).change('pods', failedPod(false), 'MODIFIED', 'replica-0').broken;
    assert.deepEqual([running, told, done].map(letGo), [['S16 let go'], [], []]);
  });
});

describe('L7, nothing stays held', () => {
  it('is broken by a Pod whose end is recorded, also while the run goes on, and kept by one that runs', () => {
    const held = (status: object) => failed('L7', status).calm(3_600_000).broken;
    assert.deepEqual([running, told, done].map(held), [[], ['L7 held'], ['L7 held']]);
  });

  it('is kept by a Pod that never ran, and whose At ended a moment ago', () => {
    const completionTime = new Date(begin + 3_600_000).toISOString();
    const { status: _, ...waiting } = failedPod(true);
    const made = failed('L7', { ...done, completionTime }, waiting);
    assert.deepEqual(made.calm(3_600_001).broken, []);
    assert.deepEqual(made.calm(3_600_000).broken, ['L7 held']);
    const metadata = { ...waiting.metadata, deletionTimestamp: completionTime };
    const replaced = failed('L7', told, { ...waiting, metadata });
    assert.deepEqual(replaced.calm(3_600_001).broken, []);
  });
});
