import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherSpecSource } from '../../../src/api/configwatcher.generated.ts';
import {
  changedKeys,
  changeId,
  combinedHash,
  contentHash,
  hashScheme,
  isNamed,
  isSameHash,
  keyDigests,
  keysHash,
  shortHash,
  shortName,
  statusName,
} from '../../../src/configwatcher/plan/config-hash.ts';
import type { ConfigMap } from '../../../src/kubernetes/objects.ts';
import { fc } from '../../fixtures/property.ts';

type Content = Pick<ConfigMap, 'data' | 'binaryData'>;

const configMap: ConfigWatcherSpecSource = { kind: 'ConfigMap', name: 'webapp-config', keys: [] };
const secret: ConfigWatcherSpecSource = { ...configMap, kind: 'Secret' };
const key = { id: 'k1', secret: Buffer.from('install key') };

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('contentHash', () => {
  it('is fixed: an upgrade that changed it would baseline every watcher', () => {
    const content = { data: { message: 'hello', ä: '' }, binaryData: { logo: 'AAEC' } };
    assert.equal(
      contentHash(configMap, content),
      'v1:52ea3ad9adee77962a8c4d0ad8261d73b26b8af3cff589096d8b1d67d16a05c8',
    );
  });

  const same: [string, Content, Content][] = [
    ['the order of keys', { data: { a: '1', b: '2' } }, { data: { b: '2', a: '1' } }],
    ['an empty data field', { data: {} }, {}],
  ];
  for (const [what, left, right] of same) {
    it(`does not depend on ${what}`, () => {
      assert.equal(contentHash(configMap, left), contentHash(configMap, right));
    });
  }

  const different: [string, Content | undefined, Content | undefined][] = [
    ['a value', { data: { a: '1' } }, { data: { a: '2' } }],
    ['a key with an empty value', { data: {} }, { data: { a: '' } }],
    ['where a key ends', { data: { a: 'bc' } }, { data: { ab: 'c' } }],
    ['where one entry ends', { data: { a: '1', b: '2' } }, { data: { a: '1b2' } }],
    ['data from binaryData', { data: { a: 'x' } }, { binaryData: { a: base64('x') } }],
    ['absence from emptiness', undefined, {}],
    ['composed from decomposed letters', { data: { a: '\u00e9' } }, { data: { a: 'e\u0301' } }],
  ];
  for (const [what, left, right] of different) {
    it(`tells ${what}`, () => {
      assert.notEqual(contentHash(configMap, left), contentHash(configMap, right));
    });
  }

  it('tells objects and kinds with the same data apart', () => {
    const content = { data: { a: base64('1') } };
    const hashes = [configMap, { ...configMap, name: 'other' }, secret].map((source) =>
      contentHash(source, content),
    );
    assert.equal(new Set(hashes).size, 3);
  });

  it('counts only the keys asked for', () => {
    const only = { ...configMap, keys: ['a'] };
    assert.equal(
      contentHash(only, { data: { a: '1', b: '2' } }),
      contentHash(only, { data: { a: '1', b: '3' } }),
    );
    assert.notEqual(contentHash(only, { data: { a: '1' } }), contentHash(only, { data: { a: '2' } }));
  });

  it('of a Secret can be keyed, and says with which key', () => {
    const content = { data: { password: base64('geheim') } };
    const hash = contentHash(secret, content, key);
    assert.match(hash, /^v1-hmac-k1:[0-9a-f]{64}$/);
    assert.notEqual(hash.split(':')[1], contentHash(secret, content).split(':')[1]);
    assert.equal(hashScheme(hash), 'v1-hmac-k1');
  });

  it('is equal exactly for equal contents', () => {
    const data = fc.dictionary(fc.stringMatching(/^[-._a-zA-Z0-9]{1,4}$/), fc.string({ maxLength: 4 }));
    const content = fc.record({
      data,
      binaryData: fc.dictionary(fc.constantFrom('x', 'y'), fc.base64String()),
    });
    const canonical = ({ data = {}, binaryData = {} }: Content) =>
      JSON.stringify([Object.entries(data).sort(), Object.entries(binaryData).sort()]);
    fc.assert(
      fc.property(content, content, (left, right) => {
        assert.equal(
          contentHash(configMap, left) === contentHash(configMap, right),
          canonical(left) === canonical(right),
        );
      }),
    );
  });
});

