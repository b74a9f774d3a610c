import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Runnable } from '../../../src/runtime/controller/runnable.ts';
import { RunnableGroup } from '../../../src/runtime/manager/runnable-group.ts';

function setUp() {
  const stop = new AbortController();
  const abort = new AbortController();
  const failures: string[] = [];
  const group = new RunnableGroup({
    ...{ stop: stop.signal, abort: abort.signal },
    onFailure: ({ message }) => failures.push(message),
  });
  return { stop, group, failures };
}

function runnable(name: string, start: Runnable['start'], needsLeaderElection = true): Runnable {
  return { name, needsLeaderElection, start };
}

describe('RunnableGroup', () => {
  it('starts those asked for, and knows who is at work', async () => {
    const { group } = setUp();
    const work = Promise.withResolvers<void>();
    group.add(runnable('leading', () => work.promise));
    group.add(runnable('everywhere', () => work.promise, false));
    group.start(false);
    assert.deepEqual(group.running, ['everywhere']);
    group.start(true);
    assert.deepEqual(group.running, ['everywhere', 'leading']);
    work.resolve();
    await group.ended();
    assert.deepEqual(group.running, []);
  });

  it('starts none after a stop', () => {
    const { stop, group } = setUp();
    let started = false;
    group.add(
      runnable('late', async () => {
        started = true;
      }),
    );
    stop.abort();
    group.start(true);
    assert.equal(started, false);
  });

  it('names who failed, also when that was thrown and not rejected', async () => {
    const { group, failures } = setUp();
    group.add(runnable('rejects', () => Promise.reject(new Error('one'))));
    group.add(
      runnable('throws', () => {
        throw new Error('two');
      }),
    );
    group.start(true);
    await group.ended();
    assert.deepEqual(failures.sort(), ['rejects failed: one', 'throws failed: two']);
  });
});
