import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseFieldSelector, parseLabelSelector } from '../../../src/runtime/cache/selector.ts';

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
      assert.equal(parseLabelSelector(selector)(labels), holds);
    });
  }

  it('takes absent labels as none', () => {
    assert.equal(parseLabelSelector('app')(undefined), false);
    assert.equal(parseLabelSelector('!app')(undefined), true);
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
      assert.equal(parseFieldSelector(selector)(pod), holds);
    });
  }

  it('refuses what is none', () => {
    assert.throws(() => parseFieldSelector('metadata.name'), SyntaxError);
  });
});
