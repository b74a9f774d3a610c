/** What kstatus itself, the Go library, takes the objects for that decisions lead to. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { writeState } from '../../src/configwatcher/decide/watcher-status.ts';
import { type Judgement, judged } from '../at/judged.ts';
import { runChecker } from '../fixtures/checker.ts';
import { decided, found, newContent, ownedBy, pod, specOf, watching } from '../fixtures/configwatcher.ts';

/** A ConfigWatcher as a decision leaves it. */
function decidedWatcher(facts: Parameters<typeof decided>[0], metadata: object = {}): object {
  const watcher = watching();
  const status = writeState(decided(facts).state);
  return { ...watcher, metadata: { ...watcher.metadata, ...metadata }, status };
}

const changed = { sources: [newContent], pods: [pod()], owners: ownedBy(1) };
const paused = ownedBy(1, { rollout: { held: 'Paused' } });
const rollout = specOf({ debounce: { quiet: '0s' }, strategy: { type: 'RolloutRestart' } });
const deletionTimestamp = '2024-06-01T12:00:00Z';

const watchers: { name: string; object: object; is: Judgement }[] = [
  // As the API server shows it before anybody has seen it: the CRD has this default.
  {
    name: 'that has not been seen',
    object: { ...watching(), status: { observedGeneration: -1 } },
    is: 'InProgress',
  },
  { name: 'that watches', object: decidedWatcher({}), is: 'Current' },
  {
    name: 'whose edited spec has not been seen',
    object: decidedWatcher({}, { generation: 2 }),
    is: 'InProgress',
  },
  { name: 'with a change that waits', object: decidedWatcher(changed), is: 'Current' },
  {
    name: 'that restarts Pods',
    object: decidedWatcher({ ...changed, spec: specOf({ debounce: { quiet: '0s' } }) }),
    is: 'Current',
  },
  {
    name: 'whose restart is stuck',
    object: decidedWatcher({ ...changed, spec: rollout, owners: paused }),
    is: 'Failed',
  },
  {
    name: 'whose spec cannot be followed',
    object: decidedWatcher({ spec: { invalid: 'spec.windows[0].timeZone is not a known time zone' } }),
    is: 'Failed',
  },
  {
    name: 'without a right',
    object: decidedWatcher({ forbidden: { verb: 'list', resource: 'pods' } }),
    is: 'InProgress',
  },
  {
    name: 'whose source is missing',
    object: decidedWatcher({ sources: [found(undefined)] }),
    is: 'InProgress',
  },
  { name: 'that is being deleted', object: decidedWatcher({}, { deletionTimestamp }), is: 'Terminating' },
  { name: "under the book's CRD, which has no status", object: watching(), is: 'Current' },
];

const rows = [
  ...judged.map(({ name, at, is }) => ({ name: `an At ${name}`, object: at, is })),
  ...watchers.map(({ name, ...row }) => ({ name: `a ConfigWatcher ${name}`, ...row })),
];
const answer = await runChecker('kstatuscheck', JSON.stringify(rows.map(({ object }) => object)));
const skip = answer === undefined ? 'there is no Go to compile kstatus with' : false;

describe('the library kstatus', { skip }, () => {
  const statuses: string[] = JSON.parse(answer ?? '[]');
  for (const [index, { name, is }] of rows.entries()) {
    it(`takes ${name} for ${is}`, () => assert.equal(statuses[index], is));
  }
});
