/** The promise that a new content is tried with one owner first. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { begin, HandMade, second, watcher } from '../hand-made.ts';

const time = (ms: number) => new Date(begin + ms).toISOString();
const edited = 600 * second;
const restarting = {
  appliedHash: 'v1:one',
  pending: { hash: 'v1:two', since: time(edited), started: time(edited), cutoff: time(edited - second) },
  lastRestart: { id: 'one' },
};

function set(name: string) {
  return { metadata: { name, uid: `${name}-uid` }, spec: { replicas: name === 'one' ? 3 : 2 } };
}

function podOf(owner: string, index: number, state: 'ready' | 'crashes' | 'starts', made = 0) {
  const ownerReferences = [
    { apiVersion: 'apps/v1', kind: 'StatefulSet', name: owner, uid: `${owner}-uid`, controller: true },
  ];
  return {
    metadata: {
      ...{ name: `${owner}-${index}`, uid: `${owner}-${index}-${made}`, labels: { app: 'web' } },
      ...{ creationTimestamp: time(made), ownerReferences },
    },
    spec: { containers: [{ name: 'main' }] },
    status: {
      conditions: [{ type: 'Ready', status: state === 'ready' ? 'True' : 'False' }],
      containerStatuses: [{ name: 'main', restartCount: state === 'crashes' ? 2 : 0 }],
    },
  };
}

interface Case {
  /** The third Pod of the first owner, before the restart and after it. */
  readonly third?: readonly ['ready' | 'crashes', 'ready' | 'crashes'];
  /** The Pod that takes the place of the one that the restart has taken. */
  readonly next: 'ready' | 'crashes' | 'starts';
  /** The annotation of the watcher in a new template of the second owner; absent where a Pod of it is evicted. */
  readonly template?: string | null;
}

/** Whether the promise is broken where a restart takes a Pod of one owner, and then one of another. */
function isBroken({ third = ['ready', 'ready'], next, template }: Case) {
  const made = new HandMade(['R3']);
  for (const owner of ['one', 'two']) made.change('statefulsets', set(owner), 'ADDED', 'alice');
  for (const name of ['one', 'two']) {
    for (const index of [0, 1]) made.change('pods', podOf(name, index, 'ready'));
  }
  made.change('pods', podOf('one', 2, third[0]));
  made.change('configwatchers', watcher('w'), 'ADDED', 'alice').pass(edited);
  made.change('configwatchers', watcher('w', restarting), 'MODIFIED', 'replica-0').pass(second);
  const evict = (name: string) =>
    made.request('create', 'pods', name, { subresource: 'eviction', code: 201 });
  evict('one-1').change('pods', podOf('one', 1, 'ready'), 'DELETED');
  made.change('pods', podOf('one', 2, third[1]), 'MODIFIED').pass(5 * second);
  made.change('pods', podOf('one', 1, next, edited + 5 * second)).pass(second);
  if (template === undefined) return evict('two-1').broken.includes('R3 canary');
  const annotations = { 'k8spatterns.io/restarted-for.w': template };
  const body = JSON.stringify({ spec: { template: { metadata: { annotations } } } });
  return made.request('patch', 'statefulsets', 'two', { body }).broken.includes('R3 canary');
}

describe('R3, one owner first', () => {
  it('is broken by a second owner before a new Pod of the first one is Ready, and kept after that', () => {
    assert.equal(isBroken({ next: 'starts' }), true);
    assert.equal(isBroken({ next: 'crashes' }), true);
    assert.equal(isBroken({ next: 'ready' }), false);
  });

  it('is broken by a new template of a second owner, and kept by one that is set back', () => {
    assert.equal(isBroken({ next: 'starts', template: 'one' }), true);
    assert.equal(isBroken({ next: 'starts', template: null }), false);
    assert.equal(isBroken({ next: 'starts', template: 'earlier' }), false);
  });

  it('waits for no owner whose template a user has taken back, nor for one that is deleted', () => {
    const workload = (name: string, value?: string) => {
      const annotations = value === undefined ? {} : { 'k8spatterns.io/restarted-for.w': value };
      const { spec, ...rest } = set(name);
      return {
        ...rest,
        spec: { ...spec, template: { metadata: { annotations }, spec: { containers: [] } } },
      };
    };
    const isBrokenAfter = (by: string, what: 'MODIFIED' | 'DELETED' = 'MODIFIED') => {
      const made = new HandMade(['R3']);
      for (const name of ['one', 'two']) {
        made.change('statefulsets', workload(name), 'ADDED', 'alice').change('pods', podOf(name, 0, 'ready'));
      }
      made.change('configwatchers', watcher('w', restarting), 'ADDED', 'alice').pass(edited);
      const change = (name: string) => {
        const { spec } = workload(name, 'one');
        return made.request('patch', 'statefulsets', name, { body: JSON.stringify({ spec }) });
      };
      change('one').change('statefulsets', workload('one', 'one'), 'MODIFIED', 'replica-0').pass(second);
      made.change('statefulsets', workload('one'), what, by).pass(second);
      return change('two').broken.includes('R3 canary');
    };
    assert.equal(isBrokenAfter('alice'), false);
    assert.equal(isBrokenAfter('alice', 'DELETED'), false);
    assert.equal(isBrokenAfter('replica-0'), true);
  });

  it('is kept where Pods of the first one were down before, and as many are now that do not start', () => {
    assert.equal(isBroken({ third: ['crashes', 'ready'], next: 'crashes' }), false);
    assert.equal(isBroken({ third: ['crashes', 'ready'], next: 'starts' }), true);
    assert.equal(isBroken({ third: ['crashes', 'crashes'], next: 'crashes' }), true);
  });
});

