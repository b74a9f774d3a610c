/** With config/annotated-workloads: which ConfigWatchers the operator may make, and who may ask for one by an annotation. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { grant, operator, ownedWatcher, type PolicyWorld, startPolicyWorld } from './policy-world.ts';
import { eventually } from './support.ts';

const namespace = 'default';
let world: PolicyWorld;
const create = ['create', '--dry-run=server', '--filename=-'];
const workload = (kind: string, name: string, annotations: object = {}) => ({
  ...{ apiVersion: 'apps/v1', kind, metadata: { name, namespace, annotations } },
  spec: {
    ...(kind === 'Deployment' && { replicas: 0 }),
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'a', image: 'a' }] } },
  },
});

before(async () => {
  world = await startPolicyWorld(['annotated-workloads']);
  const { kubectl } = world;
  await kubectl(['create', '--filename=-'], workload('Deployment', 'web'));
  const uid = await kubectl([
    'get',
    'deployment/web',
    `--namespace=${namespace}`,
    '--output=jsonpath={.metadata.uid}',
  ]);
  await kubectl(['create', '--filename=-'], ownedWatcher({ kind: 'Deployment', name: 'web', uid }));
  await kubectl(
    ['create', '--filename=-'],
    ownedWatcher({ kind: 'Deployment', name: 'mine', uid }, { ownerReferences: [] }),
  );
});
after(() => world?.stop());

const owner = { kind: 'Deployment', name: 'new', uid: '0c3c1b8a-0000-4000-8000-000000000000' };
const second = { apiVersion: 'v1', kind: 'ConfigMap', name: 'b', uid: owner.uid };
const made = /creates nothing but Pods and .*, and ConfigWatchers that a workload controls/;

describe('the ConfigWatchers of the operator', () => {
  const rows: readonly (readonly [string, object, RegExp?])[] = [
    ['for a Deployment', ownedWatcher(owner)],
    ['for a StatefulSet', ownedWatcher({ ...owner, kind: 'StatefulSet' })],
    ['for a DaemonSet', ownedWatcher({ ...owner, kind: 'DaemonSet' })],
    ['for nothing', ownedWatcher(owner, { ownerReferences: [] }), made],
    ['for a workload that does not control it', ownedWatcher({ ...owner, controller: false }), made],
    ['for a Job', ownedWatcher({ ...owner, kind: 'Job', apiVersion: 'batch/v1' }), made],
    ['for another kind of that name', ownedWatcher({ ...owner, apiVersion: 'example.com/v1' }), made],
    ['under another name', ownedWatcher(owner, { name: 'other' }), made],
    [
      'with a second owner',
      ownedWatcher(owner, {
        ownerReferences: [{ apiVersion: 'apps/v1', ...owner, controller: true }, second],
      }),
      made,
    ],
  ];
  for (const [title, watcher, says] of rows) {
    it(`are ${says ? 'refused' : 'admitted'} ${title}`, async () => {
      const refusal = await world.refusal(operator, create, watcher);
      if (says) assert.match(refusal, says);
      else assert.equal(refusal, '');
    });
  }

  const patch = (name: string, body: object) => [
    ...['patch', `cw/${name}`, '--dry-run=server', `--namespace=${namespace}`, '--type=merge'],
    `--patch=${JSON.stringify(body)}`,
  ];
  const remove = (name: string) => ['delete', `cw/${name}`, '--dry-run=server', `--namespace=${namespace}`];

  it('have their spec changed and are deleted', async () => {
    assert.equal(await world.refusal(operator, patch('deployment-web', { spec: { suspend: true } })), '');
    assert.equal(await world.refusal(operator, remove('deployment-web')), '');
  });

  it('are changed in nothing else', async () => {
    const refusal = await world.refusal(
      operator,
      patch('deployment-web', { metadata: { labels: { a: 'b' } } }),
    );
    assert.match(refusal, /not metadata\.labels/);
  });

  it('are those alone that it has made', async () => {
    assert.match(
      await world.refusal(operator, patch('deployment-mine', { spec: { suspend: true } })),
      /not spec/,
    );
    assert.match(
      await world.refusal(operator, remove('deployment-mine')),
      /deletes no ConfigWatcher but one/,
    );
    const { uid, ...adopted } = owner;
    const ownerReferences = [{ apiVersion: 'apps/v1', ...adopted, uid, controller: true }];
    const adopt = await world.refusal(operator, patch('deployment-mine', { metadata: { ownerReferences } }));
    assert.match(adopt, /not metadata\.ownerReferences/);
  });
});

describe('the author of an annotated workload', () => {
  const deployer = 'deployer';
  before(async () => {
    const rules = [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'create', 'patch'] }];
    await grant(world, deployer, 'deployer', namespace, rules);
    const isIn = async () => (await world.refusal(deployer, create, workload('Deployment', 'plain'))) === '';
    await eventually(isIn, { message: 'the right is in force' });
  });

  for (const key of ['k8spatterns.io/restart-on-change', 'k8spatterns.io/restart-options']) {
    it(`needs the right to delete Pods for ${key}`, async () => {
      const annotated = workload('Deployment', 'asking', { [key]: 'referenced' });
      assert.match(
        await world.refusal(deployer, create, annotated),
        /needs the right to delete Pods; "deployer" may not/,
      );
      const body = JSON.stringify({ metadata: { annotations: { [key]: 'referenced' } } });
      const patch = [
        'patch',
        'deployment/web',
        '--dry-run=server',
        `--namespace=${namespace}`,
        `--patch=${body}`,
      ];
      assert.match(await world.refusal(deployer, patch), /needs the right to delete Pods/);
      assert.equal(await world.kubectl([...create, '--output=name'], annotated), 'deployment.apps/asking\n');
    });
  }

  it('needs none for other changes of an annotated one', async () => {
    const annotated = workload('Deployment', 'annotated', {
      'k8spatterns.io/restart-on-change': 'referenced',
    });
    await world.kubectl(['create', '--filename=-'], annotated);
    const patch = (body: object) => [
      ...['patch', 'deployment/annotated', '--dry-run=server', `--namespace=${namespace}`],
      `--patch=${JSON.stringify(body)}`,
    ];
    assert.equal(await world.refusal(deployer, patch({ spec: { replicas: 1 } })), '');
    const without = { metadata: { annotations: { 'k8spatterns.io/restart-on-change': null } } };
    assert.equal(await world.refusal(deployer, patch(without)), '');
  });
});
