import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { at, atPod, begin, HandMade, second, watcher, webPod } from '../hand-made.ts';

const started = { type: 'replica', time: begin, replica: 'replica-0', state: 'started' } as const;
const minute = 60 * second;

/** A replica that has been at work for ten minutes. */
function atWork(promise: string): HandMade {
  return new HandMade([promise]).add(started).pass(10 * minute);
}

/** An At that falls due in a minute. */
function waiting(promise: string): HandMade {
  const due = 11 * minute;
  return atWork(promise).change('ats', at('a', due), 'ADDED', 'alice').pass(minute);
}

const launch = (made: HandMade) =>
  made.change('pods', atPod('a-pod', 'first', 'a'), 'ADDED', 'replica-0').broken;

describe('L1 and L7, launched in time', () => {
  it('L1 is kept by a launch within two seconds, and broken by a later one', () => {
    assert.deepEqual(launch(waiting('L1').pass(1900)), []);
    assert.deepEqual(launch(waiting('L1').pass(2100)), ['L1 late']);
  });

  it('L1 counts from the next try where the API server has refused one', () => {
    const body = JSON.stringify({ metadata: { name: 'a-pod' } });
    const refused = waiting('L1').request('create', 'pods', '', { code: 403, body });
    assert.deepEqual(launch(refused.pass(11 * second)), []);
    const late = waiting('L1').request('create', 'pods', '', { code: 403, body });
    assert.deepEqual(launch(late.pass(13 * second)), ['L1 late']);
  });

  it('L1 is not judged soon after a fault', () => {
    const made = waiting('L1').add({ ...started, time: begin + 11 * minute, replica: 'replica-1' });
    assert.deepEqual(launch(made.pass(5 * second)), []);
  });

  it('L7 is broken by a launch that is late beside an At that cannot run, and L1 is not', () => {
    const accepted = { type: 'Accepted', status: 'False', reason: 'InvalidCommand' };
    const poison = at('poison', 0, {}, { phase: 'PENDING', conditions: [accepted] });
    const late = (promise: string) =>
      launch(
        waiting(promise)
          .change('ats', poison, 'ADDED', 'alice')
          .pass(3 * second),
      );
    assert.deepEqual(late('L7'), ['L7 late']);
    assert.deepEqual(late('L1'), []);
  });
});

describe('L2 and R2, written in time', () => {
  const running = { phase: 'RUNNING', podUID: 'first' };
  const ended = (after: number) => {
    const made = waiting('L2');
    launch(made);
    made.change('ats', at('a', 11 * minute, {}, running), 'MODIFIED', 'replica-0').pass(minute);
    made.change('pods', atPod('a-pod', 'first', 'a', { phase: 'Succeeded' }), 'MODIFIED').pass(after);
    const done = { ...running, phase: 'DONE', outcome: 'Succeeded' };
    return made.change('ats', at('a', 11 * minute, {}, done), 'MODIFIED', 'replica-0').broken;
  };

  it('L2 is kept by DONE within two seconds after the end, and broken by a later one', () => {
    assert.deepEqual(ended(1900), []);
    assert.deepEqual(ended(2100), ['L2 late']);
  });

  it('R2 is kept by a reason within seven seconds, and broken by a later one', () => {
    const told = (after: number) => {
      const condition = { type: 'Launched', status: 'False', reason: 'PodNameConflict' };
      const status = { phase: 'PENDING', conditions: [condition] };
      const made = waiting('R2').pass(after);
      return made.change('ats', at('a', 11 * minute, {}, status), 'MODIFIED', 'replica-0').broken;
    };
    assert.deepEqual(told(6900), []);
    assert.deepEqual(told(7100), ['R2 told late']);
  });
});

const applied = { appliedHash: 'v1:one' };
const config = (message: string) => ({ metadata: { name: 'config' }, data: { message } });
const noCooldown = { cooldown: { base: '0s', max: '0s' } };

/** A watcher with its baseline, whose content changes. */
function edited(promise: string): HandMade {
  return atWork(promise)
    .change('configmaps', config('one'), 'ADDED', 'alice')
    .change('configwatchers', watcher('w', {}, noCooldown), 'ADDED', 'alice')
    .change('configwatchers', watcher('w', applied, noCooldown), 'MODIFIED', 'replica-0')
    .pass(10 * minute)
    .change('configmaps', config('two'), 'MODIFIED', 'alice');
}

