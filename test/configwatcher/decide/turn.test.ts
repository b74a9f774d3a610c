import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { unavailableLimit } from '../../../src/configwatcher/decide/turn.ts';

describe('unavailableLimit', () => {
  for (const [limit, wanted, expected] of [
    [{ percent: 25 }, 8, 2],
    [{ percent: 25 }, 7, 1],
    [{ percent: 25 }, 1, 1],
    [{ percent: 25 }, 0, 1],
    [{ percent: 100 }, 5, 5],
    [{ count: 3 }, 2, 3],
  ] as const) {
    it(`${JSON.stringify(limit)} of ${wanted} is ${expected}`, () => {
      assert.equal(unavailableLimit(limit, wanted), expected);
    });
  }
});
