import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { labelSelectorOf, selects } from '../../../src/configwatcher/plan/selector.ts';
import type { LabelSelector } from '../../../src/kubernetes/selector.ts';

const web: LabelSelector = { matchLabels: { app: 'web' }, matchExpressions: [] };

describe('selects', () => {
  const rows: {
    what: string;
    selector?: Partial<LabelSelector>;
    labels?: Record<string, string>;
    is: boolean;
  }[] = [
    { what: 'equal labels', labels: { app: 'web', tier: 'front' }, is: true },
    { what: 'another value', labels: { app: 'webapp' }, is: false },
    { what: 'a missing label', labels: {}, is: false },
    { what: 'no labels at all', is: false },
    { what: 'an empty selector', selector: { matchLabels: {} }, labels: { app: 'web' }, is: false },
    {
      what: 'an empty selector with expressions',
      selector: { matchLabels: {}, matchExpressions: [{ key: 'app', operator: 'Exists', values: [] }] },
      labels: { app: 'web' },
      is: false,
    },
    {
      what: 'all labels needed',
      selector: { matchLabels: { app: 'web', a: 'b' } },
      labels: { app: 'web' },
      is: false,
    },
    {
      what: 'a name every object has',
      selector: { matchLabels: { constructor: 'x' } },
      labels: {},
      is: false,
    },
    {
      what: 'NotIn with the label missing',
      selector: { matchExpressions: [{ key: 'env', operator: 'NotIn', values: ['test'] }] },
      labels: { app: 'web' },
      is: true,
    },
    {
      what: 'In with the label missing',
      selector: { matchExpressions: [{ key: 'env', operator: 'In', values: ['test'] }] },
      labels: { app: 'web' },
      is: false,
    },
    {
      what: 'DoesNotExist with the label there',
      selector: { matchExpressions: [{ key: 'env', operator: 'DoesNotExist', values: [] }] },
      labels: { app: 'web', env: '' },
      is: false,
    },
  ];
  for (const { what, selector, labels, is } of rows) {
    it(`${is ? 'takes' : 'leaves'} a Pod: ${what}`, () => {
      assert.equal(selects({ ...web, ...selector }, labels), is);
    });
  }
});

describe('labelSelectorOf', () => {
  it('writes every operator', () => {
    const selector: LabelSelector = {
      matchLabels: { app: 'web', 'example.org/tier': '' },
      matchExpressions: [
        { key: 'a', operator: 'In', values: ['x', 'y'] },
        { key: 'b', operator: 'NotIn', values: ['z'] },
        { key: 'c', operator: 'Exists', values: [] },
        { key: 'd', operator: 'DoesNotExist', values: [] },
      ],
    };
    assert.equal(labelSelectorOf(selector), 'app=web,example.org/tier=,a in (x,y),b notin (z),c,!d');
  });

  it('never writes a selector that would select everything', () => {
    assert.throws(() => labelSelectorOf({ matchLabels: {} }), RangeError);
  });
});
