import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { at, atPod, begin, HandMade, second, watcher, webPod } from '../hand-made.ts';

const config = (message: string, labels = {}) => ({
  metadata: { name: 'config', labels },
  data: { message },
});
const applied = { appliedHash: 'v1:one' };
const pendingAt = (ms: number) => ({
  ...applied,
  pending: { hash: `v1:${ms}`, cutoff: new Date(begin + ms).toISOString(), reason: 'Debounce' },
});

/** A watcher with its baseline, and a Pod that it selects. */
function watched(...promises: string[]): HandMade {
  return new HandMade(promises)
    .change('configmaps', config('one'), 'ADDED', 'alice')
    .change('pods', webPod('old'))
    .change('configwatchers', watcher('w'), 'ADDED', 'alice')
    .change('configwatchers', watcher('w', applied), 'MODIFIED', 'replica-0')
    .pass(600 * second);
}

/** The content changes, and the operator records it. */
function edited(...promises: string[]): HandMade {
  const made = watched(...promises)
    .change('configmaps', config('two'), 'MODIFIED', 'alice')
    .pass(100);
  return made
    .change('configwatchers', watcher('w', pendingAt(600_000)), 'MODIFIED', 'replica-0')
    .pass(5 * second);
}

const eviction = { subresource: 'eviction', code: 201 };

describe('S4, only own Pods', () => {
  it('is broken by a patch of a Pod of another owner, and by its adoption', () => {
    const made = new HandMade(['S4']).change('pods', webPod('web-1')).request('patch', 'pods', 'web-1');
    assert.deepEqual(made.broken, ['S4']);
    const other = new HandMade(['S4'])
      .change('ats', at('a'), 'ADDED', 'alice')
      .change('pods', webPod('a-pod'));
    const taken = at('a', 0, {}, { phase: 'RUNNING', podUID: 'a-pod-uid' });
    assert.deepEqual(other.change('ats', taken, 'MODIFIED', 'replica-0').broken, ['S4 adopted']);
  });
  it('is kept by a patch of the Pod of an At', () => {
    const made = new HandMade(['S4']).change('ats', at('a'), 'ADDED', 'alice');
    made.change('pods', atPod('a-pod', 'first', 'a'), 'ADDED', 'replica-0').request('patch', 'pods', 'a-pod');
    assert.deepEqual(made.broken, []);
  });
});