describe('R3, rollouts that check readiness', () => {
  /** Whether it is broken by a new template of such a StatefulSet. */
  function isBrokenBy(spec: object, strategy: object = {}): boolean {
    const made = new HandMade(['R3']);
    const { spec: own, ...rest } = set('one');
    made.change('statefulsets', { ...rest, spec: { ...own, ...spec } }, 'ADDED', 'alice');
    for (const index of [0, 1]) made.change('pods', podOf('one', index, 'ready'));
    made.change('configwatchers', watcher('w', restarting, { strategy }), 'ADDED', 'alice').pass(edited);
    const annotations = { 'k8spatterns.io/restarted-for.w': 'one' };
    const body = JSON.stringify({ spec: { template: { metadata: { annotations } } } });
    return made.request('patch', 'statefulsets', 'one', { body }).broken.includes('R3 unchecked rollout');
  }
  const template = (container: object) => ({ template: { spec: { containers: [container] } } });

  it('is broken by one of several Pods without a probe, unless the strategy asks for it', () => {
    const unprobed = template({ name: 'main' });
    assert.equal(isBrokenBy(unprobed), true);
    assert.equal(isBrokenBy(unprobed, { type: 'RolloutRestart' }), false);
    assert.equal(isBrokenBy({ ...unprobed, replicas: 1 }), false);
    assert.deepEqual(
      [1, 10].map((minReadySeconds) => isBrokenBy({ ...unprobed, minReadySeconds })),
      [true, false],
    );
    const probed = { name: 'main', readinessProbe: {} };
    assert.equal(isBrokenBy(template(probed)), false);
    assert.equal(isBrokenBy({ template: { spec: { containers: [probed, { name: 'helper' }] } } }), true);
  });
});

describe('R3, a content that breaks Pods', () => {
  const owners = [{ name: 'StatefulSet/one', restarted: 1, available: 2, reason: 'NewPodsNotAvailable' }];
  const conditions = [{ type: 'Stalled', status: 'True', reason: 'NewPodsNotAvailable' }];
  const told = { ...restarting, conditions, lastRestart: { id: 'one', owners } };

  /** Whether it is broken by an eviction, after the broken Pod was deleted and this was done. */
  function isBrokenAfter(act: (made: HandMade) => void, by = 'replica-0'): boolean {
    const made = new HandMade(['R3']);
    for (const owner of ['one', 'two']) made.change('statefulsets', set(owner), 'ADDED', 'alice');
    for (const name of ['one', 'two']) {
      for (const index of [0, 1]) made.change('pods', podOf(name, index, 'ready'));
    }
    const crashing = podOf('one', 2, 'crashes', edited + 5 * second);
    made.change('configwatchers', watcher('w', restarting), 'ADDED', 'alice').pass(edited + 5 * second);
    made.change('pods', crashing).change('configwatchers', watcher('w', told), 'MODIFIED', by).pass(second);
    made.change('pods', crashing, 'DELETED').pass(second);
    act(made);
    made.request('create', 'pods', 'two-1', { subresource: 'eviction', code: 201 });
    return made.broken.includes('R3 broken content');
  }

  it('is broken by a further eviction, also where the broken Pod is gone and status says it no more', () => {
    assert.equal(
      isBrokenAfter(() => {}),
      true,
    );
    const forgets = (made: HandMade) =>
      made.change('configwatchers', watcher('w', restarting), 'MODIFIED', 'replica-0').pass(second);
    assert.equal(isBrokenAfter(forgets), true);
  });

  it('is kept after another content, and after a new Pod of that owner that is Ready', () => {
    const another = { ...restarting, lastRestart: { id: 'two' } };
    const replaced = (made: HandMade) =>
      made.change('configwatchers', watcher('w', another), 'MODIFIED', 'replica-0').pass(second);
    assert.equal(isBrokenAfter(replaced), false);
    const works = (made: HandMade) =>
      made.change('pods', podOf('one', 2, 'ready', edited + 9 * second)).pass(second);
    assert.equal(isBrokenAfter(works), false);
  });

  it('is kept after an edit of the selector that leaves that owner out, and broken where it matches some of its Pods', () => {
    const select = (name: string) => (made: HandMade) => {
      for (const index of [0, 1]) {
        const { metadata, ...rest } = podOf(name, index, 'ready');
        const labels = { app: 'web', part: 'mine' };
        made.change('pods', { ...rest, metadata: { ...metadata, labels } }, 'MODIFIED');
      }
      for (const [writer, status] of [
        ['alice', told],
        ['replica-0', restarting],
      ] as const) {
        const edit = watcher('w', status, { podSelector: { app: 'web', part: 'mine' } });
        const object = { ...edit, metadata: { ...edit.metadata, generation: 2 } };
        made.change('configwatchers', object, 'MODIFIED', writer).pass(second);
      }
    };
    assert.equal(isBrokenAfter(select('two')), false);
    const both = (made: HandMade) => {
      for (const name of ['one', 'two']) select(name)(made);
    };
    assert.equal(isBrokenAfter(both), true);
  });
});
