import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { plantedBugs } from './bugs.ts';

const root = new URL('../../../', import.meta.url);

describe('the planted bugs', () => {
  for (const { name, also, ...first } of plantedBugs) {
    it(`has exactly one place for each replacement of "${name}"`, () => {
      for (const { file, find, replace } of also ? [first, also] : [first]) {
        const text = readFileSync(new URL(file, root), 'utf8');
        assert.equal(text.split(find).length - 1, 1, `${find} in ${file}`);
        assert.notEqual(find, replace);
      }
    });
  }

  it('are at least 24, under different names', () => {
    assert.ok(new Set(plantedBugs.map(({ name }) => name)).size >= 24);
  });
});