describe('S7, once per change', () => {
  it('is kept by the eviction of a Pod from before the change', () => {
    assert.deepEqual(edited('S7').request('create', 'pods', 'old', eviction).broken, []);
  });
  it('is broken by an eviction without a change, and by that of a fresh Pod', () => {
    assert.deepEqual(watched('S7').request('create', 'pods', 'old', eviction).broken, ['S7 no change']);
    const made = edited('S7').change('pods', webPod('new')).request('create', 'pods', 'new', eviction);
    assert.deepEqual(made.broken, ['S7 fresh']);
  });
  it('is kept by a change of a template where the selector was edited on its way, and broken long after', () => {
    const stateful = {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      name: 'web',
      uid: 'web-uid',
      controller: true,
    };
    const pod = {
      ...webPod('web-0'),
      metadata: { ...webPod('web-0').metadata, ownerReferences: [stateful] },
    };
    const annotations = { 'k8spatterns.io/restarted-for.w': 'one' };
    const brokenAfter = (ms: number) => {
      const made = watched('S7').change('statefulsets', { metadata: { name: 'web' } }, 'ADDED', 'alice');
      made.change('pods', pod).change('configmaps', config('two'), 'MODIFIED', 'alice').pass(second);
      const pending = pendingAt(602_000);
      made.change('configwatchers', watcher('w', pending), 'MODIFIED', 'replica-0').pass(5 * second);
      const moved = watcher('w', pending, { podSelector: { app: 'other' } });
      const metadata = { name: 'w', generation: 2 };
      made.change('configwatchers', { ...moved, metadata }, 'MODIFIED', 'alice').pass(ms);
      const spec = { template: { metadata: { annotations } } };
      return made.change('statefulsets', { metadata: { name: 'web' }, spec }, 'MODIFIED', 'replica-0').broken;
    };
    assert.deepEqual(brokenAfter(10 * second), []);
    assert.deepEqual(brokenAfter(110 * second), ['S7 rollout for nothing']);
  });
  it('is broken by a second change of a template, and kept where nothing has told the process of the first', () => {
    const workload = (value?: string) => {
      const annotations = value === undefined ? {} : { 'k8spatterns.io/restarted-for.w': value };
      return { metadata: { name: 'web', uid: 'web-uid' }, spec: { template: { metadata: { annotations } } } };
    };
    const broken = (isRestarted: boolean, isTold: boolean) => {
      const stateful = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 'web-uid' };
      const { metadata, ...rest } = webPod('web-0');
      const pod = {
        ...rest,
        metadata: { ...metadata, ownerReferences: [{ ...stateful, controller: true }] },
      };
      const made = watched('S7').change('statefulsets', workload(), 'ADDED', 'alice').change('pods', pod);
      made.change('configmaps', config('two'), 'MODIFIED', 'alice').pass(second);
      made
        .change('configwatchers', watcher('w', pendingAt(602_000)), 'MODIFIED', 'replica-0')
        .pass(5 * second);
      made.change('statefulsets', workload('one'), 'MODIFIED', 'replica-0').pass(second);
      made.show('replica-0', 'statefulsets', 'web');
      const owners = [{ uid: 'web-uid', wanted: 1, available: 1, templateChanged: isTold }];
      const seen = watcher('w', { pending: { ...pendingAt(602_000).pending, owners } });
      made.change('configwatchers', seen, 'MODIFIED', 'replica-0').pass(second);
      made.change('statefulsets', workload(), 'MODIFIED', 'alice').pass(second);
      const started = { type: 'replica', time: made.time, replica: 'replica-0', state: 'started' } as const;
      if (isRestarted) made.add(started);
      return made.change('statefulsets', workload('one'), 'MODIFIED', 'replica-0').broken;
    };
    const twice = ['S7 rollout twice'];
    assert.deepEqual([broken(false, false), broken(true, true), broken(true, false)], [twice, twice, []]);
  });
  it('is broken by a start before the debounce is over', () => {
    const started = { ...pendingAt(600_000).pending, started: new Date(begin + 601_000).toISOString() };
    const made = watched('S7').change('configmaps', config('two'), 'MODIFIED', 'alice').pass(700);
    made.change('configwatchers', watcher('w', { ...applied, pending: started }), 'MODIFIED', 'replica-0');
    assert.deepEqual(made.broken, ['S7 too soon']);
  });
  it('is kept by a start right after a source was made again as it was', () => {
    const started = { ...pendingAt(600_000).pending, started: new Date(begin + 604_000).toISOString() };
    const made = watched('S7').change('configmaps', config('two'), 'MODIFIED', 'alice').pass(2500);
    made.change('configmaps', config('two'), 'DELETED', 'alice').pass(100);
    made.change('configmaps', config('two'), 'ADDED', 'alice').pass(700);
    made.change('configwatchers', watcher('w', { ...applied, pending: started }), 'MODIFIED', 'replica-0');
    assert.deepEqual(made.broken, []);
  });
});

