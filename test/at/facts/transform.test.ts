import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { transformAt, transformPod } from '../../../src/at/facts/transform.ts';
import type { PodStatus } from '../../../src/kubernetes/objects.ts';
import {
  crashLooping,
  created,
  decideInParts as decide,
  dueTime,
  evicted,
  exited,
  failed,
  launched,
  observing,
  ownedBy,
  second,
  started,
  succeeded,
  terminating,
  withPodStatus,
} from '../../fixtures/at.ts';

describe('transformed objects', () => {
  const at = launched({ activeDeadlineSeconds: 30, backoffLimit: 1 });
  const pods = {
    created: created(at),
    started: started(created(at)),
    succeeded: succeeded(created(at)),
    failed: failed(created(at), 3, 'why'),
    evicted: evicted(created(at)),
    crashLooping: crashLooping(created(at), 5),
    terminating: terminating(started(created(at)), dueTime),
    foreign: ownedBy(created(at), 'other'),
    unscheduled: withPodStatus(created(at), {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no node' }],
    } as unknown as PodStatus),
  };
  for (const [name, pod] of Object.entries(pods)) {
    for (const now of [dueTime + second, dueTime + 1000 * second]) {
      it(`lead to the same decision: ${name} at ${now - dueTime} ms`, () => {
        const whole = decide(observing({ at, pod, now }));
        assert.deepEqual(decide(observing({ at: transformAt(at), pod: transformPod(pod), now })), whole);
      });
    }
  }

  it('tell when the spec was edited last, by whomever', () => {
    const edit = (time: string, fields: string, subresource?: string) => ({
      ...{ manager: time, operation: 'Update', time, fieldsV1: { [fields]: {} } },
      ...(subresource && { subresource }),
    });
    const managedFields = [
      edit('2019-04-12T10:00:01Z', 'f:spec'),
      edit('2019-04-12T10:00:03Z', 'f:spec'),
      edit('2019-04-12T10:00:02Z', 'f:spec'),
      edit('2019-04-12T10:00:04Z', 'f:metadata'),
      edit('2019-04-12T10:00:05Z', 'f:status', 'status'),
    ];
    const editedAt = (generation: number, fields: typeof managedFields) =>
      transformAt({ ...at, metadata: { ...at.metadata, generation, managedFields: fields } }).editedAt;
    assert.equal(editedAt(2, managedFields), Date.parse('2019-04-12T10:00:03Z'));
    assert.equal(editedAt(1, managedFields), undefined, 'its creation is no edit');
    assert.equal(editedAt(2, managedFields.slice(3)), undefined);
  });

  it('lead to the same next attempt', () => {
    const retried = launched({
      disruptionPolicy: 'Retry',
      command: 'a b',
      template: { spec: { hostname: 'x' } },
    });
    const after = { now: dueTime + second, live: true };
    const whole = decide(observing({ at: retried, ...after }));
    assert.deepEqual(
      whole.actions.map(({ type }) => type),
      ['CreatePod'],
    );
    assert.deepEqual(decide(observing({ at: transformAt(retried), ...after })), whole);
  });

  it('keep nothing of what to run once that is over', () => {
    const env = [{ name: 'X', value: 'x'.repeat(1_000_000) }];
    const template = { spec: { containers: [{ env }] } };
    for (const large of [
      launched({ template }),
      { ...at, spec: { ...at.spec, template }, status: { phase: 'DONE' } },
    ]) {
      assert.ok(JSON.stringify(transformAt(large as typeof at)).length < 5000);
    }
  });

  it('share what many Ats say alike, and nothing else', () => {
    const parsed = () => transformAt(structuredClone(at));
    const [one, other] = [parsed(), parsed()];
    assert.deepEqual(one.status, at.status);
    assert.equal(one.spec, other.spec);
    assert.equal(one.status, other.status);
    const later = structuredClone({ ...at, status: { ...at.status, observedGeneration: 7 } });
    assert.equal(transformAt(later).status?.conditions, one.status?.conditions);
    assert.equal(transformAt(later).status?.observedGeneration, 7);
    const edited = structuredClone(at);
    const ofOther = { ...edited, status: { ...edited.status, conditions: [] } };
    assert.deepEqual(transformAt(ofOther).status?.conditions, []);
  });

  it('share nothing that is too long to be said by many', () => {
    const long = at.status?.conditions?.map((one) => ({ ...one, message: 'x'.repeat(2000) })) ?? [];
    const parsed = () => transformAt(structuredClone({ ...at, status: { ...at.status, conditions: long } }));
    const [one, other] = [parsed().status?.conditions, parsed().status?.conditions];
    assert.deepEqual(one, long);
    assert.notEqual(one, other);
  });

  it('drop what is of another type, and keep the rest', () => {
    const strange = {
      ...at,
      spec: 'x',
      status: { ...at.status, phase: 'FOO', conditions: [null], attempts: '2', note: 1 },
    } as unknown as typeof at;
    const { phase: _, conditions: __, attempts: ___, ...rest } = at.status ?? {};
    assert.deepEqual(transformAt(strange).status, { ...rest, conditions: [] });
    for (const spec of [undefined, null, 'x', 5, []]) {
      assert.deepEqual(transformAt({ ...at, spec } as unknown as typeof at).spec, {});
    }
    for (const status of [null, 'x', 5, []]) {
      assert.equal('status' in transformAt({ ...at, status } as unknown as typeof at), false);
    }
  });

  it('keep the name and the status of the main container, and whether others fail and when', () => {
    const pod = succeeded(created(at));
    const proxy = { name: 'proxy', restartCount: 3, state: exited(7, 'x'.repeat(4096)) };
    const small = transformPod({
      ...pod,
      spec: { ...pod.spec, containers: [{ name: 'proxy' }, ...pod.spec.containers] },
      status: { ...pod.status, containerStatuses: [proxy, ...(pod.status?.containerStatuses ?? [])] },
    });
    const [helper, ...main] = small.status?.containerStatuses ?? [];
    assert.deepEqual(main, transformPod(pod).status?.containerStatuses);
    const finishedAt = proxy.state.terminated?.finishedAt;
    assert.deepEqual(helper, {
      ...{ name: 'proxy', restartCount: 3, state: { terminated: { exitCode: 7, finishedAt } } },
    });
    assert.deepEqual(small.spec.containers, [{ name: 'busybox' }]);
    assert.deepEqual(transformPod(small), small);
  });

  it('survive a Pod of any shape', () => {
    const bare = { metadata: { name: 'x' }, spec: { containers: [] } };
    assert.equal(transformPod(bare).metadata.name, 'x');
  });
});
