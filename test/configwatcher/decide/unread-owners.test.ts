/**
 * Owners that cannot be read: what they want is the number of Pods at the start of the restart, which the next
 * process has to know as well.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Steps } from '../../../src/configwatcher/decide/decision.ts';
import { writeState } from '../../../src/configwatcher/decide/watcher-status.ts';
import type { Observed } from '../../../src/configwatcher/facts/observed.ts';
import { readState } from '../../../src/configwatcher/facts/state.ts';
import {
  afterwards,
  decided,
  newContent,
  newestContent,
  now,
  pod,
  several,
  specOf,
  webapp,
} from '../../fixtures/configwatcher.ts';

function restarted({ actions }: Steps): string[] {
  return actions.flatMap((action) => ('pod' in action ? action.pod.uid : []));
}

describe('the restart of Pods whose owner does not say how many it wants', () => {
  const owners = new Map([[webapp.uid, { reference: webapp, makesSelectedPods: false }]]);
  const spec = specOf({ debounce: { quiet: '0s' }, cooldown: { base: '0s' } });
  const facts = { spec, sources: [newContent], owners };
  const [first, ...rest] = several(4);
  const replacement = (ms: number) => pod({ created: now + ms });
  const started = decided({ ...facts, pods: [first!, ...rest] });
  const others: [string, (ms: number) => Partial<Observed>][] = [
    ['this process', (ms) => afterwards(facts, started, ms)],
    ['the next', (ms) => ({ ...facts, state: readState(writeState(started.state)), now: now + ms })],
  ];

  it('says how many Pods there were', () => {
    assert.deepEqual(restarted(started), [first!.uid]);
    const [place] = started.state.pending?.owners ?? [];
    assert.deepEqual([place?.wanted, place?.available], [4, 4]);
  });

  for (const [who, go] of others) {
    it(`goes on by ${who} when the Pod it has taken is replaced, and no earlier`, () => {
      const missing = decided({ ...go(3000), pods: rest });
      assert.deepEqual(restarted(missing), []);
      const back = decided({ ...go(14_000), pods: [...rest, replacement(3000)] });
      assert.deepEqual(restarted(back), [rest[0]!.uid]);
    });

    it(`waits by ${who} for the Pod it has taken after an edit in between`, () => {
      const edit = { ...go(3000), sources: [newestContent], pods: rest };
      assert.deepEqual(restarted(decided(edit)), []);
    });
  }
});
