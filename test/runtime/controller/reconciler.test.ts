import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RetryError, requestKey, requestOfKey } from '../../../src/runtime/controller/reconciler.ts';

describe('requestKey', () => {
  for (const request of [
    { namespace: 'default', name: 'example-at' },
    { namespace: '', name: 'cluster-scoped' },
    { namespace: 'a', name: 'system:with/slash' },
  ]) {
    it(`${request.namespace}/${request.name} and back`, () => {
      assert.deepEqual(requestOfKey(requestKey(request)), request);
    });
  }
});

describe('RetryError', () => {
  it('keeps its cause and its limit', () => {
    const cause = new Error('quota');
    const error = new RetryError('cannot launch', 10_000, { cause });
    assert.deepEqual([error.maxDelay, error.cause, error.name], [10_000, cause, 'RetryError']);
  });

  it('has no priority unless it is given one, an integer', () => {
    assert.equal(new RetryError('x', 1).priority, undefined);
    assert.equal(new RetryError('x', 1, { priority: -7 }).priority, -7);
    assert.throws(() => new RetryError('x', 1, { priority: 0.5 }), RangeError);
  });

  it('refuses limits that are none', () => {
    for (const maxDelay of [Number.NaN, -1, Infinity]) {
      assert.throws(() => new RetryError('x', maxDelay), RangeError);
    }
  });
});
