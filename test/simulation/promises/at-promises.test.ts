import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atAnnotation } from '../../../src/api/at-constants.ts';
import { developerOf } from '../authors.ts';
import { at, atPod, begin, HandMade, second } from '../hand-made.ts';

const failed = { phase: 'Failed' };
const succeeded = { phase: 'Succeeded' };

const gate = { name: 'cnat.programming-kubernetes.info/recorded' };

/** A Pod that waits for its release, and whose owner a user has taken away. */
function neverReleased() {
  const { metadata, spec, status } = atPod('a-pod', 'first', 'a');
  return {
    metadata: { ...metadata, ownerReferences: [] },
    spec: { ...spec, schedulingGates: [gate] },
    status,
  };
}

/** An At that is due, which a replica knows, and its Pod. */
function launched(promise: string, { by = 'replica-0' } = {}): HandMade {
  return new HandMade([promise])
    .change('ats', at('a'), 'ADDED', 'alice')
    .show('replica-0', 'ats', 'a')
    .pass(10 * second)
    .change('pods', atPod('a-pod', 'first', 'a'), 'ADDED', by);
}

/** The Pod is gone, and the same replica makes another one of that name. */
function again(made: HandMade): HandMade {
  return made
    .pass(10 * second)
    .change('pods', atPod('a-pod', 'first', 'a'), 'DELETED')
    .pass(10 * second)
    .change('pods', atPod('a-pod', 'second', 'a'), 'ADDED', 'replica-0');
}

describe('S1, one Pod per attempt', () => {
  it('is kept by one Pod, and by another one of the next attempt', () => {
    const made = launched('S1').change('pods', atPod('a-pod', 'first', 'a', failed), 'MODIFIED');
    made.change('pods', atPod('a-pod-2', 'second', 'a'), 'ADDED', 'replica-0');
    assert.deepEqual(made.broken, []);
  });

  it('allows a second Pod to a replica that was never shown the first', () => {
    assert.deepEqual(again(launched('S1')).broken, []);
  });

  it('is broken by a second Pod of a replica that was shown the first', () => {
    const made = launched('S1').show('replica-0', 'pods', 'a-pod');
    assert.deepEqual(again(made).broken, ['S1 known']);
  });

  it('allows it to a replica that was shown the first as a Pod without an owner alone', () => {
    const made = launched('S1', { by: 'replica-1' });
    const pod = atPod('a-pod', 'first', 'a');
    const object = { ...pod, metadata: { ...pod.metadata, ownerReferences: [] } };
    made.add({ type: 'seen', time: made.time, replica: 'replica-0', resource: 'pods', object, gone: false });
    assert.deepEqual(again(made).broken, []);
  });

  it('is broken by it also where the replica was shown that the first one went away', () => {
    const made = launched('S1', { by: 'replica-1' }).show('replica-0', 'pods', 'a-pod');
    made.pass(10 * second);
    const object = atPod('a-pod', 'first', 'a');
    made.add({
      ...{ type: 'seen', time: made.time, replica: 'replica-0', resource: 'pods', object, gone: true },
    });
    assert.deepEqual(again(made).broken, ['S1 known']);
  });

  it('allows several gated Pods under ExactlyOnce, and the release of one', () => {
    const gated = (name: string, uid: string) => {
      const pod = atPod(name, uid, 'a');
      return { ...pod, spec: { ...pod.spec, schedulingGates: [gate] } };
    };
    const made = new HandMade(['S1']).change(
      'ats',
      at('a', 0, { launchGuarantee: 'ExactlyOnce' }),
      'ADDED',
      'alice',
    );
    made.change('pods', gated('a-pod', 'first'), 'ADDED', 'replica-0');
    made.change('pods', gated('a-pod', 'first'), 'DELETED');
    made.change('pods', gated('a-pod', 'second'), 'ADDED', 'replica-0');
    made.change('pods', atPod('a-pod', 'second', 'a'), 'MODIFIED', 'replica-0');
    assert.deepEqual(made.broken, []);
    made.change('pods', atPod('a-pod', 'second', 'a'), 'DELETED');
    made.change('pods', atPod('a-pod', 'third', 'a'), 'ADDED', 'replica-0');
    assert.deepEqual(made.broken, ['S1 released twice']);
  });

  it('is broken by an attempt while the one before has not ended', () => {
    const made = launched('S1').change('pods', atPod('a-pod-2', 'second', 'a'), 'ADDED', 'replica-0');
    assert.deepEqual(made.broken, ['S1 overlap']);
  });
});

