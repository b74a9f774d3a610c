import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fit, type Schema, statusSchema } from '../../src/kubernetes/fit.ts';

const schema: Schema = {
  type: 'object',
  properties: {
    phase: { type: 'string', enum: ['A', 'B'] },
    count: { type: 'integer', minimum: 0 },
    on: { type: 'boolean' },
    one: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
    list: {
      type: 'array',
      items: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
    },
  },
};

describe('fit', () => {
  it('gives the very same value when all of it fits', () => {
    const value = { phase: 'A', count: 0, on: false, one: { id: 'x' }, list: [{ id: 'y' }] };
    assert.equal(fit(schema, value), value);
  });

  const rows: readonly [string, object, object][] = [
    ['a value of another type', { phase: 5, count: 'x', on: 1, list: {}, one: [] }, {}],
    ['null', { phase: null, count: null, one: null, list: null }, {}],
    ['a value that is not of the list', { phase: 'C', count: 1 }, { count: 1 }],
    ['a number below the minimum', { count: -1 }, {}],
    ['a fraction', { count: 0.5 }, {}],
    ['an object without what it must have', { one: {}, count: 1 }, { count: 1 }],
    ['an object in which what it must have does not fit', { one: { id: 7 } }, {}],
    [
      'what does not fit in a list, and keeps the others',
      { list: [{}, 'x', { id: 'y' }] },
      { list: [{ id: 'y' }] },
    ],
    ['what the schema does not know', { toString: 1, else: [1], count: 1 }, { count: 1 }],
  ];
  for (const [what, value, expected] of rows) {
    it(`leaves out ${what}`, () => {
      const before = structuredClone(value);
      assert.deepEqual(fit(schema, value), expected);
      assert.deepEqual(value, before);
    });
  }

  it('gives nothing for what is of another type altogether', () => {
    for (const value of [undefined, null, 'x', 5, []]) {
      assert.equal(fit(schema, value as never), undefined);
    }
  });

  it('finds the schema of a status', () => {
    assert.equal(statusSchema({ properties: { status: schema } }), schema);
  });
});