describe('keysHash', () => {
  it('does not depend on order or repetition, and all keys have none', () => {
    assert.equal(keysHash(['a', 'b']), keysHash(['b', 'a', 'a']));
    assert.notEqual(keysHash(['a', 'b']), keysHash(['ab']));
    assert.equal(keysHash([]), undefined);
  });
});

describe('what a status without room keeps', () => {
  it('of a name is 20 characters, the same of the name and of what status says of it', () => {
    const long = `${'n'.repeat(200)}a`;
    assert.match(shortName(long), /^n{7}~[0-9a-f]{12}$/);
    assert.equal(shortName(statusName(long)), shortName(long));
    assert.equal(shortName(shortName(long)), shortName(long));
    assert.equal(shortName('n'.repeat(20)), 'n'.repeat(20));
    for (const name of [long, 'n'.repeat(40), 'short']) {
      assert.ok(isNamed(statusName(name), name) && isNamed(shortName(statusName(name)), name));
      assert.ok(!isNamed(statusName(name), `${name}b`) && !isNamed(shortName(name), `${name}b`));
    }
  });

  it('of a hash tells contents and schemes apart', () => {
    const [one, other] = ['v1:', 'v1-hmac-01234567:'].map(
      (scheme) => `${scheme}${'0123456789abcdef'.repeat(4)}`,
    );
    assert.equal(shortHash(one ?? ''), 'v1:0123456789abcdef01234567');
    assert.ok(isSameHash(one ?? '', shortHash(one ?? '')) && isSameHash(shortHash(one ?? ''), one ?? ''));
    assert.ok(!isSameHash(shortHash(one ?? ''), other ?? ''));
    assert.ok(!isSameHash(one ?? '', `${one?.slice(0, -1)}0`), 'whole ones are compared to the end');
  });

  it('has the same combined hash', () => {
    const hash = `v1:${'ab'.repeat(32)}`;
    const sources = ['a'.repeat(63), 'b'].map((name) => ({ kind: 'ConfigMap', name, hash }) as const);
    const shortened = sources.map((one) => ({
      ...one,
      name: shortName(one.name),
      hash: shortHash(one.hash),
    }));
    assert.equal(combinedHash(shortened), combinedHash(sources));
  });
});

describe('combinedHash', () => {
  const one = { kind: 'ConfigMap', name: 'a', hash: 'v1:1' } as const;
  const two = { kind: 'Secret', name: 'a', hash: 'v1:2' } as const;

  it('of one source is its own, of none is none', () => {
    assert.equal(combinedHash([one]), 'v1:1');
    assert.equal(combinedHash([]), undefined);
  });

  it('does not depend on the order of the sources, but on each of them', () => {
    assert.equal(combinedHash([one, two]), combinedHash([two, one]));
    assert.notEqual(combinedHash([one, two]), combinedHash([one, { ...two, hash: 'v1:3' }]));
    assert.notEqual(combinedHash([one, two]), combinedHash([one, { ...two, keysHash: 'v1:k' }]));
  });
});

describe('changedKeys', () => {
  it('names what was added, removed and changed', () => {
    const before = keyDigests(configMap, { data: { same: '1', gone: '1', other: '1' } });
    const after = keyDigests(configMap, { data: { same: '1', other: '2', added: '1' } });
    assert.deepEqual(changedKeys(before, after), ['added', 'gone', 'other']);
    assert.deepEqual(changedKeys(after, keyDigests(configMap, undefined)), ['added', 'other', 'same']);
  });
});

describe('changeId', () => {
  it('is short, the same for a retry and another for the next change', () => {
    assert.match(changeId('v1:1', 5), /^[0-9a-f]{10}$/);
    assert.equal(changeId('v1:1', 5), changeId('v1:1', 5));
    assert.notEqual(changeId('v1:1', 5), changeId('v1:1', 6));
  });
});
