import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { groupPods, sortPods } from '../../../src/configwatcher/decide/pod-groups.ts';
import { rolloutTurn } from '../../../src/configwatcher/decide/rollout.ts';
import type { OwnerFacts } from '../../../src/configwatcher/facts/observed.ts';
import { rolloutAnnotation } from '../../../src/configwatcher/facts/rollout-annotation.ts';
import type { RolloutFacts } from '../../../src/configwatcher/facts/workload.ts';
import { now, pod, several, specOf } from '../../fixtures/configwatcher.ts';

describe('rolloutAnnotation', () => {
  it('names the watcher, in the group of the watcher', () => {
    assert.equal(rolloutAnnotation('k8spatterns.com', 'web'), 'k8spatterns.com/restarted-for.web');
  });

  it('of a long name has at most 63 characters, and differs from that of another one', () => {
    const [longest, first, second] = ['a'.repeat(49), `${'a'.repeat(49)}b`, `${'a'.repeat(49)}c`].map(
      (name) => rolloutAnnotation('k8spatterns.io', name),
    );
    assert.equal(longest, `k8spatterns.io/restarted-for.${'a'.repeat(49)}`);
    assert.match(first ?? '', /^k8spatterns\.io\/restarted-for\.a{40}-[0-9a-f]{8}$/);
    assert.notEqual(first, second);
    for (const annotation of [longest, first]) assert.ok((annotation?.split('/')[1]?.length ?? 64) <= 63);
  });
});

describe('rolloutTurn', () => {
  for (const [facts, patched, expected] of [
    [{}, false, 'Patch'],
    [{ restartedFor: 'before' }, false, 'Patch'],
    [{ restartedFor: 'now' }, false, 'Wait'],
    [{ restartedFor: 'now' }, true, 'Wait'],
    [{ restartedFor: 'now', held: 'Paused' }, true, 'Paused'],
    [{ held: 'OnDelete' }, false, 'OnDelete'],
    [{ restartedFor: 'before' }, true, 'Reverted'],
    [{}, true, 'Reverted'],
  ] as const) {
    it(`${JSON.stringify(facts)}${patched ? ', patched before' : ''}: ${expected}`, () => {
      assert.equal(rolloutTurn(facts, 'now', patched), expected);
    });
  }
});

describe('the Pods that the rollout of a DaemonSet replaces', () => {
  const controller = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'agent-uid' };
  const target = { revision: '3', partition: 0 };
  const pods = several(2, { controller, revision: '1' });
  const outdatedOf = (rollout: RolloutFacts, live = pods) => {
    const facts: OwnerFacts = { reference: controller, wanted: 2, makesSelectedPods: true, rollout };
    const sorted = sortPods(live, specOf(), { cutoff: now });
    const [group] = groupPods(live, sorted, new Map([[controller.uid, facts]]));
    return group?.outdated.length;
  };

  it('are those of an older generation of its template', () => {
    assert.equal(outdatedOf({ target }), 2);
  });

  it('are none once all have the template, whatever its generation was when they were made', () => {
    const reached: RolloutFacts = { target: { ...target, isReached: true }, pods: 2 };
    assert.equal(outdatedOf(reached), 0);
    const surge = pod({ controller, revision: '3', created: now + 1000 });
    assert.equal(outdatedOf(reached, [...pods, surge]), 2, 'a new one stands beside an older one');
    const misscheduled = pod({ controller, revision: '1' });
    assert.equal(
      outdatedOf({ ...reached, pods: 3 }, [...pods, misscheduled]),
      0,
      'on a node that it does not want',
    );
  });
});
