/** What kstatus itself, the Go library, takes the objects for that decisions lead to. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { judged } from '../at/judged.ts';
import { runChecker } from '../fixtures/checker.ts';
import { decided, newContent, pod, watching } from '../fixtures/configwatcher.ts';

/** ConfigWatchers as decisions leave them. */
const watchers = [
  { name: 'a ConfigWatcher that watches', object: decidedWatcher({}), is: 'Current' },
  {
    name: 'a ConfigWatcher that restarts Pods',
    object: decidedWatcher({ sources: [newContent], pods: [pod()] }),
    is: 'Current',
  },
];

function decidedWatcher(facts: Parameters<typeof decided>[0]): object {
  const { conditions } = decided(facts).state;
  return { ...watching(), status: { observedGeneration: 1, conditions } };
}

const rows = [...judged.map(({ name, at, is }) => ({ name: `an At ${name}`, object: at, is })), ...watchers];
const answer = await runChecker('kstatuscheck', JSON.stringify(rows.map(({ object }) => object)));
const skip = answer === undefined ? 'there is no Go to compile kstatus with' : false;

describe('the library kstatus', { skip }, () => {
  const statuses: string[] = JSON.parse(answer ?? '[]');
  for (const [index, { name, is }] of rows.entries()) {
    it(`takes ${name} for ${is}`, () => assert.equal(statuses[index], is));
  }
});
