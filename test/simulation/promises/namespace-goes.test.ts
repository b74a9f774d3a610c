import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { begin, HandMade, second } from '../hand-made.ts';

/** A namespace that is being deleted, so many seconds later. */
function deleted(seconds: number): HandMade {
  const made = new HandMade(['L11']).add({
    ...{ type: 'replica', time: begin, replica: 'replica-0#1', state: 'started' },
  });
  made.change('namespaces', { metadata: { name: 'shop' } });
  const deletionTimestamp = new Date(begin).toISOString();
  made.change('namespaces', { metadata: { name: 'shop', deletionTimestamp } }, 'MODIFIED');
  return made.calm(seconds * second);
}

describe('L11, a namespace goes', () => {
  it('is kept while it may take its time', () => assert.deepEqual(deleted(60).broken, []));
  it('is broken where it is still there after that', () => assert.equal(deleted(400).broken.length, 1));
  it('is kept where it has gone', () => {
    const made = deleted(60).change('namespaces', { metadata: { name: 'shop' } }, 'DELETED');
    assert.deepEqual(made.calm(400 * second).broken, []);
  });
});