describe('S8 and S9, nothing without a reason', () => {
  const raise = (made: HandMade) =>
    made.change('configwatchers', watcher('w', pendingAt(700_000)), 'MODIFIED', 'replica-0').broken;
  it('are kept by a change of the content', () => {
    assert.deepEqual(edited('S8', 'S9').broken, []);
  });
  it('S8 is broken by an edit of metadata', () => {
    assert.deepEqual(
      raise(watched('S8', 'S9').change('configmaps', config('one', { a: 'b' }), 'MODIFIED', 'alice')),
      ['S8'],
    );
  });
  it('S8 is kept by a record of what counts by the keys of before while these may be unknown, and broken later', () => {
    const raisedAfter = (ms: number) => {
      const { spec } = watcher('w', {}, { keys: ['other'] });
      const metadata = { name: 'w', generation: 2 };
      const made = watched('S8', 'S9');
      made.change('configwatchers', { metadata, spec, status: applied }, 'MODIFIED', 'alice').pass(ms);
      made.change('configmaps', config('two'), 'MODIFIED', 'alice');
      const status = pendingAt(700_000);
      return made.change('configwatchers', { metadata, spec, status }, 'MODIFIED', 'replica-0').broken;
    };
    assert.deepEqual(raisedAfter(20 * second), []);
    assert.deepEqual(raisedAfter(110 * second), ['S8']);
  });
  it('S9 is broken by a restart for nothing at all, and by a second one for one change', () => {
    assert.deepEqual(raise(watched('S8', 'S9')), ['S9']);
    const made = edited('S8', 'S9').change('configwatchers', watcher('w', applied), 'MODIFIED', 'replica-0');
    assert.deepEqual(raise(made.pass(600 * second)), ['S9']);
  });
  it('S9 is kept by one more record after other keys of a source whose change is owed, and broken by two', () => {
    const sources = [{ kind: 'ConfigMap', name: 'config', pendingHash: 'v1:two' }];
    const owed = { ...pendingAt(600_000), sources };
    const made = edited('S9').change('configwatchers', watcher('w', owed), 'MODIFIED', 'replica-0');
    const { spec } = watcher('w', {}, { keys: ['message'] });
    const rekeyed = { metadata: { name: 'w', generation: 2 }, spec };
    made.pass(600 * second).change('configwatchers', { ...rekeyed, status: owed }, 'MODIFIED', 'alice');
    const record = (lastChangeTime: string) => {
      const status = { ...owed, lastChangeTime };
      return made.change('configwatchers', { ...rekeyed, status }, 'MODIFIED', 'replica-0').broken;
    };
    assert.deepEqual(record('2030-01-31T09:20:00Z'), []);
    assert.deepEqual(record('2030-01-31T09:20:01Z'), ['S9']);
  });
});

describe('S10 and S15, which Pods go and how', () => {
  it('S10 is broken by a Pod that no selector matches', () => {
    const made = watched('S10').change('pods', webPod('other', { app: 'other' }));
    assert.deepEqual(made.request('create', 'pods', 'other', eviction).broken, ['S10']);
    assert.deepEqual(watched('S10').request('create', 'pods', 'old', eviction).broken, []);
  });
  it('S15 is broken by a delete under Evict, and kept under Delete', () => {
    assert.deepEqual(watched('S15').request('delete', 'pods', 'old').broken, ['S15']);
    const edited = {
      ...watcher('w', {}, { strategy: { type: 'Delete' } }),
      metadata: { name: 'w', generation: 2 },
    };
    const made = watched('S15').change('configwatchers', edited, 'MODIFIED', 'alice');
    assert.deepEqual(made.request('delete', 'pods', 'old').broken, []);
  });
});

describe('R3, what an edited selector leaves out is told', () => {
  const source = { kind: 'ConfigMap', name: 'config', hash: 'v1:one' };
  const broken = (status: object, ...selectors: object[]) => {
    const made = watched('R3').change('pods', webPod('left', { app: 'web', track: 'old' }));
    made.change('pods', webPod('other', { app: 'db' }));
    const pending = { ...pendingAt(600_000), sources: [{ ...source, pendingHash: 'v1:two' }] };
    made.change('configwatchers', watcher('w', pending), 'MODIFIED', 'replica-0').pass(second);
    let edited = watcher('w', pending);
    for (const [index, podSelector] of selectors.entries()) {
      const metadata = { name: 'w', generation: index + 2 };
      edited = { ...watcher('w', pending, { podSelector }), metadata };
      made.change('configwatchers', edited, 'MODIFIED', 'alice').pass(second);
    }
    const done = { ...edited, status };
    return made.change('configwatchers', done, 'MODIFIED', 'replica-0').broken;
  };
  const said = (reason: string, stalePods: number) => ({
    ...{ appliedHash: 'v1:two', stalePods },
    conditions: [{ type: 'Progressing', status: 'False', reason, message: '', lastTransitionTime: '' }],
  });
  it('is broken by a status that says nothing of it, and kept by one that does', () => {
    const narrow = { app: 'web', track: 'new' };
    assert.deepEqual(broken(said('UpToDate', 0), narrow), ['R3 left out']);
    assert.deepEqual(broken(said('RestartAbandoned', 0), narrow), ['R3 left out']);
    assert.deepEqual(broken(said('RestartAbandoned', 2), narrow), []);
    const narrower = { ...narrow, size: 'small' };
    assert.deepEqual(broken(said('UpToDate', 0), narrow, narrower), ['R3 left out']);
  });
  it('is kept where a later edit selects others, which may be those that were left out', () => {
    assert.deepEqual(broken(said('UpToDate', 0), { app: 'web', track: 'new' }, { app: 'db' }), []);
    assert.deepEqual(broken(said('UpToDate', 0), { app: 'db' }), ['R3 left out']);
  });
  it('is kept where nothing is left out, and where the change was taken back', () => {
    assert.deepEqual(broken(said('UpToDate', 0), { app: 'web' }), []);
    assert.deepEqual(broken({ ...said('UpToDate', 0), appliedHash: 'v1:one' }), []);
    const narrow = { app: 'web', track: 'new' };
    const more = { ...source, name: 'more' };
    const saidOf = (hash: string) => ({ ...said('UpToDate', 0), sources: [{ ...source, hash }, more] });
    assert.deepEqual(broken(saidOf('v1:one'), narrow), []);
    assert.deepEqual(broken(saidOf('v1:two'), narrow), ['R3 left out']);
  });
});

