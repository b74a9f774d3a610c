import assert from 'node:assert/strict';
import { it } from 'node:test';
import { microTime } from '../../src/runtime/micro-time.ts';

it('microTime has exactly six fraction digits', () => {
  const instant = Date.UTC(2024, 1, 29, 23, 59, 59);
  assert.equal(microTime(instant), '2024-02-29T23:59:59.000000Z');
  assert.equal(microTime(instant + 7), '2024-02-29T23:59:59.007000Z');
  assert.equal(microTime(instant + 7.0625), '2024-02-29T23:59:59.007062Z');
});
