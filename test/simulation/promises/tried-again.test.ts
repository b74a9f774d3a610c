import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { begin, HandMade, second, watcher, webPod } from '../hand-made.ts';

const minute = 60 * second;
const started = { type: 'replica', time: begin, replica: 'replica-0', state: 'started' } as const;
const stuck = { appliedHash: 'v1:one', stalePods: 1, pending: { hash: 'v1:two', reason: 'Stalled' } };
const readiness = (status: string) => ({ conditions: [{ type: 'Ready', status }] });
const template = { metadata: { labels: { app: 'web' } }, spec: {} };

type Fields = Readonly<Record<string, unknown>>;

interface Given {
  readonly status?: Fields;
  readonly spec?: Fields;
  readonly workload?: Fields;
  readonly isReady?: string;
  /** When a container of its Pod was restarted, ms from the begin. */
  readonly restartedAt?: number;
}

/** A restart that has begun, and a Deployment all of whose Pods serve, unless it is said otherwise. */
function restart({
  status = {},
  spec = {},
  workload = {},
  isReady = 'True',
  restartedAt,
}: Given = {}): HandMade {
  const startedAt = new Date(begin + (restartedAt ?? 0)).toISOString();
  const container = { name: 'main', restartCount: Number(restartedAt !== undefined) };
  const containerStatuses = [{ ...container, state: { running: { startedAt } } }];
  const pod = { ...webPod('old'), status: { ...readiness(isReady), containerStatuses } };
  const deployment = {
    metadata: { name: 'web' },
    spec: { replicas: 1, template, ...workload },
    status: { readyReplicas: 1 },
  };
  return new HandMade(['L8'])
    .add(started)
    .change('deployments', deployment)
    .change('pods', pod)
    .change('configwatchers', watcher('w', {}, spec), 'ADDED', 'alice')
    .change('configwatchers', watcher('w', { ...stuck, ...status }, spec), 'MODIFIED', 'replica-0');
}

describe('L8, a restart goes on', () => {
  it('is broken by a restart for which nothing is tried', () => {
    assert.deepEqual(restart().calm(10 * minute).broken, ['L8']);
  });

  it('is broken by one that has no stale Pod left and is not done', () => {
    const made = restart({ status: { stalePods: 0 } }).pass(8 * minute);
    made.request('create', 'pods', 'old', { subresource: 'eviction', code: 429 });
    assert.deepEqual(made.calm(2 * minute).broken, ['L8']);
  });

  it('is kept by one that has waited for a cooldown and has only just begun', () => {
    const pending = { ...stuck.pending, started: new Date(begin + 9 * minute).toISOString() };
    const made = restart({ status: { stalePods: 0, pending } });
    assert.deepEqual(made.calm(10 * minute).broken, []);
    assert.deepEqual(made.calm(3 * minute).broken, ['L8']);
  });

  it('is kept until the deadline by one for an owner of which the selector leaves out every Pod', () => {
    const ownerReferences = [
      { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'd', controller: true },
    ];
    const metadata = { name: 'web', uid: 'web-rs', ownerReferences };
    const { uid: deployment = '' } =
      restart().history.objects.get('deployments', 'shop', 'web')?.metadata ?? {};
    for (const [uid, minutes, broken] of [
      ['of another', 12, []],
      ['of another', 14, ['L8']],
      [deployment, 12, ['L8']],
    ] as const) {
      const pending = { ...stuck.pending, owners: [{ kind: 'Deployment', name: 'web', uid }] };
      const status = { readyReplicas: 1 };
      const made = restart({ status: { pending } });
      made.change('replicasets', { metadata, spec: { template }, status });
      assert.deepEqual(made.calm(minutes * minute).broken, broken, uid);
    }
  });

  it('is kept by an eviction, a deletion and a change of the template that are refused', () => {
    const annotation = { 'k8spatterns.io/restarted-for.w': 'id' };
    const body = JSON.stringify({ spec: { template: { metadata: { annotations: annotation } } } });
    for (const [verb, resource, name, rest] of [
      ['create', 'pods', 'old', { subresource: 'eviction', code: 429 }],
      ['delete', 'pods', 'old', { code: 403 }],
      ['patch', 'deployments', 'web', { code: 429, body }],
    ] as const) {
      const made = restart()
        .pass(8 * minute)
        .request(verb, resource, name, rest);
      assert.deepEqual(made.calm(2 * minute).broken, [], verb);
      assert.deepEqual(made.calm(2 * minute).broken, ['L8'], verb);
    }
  });

  it('is broken where the change of the template is for another watcher', () => {
    const body = JSON.stringify({ annotations: { 'k8spatterns.io/restarted-for.w2': 'id' } });
    const made = restart()
      .pass(8 * minute)
      .request('patch', 'deployments', 'web', { body });
    assert.deepEqual(made.calm(2 * minute).broken, ['L8']);
  });

  it('asks for nothing while a container crashes again and again, and is Ready for a moment', () => {
    assert.deepEqual(restart({ restartedAt: 9 * minute }).calm(10 * minute).broken, []);
    assert.deepEqual(restart({ restartedAt: 2 * minute }).calm(10 * minute).broken, ['L8']);
  });

  it('asks for nothing while something keeps the restart', () => {
    for (const given of [
      { isReady: 'False' },
      { workload: { replicas: 2 } },
      { workload: { paused: true } },
      { workload: { updateStrategy: { type: 'OnDelete' } } },
      { spec: { suspend: true } },
      { status: { pending: { hash: 'v1:two', reason: 'Cooldown' } } },
    ]) {
      assert.deepEqual(restart(given).calm(10 * minute).broken, [], JSON.stringify(given));
    }
  });
});
