import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Span, slowFor, withSpan } from '../../../src/at/facts/slow-answers.ts';

const spans = (...all: readonly (readonly [number, number])[]) =>
  all.reduce<readonly Span[]>((before, [from, to]) => withSpan(before, { from, to }), []);

describe('slow answers', () => {
  it('are counted once where requests were on their way together', () => {
    assert.equal(slowFor(spans([0, 2000], [1000, 3000], [5000, 6000]), 0, 10_000), 4000);
    assert.equal(slowFor(spans([1000, 2000], [4000, 5000], [500, 6000]), 0, 10_000), 5500);
  });

  it('are counted as far as they lie in the time', () => {
    const both = spans([0, 2000], [5000, 9000]);
    assert.equal(slowFor(both, 1500, 6000), 1500);
    assert.equal(slowFor(both, 2000, 5000), 0);
    assert.equal(slowFor(undefined, 0, 5000), 0);
  });

  it('are the newest twenty', () => {
    const all = Array.from({ length: 30 }, (_, index) => [index * 10, index * 10 + 1] as const);
    assert.deepEqual([spans(...all).length, spans(...all)[0]?.from], [20, 100]);
  });
});