describe('S6, edits come too late', () => {
  const other = {
    ...atPod('a-pod-2', 'second', 'a'),
    spec: { containers: [{ name: 'main', image: 'other' }] },
  };
  const retried = () => launched('S6').change('pods', atPod('a-pod', 'first', 'a'), 'DELETED');

  it('is broken by an attempt with another Pod than the first', () => {
    assert.deepEqual(retried().change('pods', other, 'ADDED', 'replica-0').broken, ['S6']);
  });

  it('is kept by one with another Pod than a first one that was never released, and replaced after an edit', () => {
    const gated = { schedulingGates: [{ name: 'cnat.programming-kubernetes.info/recorded' }] };
    const before = { ...atPod('a-pod', 'before', 'a'), spec: { containers: [], ...gated } };
    const first = { ...atPod('a-pod', 'first', 'a'), spec: other.spec };
    const made = new HandMade(['S6']).change('ats', at('a'), 'ADDED', 'alice');
    made.change('pods', before, 'ADDED', 'replica-0').change('pods', before, 'DELETED', 'replica-0');
    made.change('pods', first, 'ADDED', 'replica-0').change('pods', first, 'DELETED', 'alice');
    assert.deepEqual(made.change('pods', other, 'ADDED', 'replica-0').broken, []);
  });

  it('is kept by one after attempts that a user has written into the status', () => {
    const forged = { ...at('a'), status: { phase: 'PENDING', attempts: 3 } };
    const made = retried().change('ats', forged, 'MODIFIED', 'alice');
    assert.deepEqual(made.change('pods', other, 'ADDED', 'replica-0').broken, []);
  });
});

describe('S2, never early', () => {
  const launchedAt = (ms: number, ahead = 0) => {
    const made = new HandMade(['S2']).change('ats', at('a', 60_000), 'ADDED', 'alice');
    made.add({ type: 'replica', time: begin, replica: 'replica-0', state: 'started', clockAhead: ahead });
    made.show('replica-0', 'ats', 'a').pass(ms);
    return made.change('pods', atPod('a-pod', 'first', 'a'), 'ADDED', 'replica-0').broken;
  };
  it('is kept from the very instant on', () => assert.deepEqual(launchedAt(60_000), []));
  it('is broken by a Pod a millisecond before it', () => assert.deepEqual(launchedAt(59_999), ['S2 early']));
  it('also of a clock that is ahead', () => assert.deepEqual(launchedAt(30_000, 40_000), ['S2 early']));
  it('but what answers with whole seconds leave open', () => assert.deepEqual(launchedAt(59_100, 1000), []));

  it('is kept by a launch at the time before an edit that was not shown yet', () => {
    const made = new HandMade(['S2'])
      .change('ats', at('a', 1000), 'ADDED', 'alice')
      .show('replica-0', 'ats', 'a');
    made.pass(900).change('ats', at('a', 600_000), 'MODIFIED', 'alice').pass(200);
    made.change('pods', atPod('a-pod', 'first', 'a'), 'ADDED', 'replica-0');
    assert.deepEqual(made.broken, []);
  });
});

describe('S3, not for an At that was seen to be deleted, suspended, canceled or done', () => {
  const rows: readonly (readonly [object, string])[] = [
    [at('a', 0, { suspend: true }), 'S3 suspended'],
    [at('a', 0, { cancel: true }), 'S3 canceled'],
    [at('a', 0, {}, { phase: 'DONE' }), 'S3 done'],
  ];
  for (const [state, broken] of rows) {
    for (const isShown of [true, false]) {
      it(`${isShown ? 'is broken when' : 'is kept when it was not shown that'} it is ${broken.slice(3)}`, () => {
        const made = new HandMade(['S3'])
          .change('ats', at('a'), 'ADDED', 'alice')
          .show('replica-0', 'ats', 'a');
        made.pass(second).change('ats', state as ReturnType<typeof at>, 'MODIFIED', 'alice');
        if (isShown) made.show('replica-0', 'ats', 'a');
        made.pass(10 * second).change('pods', atPod('a-pod', 'first', 'a'), 'ADDED', 'replica-0');
        assert.deepEqual(made.broken, isShown ? [broken] : []);
      });
    }
  }
});