describe('R3, an applied content runs everywhere', () => {
  const started = { type: 'replica', time: begin, replica: 'replica-0', state: 'started' } as const;
  const start = (made: HandMade, pod: string, message: string) =>
    made.add({
      ...{
        type: 'container-start',
        time: made.time,
        namespace: 'shop',
        pod,
        podUid: `${pod}-uid`,
        container: 'main',
      },
      sources: [{ kind: 'ConfigMap', name: 'config', data: { message } }],
    });
  it('is broken by a Pod with an old content, and kept without one', () => {
    const made = start(watched('R3').add(started), 'old', 'one').change(
      'configmaps',
      config('two'),
      'MODIFIED',
      'alice',
    );
    assert.deepEqual(made.calm(1_000_000).broken, ['R3 old content']);
    const other = start(watched('R3').add(started), 'old', 'one').change(
      'configmaps',
      config('two'),
      'MODIFIED',
      'alice',
    );
    start(other.change('pods', webPod('old'), 'DELETED').change('pods', webPod('new')), 'new', 'two');
    assert.deepEqual(other.calm(1_000_000).broken, []);
  });
  it('is kept by a Pod that is selected only since a later edit of the selector', () => {
    const made = watched('R3')
      .add(started)
      .change('pods', webPod('late', { app: 'late' }));
    start(start(made, 'old', 'two'), 'late', 'one').change('configmaps', config('two'), 'MODIFIED', 'alice');
    const { spec } = watcher('w', {}, { podSelector: { app: 'late' } });
    const edited = { metadata: { name: 'w', generation: 2 }, spec, status: applied };
    made.pass(second).change('configwatchers', edited, 'MODIFIED', 'alice');
    assert.deepEqual(made.calm(1_000_000).broken, []);
  });
  it('is kept where the content between was seen by a process that was gone before it recorded anything', () => {
    const between = (code: number, end?: 'before' | 'after' | 'other') => {
      const made = watched('R3').add(started).pass(second);
      made.change('configmaps', config('two'), 'MODIFIED', 'alice').pass(second);
      start(made.change('pods', webPod('new')), 'new', 'two').pass(second);
      const killed = () => made.add({ ...started, time: made.time, state: 'killed' });
      if (end !== 'before') made.add({ ...look, time: made.time });
      if (end === 'before' || end === 'after') killed();
      const status = { subresource: 'status', code };
      if (end === 'other') made.request('update', 'configwatchers', 'w', { ...status, ...next });
      made.request('update', 'configwatchers', 'w', status).add({ ...started, ...next, time: made.time });
      made.pass(second);
      return made.change('configmaps', config('one'), 'MODIFIED', 'alice').calm(1_000_000).broken;
    };
    const next = { replica: 'replica-1' };
    const object = { kind: 'ConfigMap', metadata: { namespace: 'shop', name: 'config' } };
    const look = { type: 'seen', replica: 'replica-0', resource: 'configmaps', object, gone: false } as const;
    assert.deepEqual([between(200, 'before'), between(409, 'after'), between(200, 'other')], [[], [], []]);
    const broken = ['R3 started between'];
    assert.deepEqual([between(200), between(409), between(403)], [broken, broken, broken]);
    assert.deepEqual(between(200, 'after'), broken, 'it was recorded');
  });
  it('is kept by a Pod that is older than what the operator could record first', () => {
    const made = new HandMade(['R3'])
      .add(started)
      .change('configmaps', config('one'), 'ADDED', 'alice')
      .change('pods', webPod('old'));
    start(made, 'old', 'one').change('configwatchers', watcher('w'), 'ADDED', 'alice').pass(second);
    made.change('configmaps', config('two'), 'MODIFIED', 'alice').pass(second);
    const status = { appliedHash: 'v1:two', observedGeneration: 1 };
    made.change('configwatchers', watcher('w', status), 'MODIFIED', 'replica-0').pass(second);
    made.change(
      'configmaps',
      { ...config('two'), data: { message: 'two', other: 'x' } },
      'MODIFIED',
      'alice',
    );
    made.change('configmaps', config('two'), 'MODIFIED', 'alice');
    assert.deepEqual(made.calm(1_000_000).broken, []);
  });
});

