import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clip, stated } from '../../../src/at/decide/statement.ts';
import { accepted, observing, withStatus } from '../../fixtures/at.ts';

describe('clip', () => {
  it('keeps a short text', () => assert.equal(clip('no such table'), 'no such table'));

  it('keeps the end of a long one, 1 KiB of it', () => {
    const text = `${'a'.repeat(2000)}the end`;
    assert.equal(clip(text).length, 1024);
    assert.ok(clip(text).endsWith('the end'));
  });

  it('cuts between characters', () => {
    for (const character of ['é', '€', '🚀']) {
      for (let shift = 0; shift < 4; shift += 1) {
        const clipped = clip(`${character.repeat(1000)}${'x'.repeat(shift)}`);
        assert.doesNotMatch(clipped, /\ufffd/);
        assert.ok(new TextEncoder().encode(clipped).length > 1020);
      }
    }
  });
});

describe('stated', () => {
  it('never lets observedGeneration fall, however old the cached At is', () => {
    const at = withStatus(accepted(), { ...accepted().status, observedGeneration: 9 });
    const status = stated(observing({ at }), at.status ?? {}, []);
    assert.equal(status.observedGeneration, 9);
    assert.deepEqual(
      new Set(status.conditions?.map(({ observedGeneration }) => observedGeneration)),
      new Set([9]),
    );
  });
});
