import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { abortWith } from '../../src/runtime/time-limit.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Whether the object is gone once its turn is over and garbage has been collected. */
async function isCollected(reference: WeakRef<object>): Promise<boolean> {
  for (let tries = 0; tries < 10 && reference.deref() !== undefined; tries++) {
    await turn();
    collectGarbage();
  }
  return reference.deref() === undefined;
}

describe('a controller that is aborted with a signal', () => {
  it('is aborted with its reason, at once or later', () => {
    const [parent, late, early] = [new AbortController(), new AbortController(), new AbortController()];
    abortWith(late, parent.signal);
    const reason = new Error('over');
    parent.abort(reason);
    abortWith(early, parent.signal);
    assert.equal(late.signal.reason, reason);
    assert.equal(early.signal.reason, reason);
  });

  it('keeps its own reason where it was aborted first', () => {
    const [parent, child] = [new AbortController(), new AbortController()];
    abortWith(child, parent.signal);
    const own = new Error('removed');
    child.abort(own);
    parent.abort(new Error('over'));
    assert.equal(child.signal.reason, own);
  });

  it('is not kept by a signal that lives on, once it is aborted', async () => {
    const parent = new AbortController();
    const reference = (() => {
      const child = new AbortController();
      abortWith(child, parent.signal);
      child.abort();
      return new WeakRef(child);
    })();
    assert.ok(await isCollected(reference));
    assert.equal(parent.signal.aborted, false);
  });

  it('is kept by nothing when neither is ever aborted, nor is what their listeners refer to', async () => {
    const reference = (() => {
      const [parent, child] = [new AbortController(), new AbortController()];
      const owner = { parent, child };
      abortWith(child, parent.signal);
      parent.signal.addEventListener('abort', () => owner.child.abort());
      return new WeakRef(owner);
    })();
    assert.ok(await isCollected(reference));
  });
});