describe('S3, for a create that was on its way for long', () => {
  it('is judged by what was shown when it was sent, whatever was shown since', () => {
    const made = new HandMade(['S3']).change('ats', at('a'), 'ADDED', 'alice').show('replica-0', 'ats', 'a');
    const sentAt = made.pass(second).time;
    for (let i = 0; i < 30; i += 1) made.pass(second).show('replica-0', 'ats', 'a');
    const pod = atPod('a-pod', 'first', 'a');
    const metadata = { ...pod.metadata, namespace: 'shop', resourceVersion: '1000' };
    const by = { replica: 'replica-0', user: 'operator', sentAt };
    const entry = { type: 'change', time: made.time, change: 'ADDED', resource: 'pods', by } as const;
    made.add({ ...entry, object: { ...pod, metadata }, previous: undefined });
    assert.deepEqual(made.broken, []);
  });
});

describe('S5, phases never go back', () => {
  const write = (before: object, after: object) =>
    new HandMade(['S5'])
      .change('ats', at('a', 0, {}, { ...before }), 'ADDED', 'alice')
      .change('ats', at('a', 0, {}, { ...after }), 'MODIFIED', 'replica-0').broken;
  it('is kept by PENDING → RUNNING → DONE', () => {
    assert.deepEqual(write({ phase: 'PENDING' }, { phase: 'RUNNING' }), []);
    assert.deepEqual(write({ phase: 'RUNNING' }, { phase: 'DONE', outcome: 'Failed' }), []);
  });
  it('is broken by RUNNING → PENDING, and by another end', () => {
    assert.deepEqual(write({ phase: 'RUNNING' }, { phase: 'PENDING' }), ['S5 phase']);
    assert.deepEqual(write({ phase: 'DONE', outcome: 'Failed' }, { phase: 'DONE', outcome: 'Succeeded' }), [
      'S5 done',
    ]);
  });
  it('is broken by an observedGeneration that falls', () => {
    assert.deepEqual(write({ observedGeneration: 3 }, { observedGeneration: 2 }), ['S5 generation']);
  });
});

describe('S6, edits after the Pod change nothing', () => {
  const second = (image: string) => {
    const pod = atPod('a-pod-2', 'second', 'a');
    return { ...pod, spec: { containers: [{ name: 'main', image }] } };
  };
  it('is kept by another attempt at the same', () => {
    const made = launched('S6').change('pods', second('busybox'), 'ADDED', 'replica-0');
    assert.deepEqual(made.broken, []);
  });
  it('is broken by an attempt that runs something else', () => {
    assert.deepEqual(launched('S6').change('pods', second('other'), 'ADDED', 'replica-0').broken, ['S6']);
  });
});

