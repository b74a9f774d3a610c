import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sortPods } from '../../../src/configwatcher/decide/pod-groups.ts';
import type { PodFacts } from '../../../src/configwatcher/facts/pod-facts.ts';
import { now, pod, several, specOf } from '../../fixtures/configwatcher.ts';

const cutoff = now - 60_000;

function names(pods: readonly PodFacts[]): string[] {
  return pods.map(({ name }) => name);
}

describe('sortPods', () => {
  it('leaves Pods without a reference alone under onlyReferencing', () => {
    const uses = pod({ references: ['ConfigMap/webapp-config'] });
    const other = pod({ references: ['Secret/webapp-config', 'ConfigMap/other'] });
    const sorted = sortPods([uses, other], specOf({ onlyReferencing: true }), { cutoff });
    assert.deepEqual([names(sorted.stale), names(sorted.unconcerned)], [[uses.name], [other.name]]);
  });

  it('takes the second of the cutoff as stale, the next as fresh', () => {
    const pods = [pod({ created: cutoff }), pod({ created: cutoff + 1000 })];
    const sorted = sortPods(pods, specOf(), { cutoff });
    assert.deepEqual([sorted.stale.length, sorted.fresh.length], [1, 1]);
  });

  it('has no stale Pod without a cutoff', () => {
    assert.equal(sortPods(several(2), specOf(), {}).fresh.length, 2);
  });
});