describe('S11, only leaders write', () => {
  const held = { metadata: { name: 'atwatch' }, spec: { holderIdentity: 'replica-0_1' } };
  const lease = (made: HandMade, replica: string) =>
    made.request('update', 'leases', 'atwatch', {
      replica,
      body: JSON.stringify({ spec: { holderIdentity: `${replica}_1` } }),
    });
  const write = (made: HandMade, replica: string, sentAt = made.time) =>
    made.request('patch', 'ats', 'a', { replica, sentAt, subresource: 'status', body: '{}' });
  it('is kept by the holder, and by anybody without an election', () => {
    assert.deepEqual(write(lease(new HandMade(['S11']), 'replica-0'), 'replica-0').broken, []);
    assert.deepEqual(write(new HandMade(['S11']), 'replica-1').broken, []);
  });
  it('is broken by a standby, and by who has lost it', () => {
    assert.deepEqual(write(lease(new HandMade(['S11']), 'replica-0'), 'replica-1').broken, ['S11 standby']);
    const made = lease(lease(new HandMade(['S11']), 'replica-0').pass(second), 'replica-1').pass(second);
    assert.deepEqual(write(made, 'replica-0').broken, ['S11 lost lease']);
  });
  it('is kept for a moment after a user deleted the Lease, where the next leader had never seen it', () => {
    const robbed = (hasSeen: boolean) => {
      const made = lease(new HandMade(['S11']), 'replica-0').pass(second);
      if (hasSeen) made.request('get', 'leases', 'atwatch', { replica: 'replica-1' });
      made.pass(second).change('leases', held, 'DELETED', 'mallory').pass(second);
      return lease(made, 'replica-1').pass(second);
    };
    assert.deepEqual(write(robbed(false), 'replica-0').broken, []);
    assert.deepEqual(write(robbed(true), 'replica-0').broken, ['S11 lost lease']);
    assert.deepEqual(write(robbed(false).pass(10 * second), 'replica-0').broken, ['S11 lost lease']);
  });
  it('is kept as well where the answer that showed the Lease was lost on its way', () => {
    const made = lease(new HandMade(['S11']), 'replica-0').pass(second);
    const object = { ...held, metadata: { ...held.metadata, uid: 'lease-uid' } };
    const shown = { type: 'seen', time: made.time, resource: 'leases', object, gone: false } as const;
    made
      .add({ ...shown, replica: 'replica-2' })
      .request('get', 'leases', 'atwatch', { replica: 'replica-1' });
    made.change('leases', held, 'DELETED', 'mallory').pass(second);
    assert.deepEqual(write(lease(made, 'replica-1').pass(second), 'replica-0').broken, []);
  });
  it('counts as its leader only who has the answer', () => {
    const led = (hasAnswer: boolean) => {
      const made = lease(new HandMade(['S11']), 'replica-0').pass(second);
      const shown = { type: 'seen', time: made.time, resource: 'leases', gone: false } as const;
      const object = { metadata: { name: 'atwatch', uid: 'u' }, spec: { holderIdentity: 'replica-1_1' } };
      made.add({ ...shown, replica: 'replica-2', object });
      lease(made, 'replica-1');
      if (hasAnswer) made.add({ ...shown, replica: 'replica-1', object, isWritten: true });
      lease(made.pass(10 * second), 'replica-0').pass(second);
      return made.request('create', 'pods', 'a-pod', { replica: 'replica-1', body: '{}' }).broken;
    };
    assert.deepEqual([led(false), led(true)], [[], ['S11 lost lease']]);
  });
  it('is kept as well where the Lease was deleted twice', () => {
    const made = lease(new HandMade(['S11']), 'replica-2').pass(second);
    for (const next of ['replica-0', 'replica-1']) {
      lease(made.change('leases', held, 'DELETED', 'mallory').pass(second), next).pass(second);
    }
    assert.deepEqual(write(made, 'replica-0').broken, []);
  });
  it('is kept as well where the next leader has seen the Lease of the one before only', () => {
    const made = lease(new HandMade(['S11']), 'replica-2').pass(second);
    made.request('get', 'leases', 'atwatch', { replica: 'replica-1' });
    lease(made, 'replica-0').pass(second).change('leases', held, 'DELETED', 'mallory').pass(second);
    assert.deepEqual(write(lease(made, 'replica-1').pass(second), 'replica-0').broken, []);
  });
  it('is kept by a standby that launches an At, and by nothing else that it sends', () => {
    const sent = (verb: 'create' | 'patch' | 'delete', resource: string, value: unknown, subresource = '') =>
      lease(new HandMade(['S11']), 'replica-0').request(verb, resource, 'a', {
        replica: 'replica-1',
        subresource,
        body: JSON.stringify(value),
      }).broken;
    const test = { op: 'test', path: '/metadata/uid', value: 'u' };
    const gate = { op: 'remove', path: '/spec/schedulingGates/0' };
    const finalizer = { op: 'remove', path: '/metadata/finalizers/0' };
    assert.deepEqual(sent('create', 'pods', {}), []);
    assert.deepEqual(sent('create', 'localsubjectaccessreviews', {}), []);
    assert.deepEqual(sent('patch', 'ats', { status: { phase: 'RUNNING' } }, 'status'), []);
    assert.deepEqual(sent('patch', 'pods', [test, gate]), []);
    assert.deepEqual(sent('patch', 'ats', { status: { phase: 'DONE' } }, 'status'), ['S11 standby']);
    assert.deepEqual(sent('patch', 'ats', { status: { reason: 'PodRejected' } }, 'status'), ['S11 standby']);
    assert.deepEqual(sent('patch', 'pods', [test, finalizer]), ['S11 standby']);
    assert.deepEqual(sent('patch', 'pods', { spec: { activeDeadlineSeconds: 1 } }), ['S11 standby']);
    assert.deepEqual(sent('create', 'pods', {}, 'eviction'), ['S11 standby']);
    assert.deepEqual(sent('delete', 'pods', {}), ['S11 standby']);
    assert.deepEqual(sent('create', 'events', {}), ['S11 standby']);
  });
  it('is kept by what was sent before it was lost', () => {
    const made = lease(lease(new HandMade(['S11']), 'replica-0').pass(second), 'replica-1').pass(second);
    assert.deepEqual(write(made, 'replica-0', begin + 500).broken, []);
  });
});