describe('R1, results are true', () => {
  const ended = (pod: object, status: object, then: 'there' | 'gone' | 'shown and gone' = 'there') => {
    const launchTime = new Date(begin + 10 * second).toISOString();
    const running = { phase: 'RUNNING', podUID: 'first', launchTime };
    const made = launched('R1').change('ats', at('a', 0, {}, running), 'MODIFIED', 'replica-0');
    made.change('pods', atPod('a-pod', 'first', 'a', { ...pod }), 'MODIFIED');
    if (then === 'shown and gone') made.show('replica-0', 'pods', 'a-pod').pass(10 * second);
    if (then !== 'there') made.change('pods', atPod('a-pod', 'first', 'a', { ...pod }), 'DELETED');
    const done = { ...running, phase: 'DONE', ...status };
    return made.change('ats', at('a', 0, {}, done), 'MODIFIED', 'replica-0').broken;
  };
  it('is kept by what the Pod shows', () => {
    assert.deepEqual(ended(succeeded, { outcome: 'Succeeded' }), []);
    assert.deepEqual(ended(failed, { outcome: 'Failed' }), []);
  });
  it('is broken by a success that was none, and by one that is denied', () => {
    assert.deepEqual(ended(failed, { outcome: 'Succeeded' }), ['R1 no success']);
    assert.deepEqual(ended(succeeded, { outcome: 'Failed' }), ['R1 success denied']);
  });
  it('is broken by the loss of an end that was shown, and kept by that of one that was not', () => {
    const lost = { outcome: 'Failed', reason: 'PodLost' };
    assert.deepEqual(ended(succeeded, lost, 'gone'), []);
    assert.deepEqual(ended(succeeded, lost, 'shown and gone'), ['R1 end lost']);
  });
  it('is broken by an end while the Pod runs, and by an exit code that never was', () => {
    assert.deepEqual(ended({ phase: 'Running' }, { outcome: 'Canceled' }), ['R1 still runs']);
    assert.deepEqual(ended(failed, { outcome: 'Failed', exitCode: 7 }), ['R1 exit code']);
  });
  it('is kept by an end while a Pod is there that nothing will release any more', () => {
    const made = launched('R1').change('pods', neverReleased(), 'MODIFIED', 'alice');
    const done = { phase: 'DONE', outcome: 'Failed', reason: 'PodLost', podUID: 'first' };
    assert.deepEqual(made.change('ats', at('a', 0, {}, done), 'MODIFIED', 'replica-0').broken, []);
  });
  it('is broken by a failure in a Pod that never was', () => {
    const done = { phase: 'DONE', outcome: 'Failed', reason: 'PodLost', podUID: 'other' };
    const made = launched('R1').change('ats', at('a', 0, {}, done), 'MODIFIED', 'replica-0');
    assert.deepEqual(made.broken, ['R1 no Pod']);
  });
  it('is broken by another run of what has succeeded', () => {
    const made = launched('R1').change('pods', atPod('a-pod', 'first', 'a', succeeded), 'MODIFIED');
    made.change('pods', atPod('a-pod-2', 'second', 'a'), 'ADDED', 'replica-0');
    assert.deepEqual(made.broken, ['R1 run again']);
  });
  it('is kept by the first attempt of AtLeastOnce that a replica makes again which was shown nothing of it', () => {
    const made = launched('R1').change('pods', atPod('a-pod', 'first', 'a'), 'DELETED', 'alice');
    made.change('pods', atPod('a-pod-2', 'second', 'a', succeeded), 'ADDED', 'replica-0');
    made.change('pods', atPod('a-pod', 'again', 'a'), 'ADDED', 'replica-1');
    assert.deepEqual(made.broken, []);
  });
  it('is broken by a run that counts as failed by itself and whose Pod was deleted before it ended', () => {
    const endedWhen = (when: 'before' | 'after', isWrong = false) => {
      const made = launched('R1').change(
        'ats',
        at('a', 0, {}, { phase: 'RUNNING', podUID: 'first' }),
        'MODIFIED',
        'replica-0',
      );
      const ends = () => {
        const of = { namespace: 'shop', pod: 'a-pod', podUid: 'first', container: 'main' };
        made.add({ type: 'container-end', time: made.time, exitCode: 3, ...of });
      };
      if (isWrong) {
        const fault = { id: 1, kind: 'node-clock', state: 'begins', replica: undefined, text: '' } as const;
        made.add({ type: 'fault', time: made.time, ...fault });
      }
      if (when === 'before') ends();
      const { metadata, ...rest } = atPod('a-pod', 'first', 'a', failed);
      const going = { ...rest, metadata: { ...metadata, deletionTimestamp: '2024-01-01T00:00:30Z' } };
      made.pass(second).change('pods', going, 'MODIFIED', 'alice').pass(second);
      if (when === 'after') ends();
      const done = { phase: 'DONE', outcome: 'Failed', reason: 'CommandFailed', podUID: 'first' };
      return made.change('ats', at('a', 0, {}, done), 'MODIFIED', 'replica-0').broken;
    };
    assert.deepEqual(endedWhen('after'), ['R1 deleted']);
    assert.deepEqual(endedWhen('before'), []);
    assert.deepEqual(endedWhen('after', true), []);
  });
});

