import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, isNotFound, isProvenNotFound } from '../../../src/runtime/client/api-error.ts';

test('an ApiError asks for a wait of 0 to 1 h, or for none', () => {
  const asked = [undefined, Number.NaN, -1, Number.POSITIVE_INFINITY, 3_600_001].map(
    (retryAfter) => new ApiError('busy', 429, {}, retryAfter).retryAfter,
  );
  assert.deepEqual(new Set(asked), new Set([undefined]));
  assert.equal(new ApiError('busy', 429, {}, 0).retryAfter, 0);
  assert.equal(new ApiError('busy', 429, {}, 3_600_000).retryAfter, 3_600_000);
});

test('only the API server itself proves that an object is not there', () => {
  const [own, page] = [
    new ApiError('not found', 404, { reason: 'NotFound' }),
    new ApiError('not found', 404, {}),
  ];
  assert.deepEqual([isNotFound(own), isProvenNotFound(own)], [true, true]);
  assert.deepEqual([isNotFound(page), isProvenNotFound(page)], [true, false]);
  assert.equal(isProvenNotFound(new ApiError('gone', 410, { reason: 'NotFound' })), false);
});