describe('L3, a restart begins in time', () => {
  const pending = { hash: 'v1:two', cutoff: new Date(begin).toISOString(), reason: 'Debounce' };
  const begun = (after: number) => {
    const made = edited('L3').pass(after);
    const status = {
      ...applied,
      pending: { ...pending, started: new Date(made.time).toISOString() },
    };
    return made.change('configwatchers', watcher('w', status, noCooldown), 'MODIFIED', 'replica-0').broken;
  };

  it('is kept within two seconds after the debounce and the second of the cutoff, and broken after that', () => {
    assert.deepEqual(begun(4900), []);
    assert.deepEqual(begun(5100), ['L3 late']);
  });

  it('waits for a source that was missing, also where its appearance is no change', () => {
    const spec = { ...noCooldown, sources: [{ kind: 'ConfigMap', name: 'extra' }] };
    const made = atWork('L3').change('configmaps', config('one'), 'ADDED', 'alice');
    made.change('configwatchers', watcher('w', {}, spec), 'ADDED', 'alice');
    made.change('configwatchers', watcher('w', applied, spec), 'MODIFIED', 'replica-0').pass(10 * minute);
    made.change('configmaps', config('two'), 'MODIFIED', 'alice').pass(minute);
    made.change('configmaps', { metadata: { name: 'extra' } }, 'ADDED', 'alice').pass(second);
    const status = { ...applied, pending: { ...pending, started: new Date(made.time).toISOString() } };
    made.change('configwatchers', watcher('w', status, spec), 'MODIFIED', 'replica-0');
    assert.deepEqual(made.broken, []);
  });

  it('counts from the edit, and not from the end of an optional source, unless the spec says so', () => {
    const extra = { metadata: { name: 'extra' } };
    const found = (onDelete: 'Ignore' | 'Restart') => {
      const sources = [{ kind: 'ConfigMap', name: 'extra', optional: true }];
      const spec = { ...noCooldown, sources, onDelete };
      const made = atWork('L3').change('configmaps', config('one'), 'ADDED', 'alice');
      made.change('configmaps', extra, 'ADDED', 'alice');
      made.change('configwatchers', watcher('w', {}, spec), 'ADDED', 'alice');
      made.change('configwatchers', watcher('w', applied, spec), 'MODIFIED', 'replica-0').pass(10 * minute);
      made.change('configmaps', extra, 'DELETED', 'alice').pass(minute);
      made.change('configmaps', config('two'), 'MODIFIED', 'alice').pass(second);
      const status = { ...applied, pending: { ...pending, started: new Date(made.time).toISOString() } };
      return made.change('configwatchers', watcher('w', status, spec), 'MODIFIED', 'replica-0').broken;
    };
    assert.deepEqual([found('Ignore'), found('Restart')], [[], ['L3 late']]);
  });

  it('counts no change that was applied at once, because no Pod matched', () => {
    const made = edited('L3').pass(10);
    const two = { appliedHash: 'v1:two' };
    made.change('configwatchers', watcher('w', two, noCooldown), 'MODIFIED', 'replica-0').pass(minute);
    made.change('configmaps', config('three'), 'MODIFIED', 'alice').pass(second);
    const status = { ...two, pending: { ...pending, started: new Date(made.time).toISOString() } };
    made.change('configwatchers', watcher('w', status, noCooldown), 'MODIFIED', 'replica-0');
    assert.deepEqual(made.broken, []);
  });

  it('is broken by a change that waits on after its debounce', () => {
    const made = edited('L3').pass(100);
    made.change('configwatchers', watcher('w', { ...applied, pending }, noCooldown), 'MODIFIED', 'replica-0');
    assert.deepEqual(made.calm(20 * minute).broken, ['L3']);
  });
});

describe('L6, nothing runs on', () => {
  const done = { phase: 'DONE', outcome: 'Canceled', completionTime: new Date(begin).toISOString() };
  const surplus = (annotations = {}) => {
    const pod = atPod('a-pod', 'first', 'a', { phase: 'Running' });
    return new HandMade(['L6'])
      .add(started)
      .change('ats', at('a', 0, {}, done), 'ADDED', 'alice')
      .change('pods', atPod('a-pod', 'first', 'a'), 'ADDED', 'replica-0')
      .change('pods', { ...pod, metadata: { ...pod.metadata, annotations } }, 'MODIFIED');
  };
  const stop = { 'cnat.programming-kubernetes.info/stop-reason': 'Canceled' };

  it('is broken by a Pod that has not been asked to stop for half a minute', () => {
    assert.deepEqual(surplus().calm(29 * second).broken, []);
    assert.deepEqual(surplus().calm(31 * second).broken, ['L6']);
  });

  it('leaves two minutes to one that is asked to stop', () => {
    assert.deepEqual(surplus(stop).calm(100 * second).broken, []);
    assert.deepEqual(surplus(stop).calm(130 * second).broken, ['L6']);
  });
});

describe('R3, no more is taken away than works without it', () => {
  const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
  const replicaSet = {
    metadata: { name: 'web', uid: 'web-rs' },
    spec: { replicas: 4 },
  };
  const made = (readyPods: number, maxUnavailable: number) => {
    const history = atWork('R3')
      .change('replicasets', replicaSet)
      .change(
        'configwatchers',
        watcher('w', {}, { strategy: { type: 'Evict', maxUnavailable } }),
        'ADDED',
        'alice',
      );
    for (let index = 0; index < 4; index++) {
      history.change('pods', { ...webPod(`web-${index}`), status: index < readyPods ? ready : {} });
    }
    return history.pass(10 * minute);
  };
  const evict = (history: HandMade, name: string) =>
    history.request('create', 'pods', name, { subresource: 'eviction', code: 201 }).broken;

  it('is kept by as many as maxUnavailable says, and broken by one more', () => {
    assert.deepEqual(evict(made(4, 1), 'web-0'), []);
    assert.deepEqual(evict(made(3, 1), 'web-0'), ['R3 room']);
    assert.deepEqual(evict(made(3, 2), 'web-0'), []);
  });

  it('does not count a Pod that is not Ready', () => {
    assert.deepEqual(evict(made(3, 1), 'web-3'), []);
  });
});

describe('L4, some replica leads', () => {
  it('is broken by a Lease that is not renewed', () => {
    const made = new HandMade(['L4']).add(started).request('update', 'leases', 'atwatch', { body: '{}' });
    assert.deepEqual(made.calm(10 * second).broken, []);
    assert.deepEqual(made.calm(1000 * second).broken, ['L4']);
  });
});