describe('R5, absence is proven', () => {
  const lost = { phase: 'DONE', outcome: 'Failed', reason: 'PodLost', podUID: 'first' };
  it('is broken by PodLost while the Pod is there, and kept once it is gone', () => {
    const made = launched('R5').change('ats', at('a', 0, {}, lost), 'MODIFIED', 'replica-0');
    assert.deepEqual(made.broken, ['R5 lost']);
    const gone = launched('R5').change('pods', atPod('a-pod', 'first', 'a'), 'DELETED');
    assert.deepEqual(gone.change('ats', at('a', 0, {}, lost), 'MODIFIED', 'replica-0').broken, []);
  });
  it('is kept by PodLost of a Pod that nothing will release any more', () => {
    const made = launched('R5').change('pods', neverReleased(), 'MODIFIED', 'alice');
    assert.deepEqual(made.change('ats', at('a', 0, {}, lost), 'MODIFIED', 'replica-0').broken, []);
  });
  it('is broken by Missed with a Pod', () => {
    const missed = { phase: 'DONE', outcome: 'Missed' };
    const made = launched('R5').pass(10 * second);
    assert.deepEqual(made.change('ats', at('a', 0, {}, missed), 'MODIFIED', 'replica-0').broken, [
      'R5 overlooked',
    ]);
  });
});

