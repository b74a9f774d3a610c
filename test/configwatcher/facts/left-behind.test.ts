import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withLeftBehind } from '../../../src/configwatcher/facts/left-behind.ts';
import type { OwnerFacts } from '../../../src/configwatcher/facts/observed.ts';

const reference = (kind: string, name: string) => ({ apiVersion: 'apps/v1', kind, name, uid: `${name}-uid` });
const place = { ...reference('Deployment', 'web'), wanted: 3, available: 3 };
const deployment: OwnerFacts = {
  reference: reference('Deployment', 'web'),
  makesSelectedPods: false,
  isGone: true,
};

function set(name: string, wanted: number): OwnerFacts {
  return { reference: reference('ReplicaSet', name), wanted, makesSelectedPods: true };
}

const gone: OwnerFacts = {
  reference: reference('ReplicaSet', 'web-7d8b5c'),
  makesSelectedPods: false,
  isGone: true,
};

/** The owners by uid, as they are counted where these are known. */
function counted(...all: readonly OwnerFacts[]) {
  const owners = new Map(all.map((facts) => [facts.reference.uid, facts] as const));
  return withLeftBehind(owners, [place]);
}

describe('what a deleted Deployment leaves behind', () => {
  it('stands for it: its ReplicaSets want together what it wants', () => {
    const facts = counted(deployment, set('web-7d8b5c', 2), set('web-6c5f9b', 1));
    const together = { reference: deployment.reference, wanted: 3, makesSelectedPods: true };
    assert.deepEqual([...facts.values()], [together, together, together]);
  });

  it('are Pods on their way out, too, whose ReplicaSet is gone already', () => {
    const facts = counted(deployment, gone);
    assert.deepEqual(facts.get('web-7d8b5c-uid')?.reference, deployment.reference);
    assert.equal(facts.get('web-7d8b5c-uid')?.isGone, true);
    assert.equal(counted(deployment, gone, set('web-6c5f9b', 1)).get('web-7d8b5c-uid')?.isGone, undefined);
  });

  it('is no ReplicaSet of another name, and nothing as long as the Deployment is there', () => {
    const other = set('db-7d8b5c', 2);
    assert.deepEqual([...counted(deployment, other).values()], [deployment, other]);
    const { isGone, ...there } = deployment;
    const alone = set('web-7d8b5c', 2);
    assert.deepEqual([...counted(there, alone).values()], [there, alone]);
  });
});
