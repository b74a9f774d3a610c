import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  isLabelSelector,
  type LabelRequirement,
  type LabelSelector,
  labelMatcher,
  labelRequirements,
  labelSelectorText,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
  printLabelSelector,
  selects,
} from '../../src/kubernetes/selector.ts';
import { fc } from '../fixtures/property.ts';

const labels = { app: 'web', 'example.com/tier': 'front', empty: '' };

describe('parseLabelSelector', () => {
  const rows = [
    { selector: '', holds: true },
    { selector: 'app=web', holds: true },
    { selector: 'app==web', holds: true },
    { selector: ' app = web ', holds: true },
    { selector: 'app=db', holds: false },
    { selector: 'empty=', holds: true },
    { selector: 'missing=', holds: false },
    { selector: 'app!=db', holds: true },
    { selector: 'app!=web', holds: false },
    { selector: 'missing!=web', holds: true },
    { selector: 'app in (db, web)', holds: true },
    { selector: 'app in (db)', holds: false },
    { selector: 'missing in (db)', holds: false },
    { selector: 'app notin (db)', holds: true },
    { selector: 'app notin (web,db)', holds: false },
    { selector: 'missing notin (web)', holds: true },
    { selector: 'example.com/tier', holds: true },
    { selector: 'constructor', holds: false },
    { selector: '!app', holds: false },
    { selector: '! missing', holds: true },
    { selector: 'app=web,example.com/tier in (front,back),!missing', holds: true },
    { selector: 'app=web,example.com/tier in (middle,back)', holds: false },
  ];
  for (const { selector, holds } of rows) {
    it(`"${selector}" ${holds ? 'holds' : 'does not hold'}`, () => {
      assert.equal(matchesLabels(parseLabelSelector(selector), labels), holds);
    });
  }

  it('takes absent labels as none', () => {
    for (const none of [undefined, null]) {
      assert.equal(matchesLabels(parseLabelSelector('app'), none), false);
      assert.equal(matchesLabels(parseLabelSelector('!app'), none), true);
    }
  });

  for (const selector of ['a b', 'a in web', 'a=b=c', '(a)', 'a>1']) {
    it(`refuses "${selector}"`, () => {
      assert.throws(() => parseLabelSelector(selector), SyntaxError);
    });
  }
});

describe('parseFieldSelector', () => {
  const pod = { metadata: { name: 'a', namespace: 'default' }, spec: { nodeName: 'n1', hostNetwork: true } };
  const rows = [
    { selector: '', holds: true },
    { selector: 'metadata.name=a', holds: true },
    { selector: 'metadata.name!=a', holds: false },
    { selector: 'spec.nodeName==n1,metadata.namespace=default', holds: true },
    { selector: 'status.phase=Running', holds: false },
    { selector: 'status.phase!=Running', holds: true },
    { selector: 'spec.hostNetwork=true', holds: true },
    { selector: 'spec.subdomain=', holds: true },
  ];
  for (const { selector, holds } of rows) {
    it(`"${selector}" ${holds ? 'holds' : 'does not hold'}`, () => {
      assert.equal(matchesFields(parseFieldSelector(selector), pod), holds);
    });
  }

  it('refuses what is none', () => {
    assert.throws(() => parseFieldSelector('metadata.name'), SyntaxError);
  });
});