describe('liveness of At', () => {
  const started = { type: 'replica', time: begin, replica: 'replica-0', state: 'started' } as const;
  const quiet = (promise: string) =>
    new HandMade([promise]).add(started).change('ats', at('a'), 'ADDED', 'alice');
  const blind = 1_000_000;
  it('L1 is broken by a due At without a Pod, and kept with one', () => {
    assert.deepEqual(quiet('L1').calm(blind).broken, ['L1']);
    const made = quiet('L1').change('pods', atPod('a-pod', 'first', 'a'), 'ADDED', 'replica-0');
    assert.deepEqual(made.calm(blind).broken, []);
  });
  it('L1 is kept by one that is refused and tried again, and broken where only others are tried', () => {
    const told = {
      phase: 'PENDING',
      conditions: [{ type: 'Launched', status: 'False', reason: 'PodRejected' }],
    };
    const refuse = (made: HandMade, ownLast: number, othersLast: number) => {
      const create = (owner: string) => {
        const body = JSON.stringify(atPod(`${owner}-pod`, owner, owner));
        return made.request('create', 'pods', `${owner}-pod`, { code: 403, body });
      };
      made.change('ats', at('a', 0, {}, told), 'MODIFIED', 'replica-0').pass(ownLast);
      create('a').pass(othersLast);
      return create('b').calm(5 * second).broken;
    };
    assert.deepEqual(refuse(quiet('L1'), 600 * second, 300 * second), []);
    assert.deepEqual(refuse(quiet('L1'), 600 * second, 400 * second), ['L1']);
  });
  it('L1 is kept by one whose author may not create Pods, and broken some minutes after that is allowed', () => {
    const condition = { type: 'Launched', status: 'False', reason: 'NotAuthorized' };
    const { metadata, ...rest } = at('a', 0, {}, { phase: 'PENDING', conditions: [condition] });
    const annotations = { [atAnnotation.author]: JSON.stringify({ username: developerOf('a') }) };
    const held = { ...rest, metadata: { ...metadata, annotations } };
    const made = quiet('L1').change('ats', held, 'MODIFIED', 'replica-0');
    assert.deepEqual(made.calm(blind).broken, []);
    made.change('rolebindings', { metadata: { name: developerOf('a') } }, 'ADDED', 'alice');
    assert.deepEqual(made.calm(380 * second).broken, []);
    assert.deepEqual(made.calm(20 * second).broken, ['L1']);
  });
  it('L1 waits for a replica', () => {
    assert.deepEqual(
      quiet('L1')
        .add({ ...started, state: 'killed' })
        .calm(blind).broken,
      [],
    );
  });
  it('L2 is broken by an end that is not recorded', () => {
    const made = quiet('L2').change('pods', atPod('a-pod', 'first', 'a', failed), 'ADDED', 'replica-0');
    made.change('pods', atPod('a-pod', 'first', 'a', failed), 'MODIFIED');
    made.change('ats', at('a', 0, {}, { phase: 'RUNNING', podUID: 'first' }), 'MODIFIED', 'replica-0');
    assert.deepEqual(made.calm(blind).broken, ['L2']);
    made.change('ats', at('a', 0, {}, { phase: 'DONE', podUID: 'first' }), 'MODIFIED', 'replica-0');
    assert.deepEqual(made.calm(blind).broken, ['L2']);
  });
  it('L2 is broken by the end of a Pod of an At that still waits, unless it is not its own or never ran', () => {
    const ended = (pod: ReturnType<typeof atPod>) => {
      const made = quiet('L2').change('pods', atPod('a-pod', 'first', 'a'), 'ADDED', 'replica-0');
      return made.change('pods', pod, 'MODIFIED').calm(blind).broken;
    };
    assert.deepEqual(ended(atPod('a-pod', 'first', 'a', failed)), ['L2']);
    assert.deepEqual(ended(atPod('a-pod', 'first', 'b', failed)), []);
    assert.deepEqual(ended({ ...neverReleased(), status: failed }), []);
  });
  it('L2 looks at the Pod of the attempt that status shows, and not at a surplus one that was made later', () => {
    const made = quiet('L2').change('pods', atPod('a-pod-2', 'second', 'a'), 'ADDED', 'replica-0');
    made.change('ats', at('a', 0, {}, { phase: 'RUNNING', podUID: 'second' }), 'MODIFIED', 'replica-0');
    made.change('pods', atPod('a-pod', 'late', 'a'), 'ADDED', 'replica-1').pass(second);
    made.change('pods', atPod('a-pod', 'late', 'a'), 'DELETED', 'replica-0');
    assert.deepEqual(made.calm(blind).broken, []);
  });
  it('L2 is kept while a status that was found not valid waits to be written again', () => {
    const answered = (code: number) => {
      const made = quiet('L2').change('pods', atPod('a-pod', 'first', 'a', failed), 'ADDED', 'replica-0');
      made.change('pods', atPod('a-pod', 'first', 'a', failed), 'MODIFIED');
      made.change('ats', at('a', 0, {}, { phase: 'RUNNING', podUID: 'first' }), 'MODIFIED', 'replica-0');
      return made.request('patch', 'ats', 'a', { replica: 'replica-0', subresource: 'status', code });
    };
    assert.deepEqual(answered(422).calm(250_000).broken, []);
    assert.deepEqual(answered(422).calm(blind).broken, ['L2']);
    assert.deepEqual(answered(403).calm(250_000).broken, ['L2']);
  });
  it('R2 is broken by a due At that says nothing, and kept by one that says why', () => {
    assert.deepEqual(quiet('R2').calm(blind).broken, ['R2 untold']);
    const condition = { type: 'Launched', status: 'False', reason: 'PodRejected' };
    const told = { phase: 'PENDING', conditions: [condition] };
    const made = quiet('R2').change('ats', at('a', 0, {}, told), 'MODIFIED', 'replica-0');
    assert.deepEqual(made.calm(blind).broken, []);
  });
  it('R2 is broken by an Event that blames the operator for what was refused, unless it was late itself', () => {
    const late = (shownAfter: number, askedAfter = second, stillFor = 0) => {
      const { metadata, ...rest } = at('a', 60_000);
      const object = { ...rest, metadata: { ...metadata, namespace: 'shop', uid: 'a-uid' } };
      const made = new HandMade(['R2']).add(started).change('ats', object, 'ADDED', 'alice');
      made.pass(60_000 + shownAfter);
      const seen = { resource: 'ats', object, gone: false } as const;
      made.add({ type: 'seen', time: made.time, replica: 'replica-0', ...seen });
      const body = JSON.stringify(atPod('a-pod', 'first', 'a'));
      made.pass(askedAfter).request('create', 'pods', 'a-pod', { code: 403, body });
      made.add({ type: 'replica', time: made.time, replica: 'replica-0', state: 'stopped' }).pass(stillFor);
      made.add({ type: 'replica', time: made.time, replica: 'replica-0', state: 'continued' });
      const event = JSON.stringify({ reason: 'LaunchedLate', regarding: { uid: 'a-uid' } });
      return made.pass(10 * second).request('create', 'events', 'a.1', { body: event });
    };
    assert.deepEqual(late(second).broken, ['R2 blame for Pod']);
    assert.deepEqual(late(20 * second).broken, []);
    assert.deepEqual(late(second, 20 * second).broken, []);
    assert.deepEqual(late(second, second, 20 * second).broken, []);
  });
});
