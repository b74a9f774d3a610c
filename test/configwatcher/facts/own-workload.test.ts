import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isOfWorkload, ownWorkload } from '../../../src/configwatcher/facts/own-workload.ts';

const reference = (kind: string, name: string, apiVersion = 'apps/v1') => ({
  ...{ apiVersion, kind, name, uid: `${name}-uid` },
  controller: true,
});
const controlledBy = (owner: ReturnType<typeof reference>) => ({
  metadata: { name: 'watcher', ownerReferences: [owner] },
});

describe('ownWorkload', () => {
  it('is the workload that controls the watcher', () => {
    assert.equal(ownWorkload(controlledBy(reference('Deployment', 'web')))?.name, 'web');
  });

  it('is none of a watcher that belongs to nothing, or to something else', () => {
    assert.equal(ownWorkload({ metadata: { name: 'watcher' } }), undefined);
    assert.equal(ownWorkload(controlledBy(reference('App', 'web', 'example.com/v1'))), undefined);
    const owned = {
      metadata: {
        name: 'watcher',
        ownerReferences: [{ ...reference('Deployment', 'web'), controller: false }],
      },
    };
    assert.equal(ownWorkload(owned), undefined);
  });
});

describe('isOfWorkload', () => {
  const web = reference('Deployment', 'web');
  const rows: readonly [
    string,
    ReturnType<typeof reference> | undefined,
    ReturnType<typeof reference>,
    boolean,
  ][] = [
    ['a ReplicaSet of the Deployment', reference('ReplicaSet', 'web-5d4f8c7b9'), web, true],
    [
      'a ReplicaSet of a Deployment whose name goes on',
      reference('ReplicaSet', 'web-canary-5d4f8c7b9'),
      web,
      false,
    ],
    ['a ReplicaSet of its own', reference('ReplicaSet', 'web-canary'), web, false],
    ['a ReplicaSet of another Deployment', reference('ReplicaSet', 'shop-5d4f8c7b9'), web, false],
    ['the StatefulSet itself', reference('StatefulSet', 'db'), reference('StatefulSet', 'db'), true],
    ['a DaemonSet of the same name', reference('DaemonSet', 'db'), reference('StatefulSet', 'db'), false],
    ['nothing', undefined, web, false],
  ];
  for (const [what, controller, workload, expected] of rows) {
    it(`takes Pods of ${what} for ${expected ? 'its own' : "another's"}`, () => {
      assert.equal(isOfWorkload(controller, workload), expected);
    });
  }
});
