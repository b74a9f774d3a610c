import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareResourceVersions, isAtLeast } from '../../../src/runtime/cache/resource-version.ts';
import { fc } from '../../fixtures/property.ts';

describe('compareResourceVersions', () => {
  it('compares like numbers, beyond what a double holds', () => {
    const version = fc.bigInt({ min: 0n, max: 10n ** 40n });
    fc.assert(
      fc.property(version, version, (left, right) => {
        const order = compareResourceVersions(String(left), String(right)) ?? Number.NaN;
        assert.equal(Math.sign(order), left < right ? -1 : left > right ? 1 : 0);
      }),
    );
  });

  for (const opaque of ['', '01', '-1', '1.5', 'abc', ' 1']) {
    it(`does not compare "${opaque}"`, () => {
      assert.equal(compareResourceVersions(opaque, '1'), undefined);
      assert.equal(isAtLeast('1', opaque), false);
      assert.equal(isAtLeast(opaque, '1'), false);
    });
  }
});