describe('metav1.LabelSelector', () => {
  const requirement = (key: string, operator: string, ...values: string[]) => ({ key, operator, values });
  const rows: readonly { name: string; selector: LabelSelector | undefined; holds: boolean }[] = [
    { name: 'an absent one', selector: undefined, holds: false },
    { name: 'an empty one', selector: {}, holds: true },
    { name: 'equal labels', selector: { matchLabels: { app: 'web', empty: '' } }, holds: true },
    { name: 'another value', selector: { matchLabels: { app: 'db' } }, holds: false },
    { name: 'a name every object has', selector: { matchLabels: { constructor: 'x' } }, holds: false },
    { name: 'In', selector: { matchExpressions: [requirement('app', 'In', 'db', 'web')] }, holds: true },
    {
      name: 'In without the label',
      selector: { matchExpressions: [requirement('x', 'In', 'y')] },
      holds: false,
    },
    { name: 'NotIn', selector: { matchExpressions: [requirement('app', 'NotIn', 'web')] }, holds: false },
    {
      name: 'NotIn without the label',
      selector: { matchExpressions: [requirement('x', 'NotIn', 'y')] },
      holds: true,
    },
    { name: 'Exists', selector: { matchExpressions: [{ key: 'empty', operator: 'Exists' }] }, holds: true },
    {
      name: 'DoesNotExist',
      selector: { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] },
      holds: false,
    },
    {
      name: 'an unknown operator',
      selector: { matchExpressions: [{ key: 'app', operator: 'Like' }] },
      holds: false,
    },
    {
      name: 'labels and expressions of which one does not hold',
      selector: { matchLabels: { app: 'web' }, matchExpressions: [requirement('app', 'NotIn', 'web')] },
      holds: false,
    },
  ];
  for (const { name, selector, holds } of rows) {
    it(`${name} ${holds ? 'selects' : 'does not select'}`, () =>
      assert.equal(selects(selector, labels), holds));
  }

  it('is written as the parameter of a request', () => {
    const selector = {
      matchLabels: { app: 'web', 'example.org/tier': '' },
      matchExpressions: [
        requirement('a', 'In', 'x', 'y'),
        requirement('b', 'NotIn', 'z'),
        requirement('c', 'Exists'),
        requirement('d', 'DoesNotExist'),
      ],
    };
    const text = 'app=web,example.org/tier=,a in (x,y),b notin (z),c,!d';
    assert.equal(printLabelSelector(labelRequirements(selector)), text);
    assert.deepEqual(parseLabelSelector(text), labelRequirements(selector));
  });

  it('with an unknown operator cannot be written', () => {
    const selector = { matchExpressions: [requirement('a', 'Like', 'x')] };
    assert.throws(() => labelRequirements(selector), RangeError);
  });

  const key = fc.constantFrom('a', 'b', 'example.org/c', 'constructor');
  const value = fc.constantFrom('', 'x', 'y', 'z');
  const requirements: fc.Arbitrary<readonly LabelRequirement[]> = fc.array(
    fc.oneof(
      fc.record({
        key,
        operator: fc.constantFrom('In' as const, 'NotIn' as const),
        values: fc.array(value, { minLength: 1, maxLength: 3 }),
      }),
      fc.record({
        key,
        operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const),
        values: fc.constant([]),
      }),
    ),
    { maxLength: 3 },
  );

  it('selects the same in each of its forms', () => {
    fc.assert(
      fc.property(requirements, fc.dictionary(key, value), (expected, subject) => {
        const isSelected = matchesLabels(expected, subject);
        assert.equal(matchesLabels(parseLabelSelector(printLabelSelector(expected)), subject), isSelected);
        assert.equal(selects({ matchExpressions: expected }, subject), isSelected);
        assert.equal(matchesLabels(labelRequirements({ matchExpressions: expected }), subject), isSelected);
      }),
    );
  });
});

describe('labelSelectorText', () => {
  it('says the same as the object', () => {
    const selector: LabelSelector = {
      matchLabels: { app: 'web', empty: '' },
      matchExpressions: [
        { key: 'example.com/tier', operator: 'In', values: ['front', 'back'] },
        { key: 'app', operator: 'NotIn', values: ['db'] },
        { key: 'missing', operator: 'DoesNotExist' },
        { key: 'app', operator: 'Exists' },
      ],
    };
    const text = labelSelectorText(selector);
    assert.equal(text, 'app=web,empty=,example.com/tier in (front,back),app notin (db),!missing,app');
    for (const form of [text, selector]) {
      assert.equal(labelMatcher(form)({ metadata: { name: 'a', labels } }), true);
      assert.equal(labelMatcher(form)({ metadata: { name: 'a', labels: { ...labels, app: 'db' } } }), false);
      assert.equal(labelMatcher(form)({ metadata: { name: 'a' } }), false);
    }
    assert.equal(labelSelectorText({}), '');
    assert.equal(isLabelSelector(text), true);
  });

  for (const text of ['', 'a = b', 'a=b,', 'a..b/c=d', 'a/b/c', `${'a'.repeat(254)}/b`, 'a in ()', 'a=b\n']) {
    it(`does not have the form ${JSON.stringify(text).slice(0, 30)}`, () => {
      assert.equal(isLabelSelector(text), false);
    });
  }

  const wrong: readonly LabelSelector[] = [
    { matchLabels: { app: 'a,b' } },
    { matchLabels: { 'a=b': 'c' } },
    { matchExpressions: [{ key: 'app', operator: 'In', values: [] }] },
    { matchExpressions: [{ key: 'app', operator: 'Exists', values: ['a'] }] },
    { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['a)'] }] },
  ];
  for (const selector of wrong) {
    it(`refuses ${JSON.stringify(selector)}`, () => {
      assert.throws(() => labelSelectorText(selector), SyntaxError);
    });
  }
});