describe('S12 to S14, how writes look', () => {
  const status = { subresource: 'status' };
  const body = (value: unknown) => JSON.stringify(value);
  const sent = (verb: 'patch' | 'delete' | 'update', value: unknown, rest = {}) =>
    new HandMade(['S12']).request(verb, 'ats', 'a', { body: body(value), ...rest }).broken.length;
  it('S12 is kept by versions, tests and UIDs', () => {
    assert.equal(sent('patch', { metadata: { resourceVersion: '7' } }, status), 0);
    assert.equal(sent('patch', [{ op: 'test', path: '/metadata/uid', value: 'x' }], status), 0);
    assert.equal(sent('delete', { preconditions: { uid: 'x' } }), 0);
    assert.equal(sent('update', { metadata: { resourceVersion: '7' } }, status), 0);
  });
  it('S12 is broken without them', () => {
    assert.equal(sent('patch', { metadata: { uid: 'x' } }, status), 1);
    assert.equal(sent('delete', {}), 1);
    assert.equal(sent('update', { metadata: {} }, status), 1);
  });
  it('S13 is broken by what is not granted', () => {
    assert.deepEqual(new HandMade(['S13']).request('get', 'pods', 'p').broken, []);
    assert.deepEqual(new HandMade(['S13']).request('list', 'nodes', '').broken, ['S13 list /nodes']);
  });
  it('S14 is broken by a value in a log or an Event, and kept by the command in its Pod', () => {
    const made = () => new HandMade(['S14'], ['s3cret']);
    const line = { type: 'log', time: begin, replica: 'replica-0', level: 'info', text: 'a s3cret' } as const;
    assert.deepEqual(made().add(line).broken, ['S14 log']);
    assert.deepEqual(made().add({ ...line, level: 'debug' }).broken, []);
    assert.deepEqual(made().request('create', 'events', '', { body: body('s3cret') }).broken, ['S14 events']);
    assert.deepEqual(made().request('create', 'pods', '', { body: body('s3cret') }).broken, []);
  });
});

