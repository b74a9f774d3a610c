import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  deepFreeze,
  frozenCopy,
  isStorable,
  toCachedObject,
} from '../../../src/runtime/cache/cached-object.ts';
import { partial } from '../../../src/runtime/client/partial-object.ts';
import { type Widget, widget, widgets } from './widget.ts';

const whole = { metadataOnly: false, transform: undefined };

describe('toCachedObject', () => {
  it('freezes to the last leaf', () => {
    const object = toCachedObject(widgets, whole, widget({ labels: { app: 'web' }, spec: { size: 1 } }));
    assert.throws(() => Object.assign(object.metadata.labels ?? {}, { app: 'db' }), TypeError);
    assert.throws(() => Object.assign(object.spec ?? {}, { size: 2 }), TypeError);
    assert.throws(() => Object.assign(object, { status: {} }), TypeError);
  });

  it('drops managedFields and keeps unknown fields', () => {
    const raw = { ...widget({ managedFields: [{ manager: 'kubectl' }] }), unknown: { kept: true } };
    const object = toCachedObject<Widget>(widgets, whole, raw);
    assert.equal('managedFields' in object.metadata, false);
    assert.deepEqual(Reflect.get(object, 'unknown'), { kept: true });
  });

  it('gives the items of a typed list their apiVersion and kind', () => {
    const { apiVersion, kind } = toCachedObject<Widget>(widgets, whole, { metadata: { name: 'a' } });
    assert.deepEqual({ apiVersion, kind }, { apiVersion: 'example.com/v1', kind: 'Widget' });
  });

  it('leaves only the metadata where no more is wanted, with the kind of the thing', () => {
    const sent = {
      ...widget({ spec: { size: 1 } }),
      apiVersion: 'meta.k8s.io/v1',
      kind: 'PartialObjectMetadata',
    };
    const object = toCachedObject<Widget>(widgets, { ...whole, metadataOnly: true }, sent);
    assert.deepEqual(object, { ...widget(), [partial]: true });
  });

  it('stores what the transform makes of the object', () => {
    const small = ({ metadata }: Widget): Widget => ({ metadata, spec: { size: 0 } });
    const object = toCachedObject(widgets, { ...whole, transform: small }, widget({ spec: { owner: 'x' } }));
    assert.deepEqual(object, widget({ spec: { size: 0 } }));
  });

  it('leaves an object alone that another client has, whatever the transform keeps of it', () => {
    const owned = widget({ labels: { app: 'web' }, spec: { size: 1 } });
    const small = ({ metadata, spec }: Widget): Widget => ({ metadata, ...(spec && { spec }) });
    const object = toCachedObject(widgets, { ...whole, transform: small, copied: true }, owned);
    Object.assign(owned.spec ?? {}, { size: 2 });
    Object.assign(owned.metadata.labels ?? {}, { app: 'db' });
    assert.deepEqual(object, widget({ labels: { app: 'web' }, spec: { size: 1 } }));
  });
});

describe('deepFreeze', () => {
  it('copes with any depth', () => {
    let nested: object = {};
    for (let depth = 0; depth < 100_000; depth++) nested = [nested];
    assert.ok(Object.isFrozen(deepFreeze(nested)));
  });
});

describe('frozenCopy', () => {
  it('is equal, frozen to the last leaf, and leaves the original as it is', () => {
    const text = '{"a":[{"b":1},null,"x"],"c":{"d":{}},"__proto__":{"e":[]},"f":true}';
    const original = JSON.parse(text);
    const copy = frozenCopy(original);
    assert.equal(JSON.stringify(copy), text);
    assert.ok(Object.isFrozen(copy.a[0]) && Object.isFrozen(copy.c.d));
    original.a[0].b = 2;
    original.c.d.new = true;
    assert.equal(JSON.stringify(copy), text);
  });

  it('shares what is frozen already', () => {
    const frozen = Object.freeze({ a: 1 });
    assert.equal(frozenCopy({ frozen }).frozen, frozen);
  });

  it('copes with any depth', () => {
    let nested: object = {};
    for (let depth = 0; depth < 100_000; depth++) nested = [nested];
    assert.ok(Object.isFrozen(frozenCopy(nested)));
  });
});

describe('isStorable', () => {
  const rows: { what: string; object: unknown; storable: boolean }[] = [
    { what: 'an object with a name', object: { metadata: { name: 'a' } }, storable: true },
    { what: 'nothing', object: undefined, storable: false },
    { what: 'null', object: null, storable: false },
    { what: 'a string', object: 'a', storable: false },
    { what: 'no metadata', object: {}, storable: false },
    { what: 'null metadata', object: { metadata: null }, storable: false },
    { what: 'no name', object: { metadata: {} }, storable: false },
    { what: 'an empty name', object: { metadata: { name: '' } }, storable: false },
    { what: 'a number as the name', object: { metadata: { name: 1 } }, storable: false },
  ];
  for (const { what, object, storable } of rows) {
    it(`${storable ? 'accepts' : 'refuses'} ${what}`, () => assert.equal(isStorable(object), storable));
  }
});
