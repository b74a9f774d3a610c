import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../src/runtime/client/api-error.ts';

test('an ApiError asks for a wait of 0 to 1 h, or for none', () => {
  const asked = [undefined, Number.NaN, -1, Number.POSITIVE_INFINITY, 3_600_001].map(
    (retryAfter) => new ApiError('busy', 429, {}, retryAfter).retryAfter,
  );
  assert.deepEqual(new Set(asked), new Set([undefined]));
  assert.equal(new ApiError('busy', 429, {}, 0).retryAfter, 0);
  assert.equal(new ApiError('busy', 429, {}, 3_600_000).retryAfter, 3_600_000);
});