describe('R4 and L5, how many requests', () => {
  it('R4 is broken by forty writes of one status in a second, and kept by ten', () => {
    const many = (count: number) => {
      const made = new HandMade(['R4']);
      for (let index = 0; index < count; index++) made.pass(25).request('patch', 'ats', 'a');
      return made.broken.length > 0;
    };
    assert.deepEqual([many(10), many(40)], [false, true]);
  });
  it('R4 is broken by seven hundred writes of one replica, also of two of its processes, and kept by three that share them', () => {
    const written = (replicas: readonly string[]) => {
      const made = new HandMade(['R4']);
      for (let index = 0; index < 700; index++) {
        const replica = replicas[index % replicas.length] ?? '';
        made.pass(10).request('create', 'pods', `pod-${index}`, { replica });
      }
      return made.broken.length > 0;
    };
    const sharing = ['replica-0#1', 'replica-1#1', 'replica-2#1'];
    assert.deepEqual([['replica-0#1'], ['replica-0#1', 'replica-0#2'], sharing].map(written), [
      true,
      true,
      false,
    ]);
  });
  it('R4 is broken where each of thirty refused Pods is tried again every five seconds, and kept by two tries a second', () => {
    const refusals = (delay: number) => {
      const made = new HandMade(['R4']);
      for (let index = 0; index < 150; index++) {
        const pod = JSON.stringify({ metadata: { name: `pod-${index % 30}` } });
        made.pass(delay).request('create', 'pods', '', { body: pod, code: 403 });
      }
      return made.broken.length > 0;
    };
    assert.deepEqual([refusals(5000 / 30), refusals(500)], [true, false]);
  });
  it('R4 is kept by looks at edits that a cache shows ten seconds later, and broken by those of the time after', () => {
    const burst = (delay: number) => {
      const made = new HandMade(['R4']).request('get', 'configmaps', 'web');
      for (let index = 0; index < 20; index++)
        made.change('configmaps', config(`${index}`), 'MODIFIED', 'alice');
      for (let wait = 0; wait < delay; wait += 11) made.pass(11 * second).request('get', 'configmaps', 'web');
      for (let index = 0; index < 60; index++) made.request('get', 'configmaps', 'web');
      return made.broken.length > 0;
    };
    assert.deepEqual([burst(11), burst(22)], [false, true]);
  });
  it('L5 is broken by a write long after everything', () => {
    const made = new HandMade(['L5']).change('ats', at('a'), 'ADDED', 'alice');
    assert.deepEqual(made.pass(60 * second).request('patch', 'ats', 'a').broken, []);
    assert.deepEqual(made.pass(3600 * second).request('patch', 'ats', 'a').broken, ['L5 ats']);
  });
});
