import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { Store } from '../../../src/runtime/cache/store.ts';
import { type Widget, widget } from './widget.ts';

const byOwner = ({ spec }: Widget) => (spec?.owner === undefined ? [] : [spec.owner]);

describe('Store', () => {
  let store: Store<Widget>;

  beforeEach(() => {
    store = new Store();
  });

  it('finds objects by namespace and name', () => {
    const one = widget({ namespace: 'one' });
    const two = widget({ namespace: 'two' });
    store.set(one);
    store.set(two);
    assert.equal(store.get('one', 'a'), one);
    assert.equal(store.get('two', 'a'), two);
    assert.equal(store.get('two', 'b'), undefined);
    assert.deepEqual(store.list('two'), [two]);
    assert.deepEqual(store.list(), [one, two]);
    assert.equal(store.size, 2);
  });

  it('filters by labels, fields and namespace', () => {
    const labelled = (name: string, namespace: string, app?: string): Widget => ({
      metadata: { name, namespace, ...(app !== undefined && { labels: { app } }) },
      spec: { owner: name },
    });
    for (const object of [
      labelled('a', 'x', 'web'),
      labelled('b', 'x', 'db'),
      labelled('c', 'y', 'web'),
      labelled('d', 'y'),
    ])
      store.set(object);
    const found = (...args: Parameters<Store<Widget>['list']>) =>
      store.list(...args).map(({ metadata }) => metadata.name);
    assert.deepEqual(found(undefined, { labelSelector: 'app=web' }), ['a', 'c']);
    assert.deepEqual(found('x', { labelSelector: 'app!=web' }), ['b']);
    const matchExpressions = [{ key: 'app', operator: 'Exists' }];
    assert.deepEqual(found('y', { labelSelector: { matchExpressions } }), ['c']);
    assert.deepEqual(found(undefined, { labelSelector: {}, matches: ({ spec }) => spec?.owner === 'd' }), [
      'd',
    ]);
    assert.throws(() => found(undefined, { labelSelector: 'a b' }), SyntaxError);
  });

  it('keeps cluster-scoped objects under the empty namespace', () => {
    const object: Widget = { metadata: { name: 'a' } };
    store.set(object);
    assert.equal(store.get('', 'a'), object);
  });

  it('replaces and deletes', () => {
    store.set(widget({ rv: 1 }));
    store.set(widget({ rv: 2 }));
    assert.equal(store.size, 1);
    store.delete('default', 'a');
    store.delete('default', 'a');
    store.delete('elsewhere', 'a');
    assert.equal(store.size, 0);
    assert.deepEqual(store.list(), []);
  });

  it('moves an object from one index value to another', () => {
    store.addIndex('owner', byOwner);
    store.set(widget({ name: 'a', spec: { owner: 'x' } }));
    store.set(widget({ name: 'b', spec: { owner: 'x' } }));
    store.set(widget({ name: 'a', spec: { owner: 'y' } }));
    assert.deepEqual(names('x'), ['b']);
    assert.deepEqual(names('y'), ['a']);
    store.delete('default', 'a');
    assert.deepEqual(names('y'), []);
  });

  it('indexes what it holds when an index is added later', () => {
    store.set(widget({ spec: { owner: 'x' } }));
    store.addIndex('owner', byOwner);
    assert.deepEqual(names('x'), ['a']);
  });

  it('finds an object under each of its values, given twice or not', () => {
    store.addIndex('owner', () => ['x', 'y', 'x']);
    store.set(widget());
    assert.deepEqual(names('x'), ['a']);
    assert.deepEqual(names('y'), ['a']);
    store.delete('default', 'a');
    assert.deepEqual(names('x'), []);
  });

  it('rejects unknown and doubled index names', () => {
    store.addIndex('owner', byOwner);
    assert.throws(() => store.byIndex('colour', 'x'), /no index named "colour"/);
    assert.throws(() => store.addIndex('owner', () => []), /already an index named "owner"/);
  });

  function names(owner: string): string[] {
    return store.byIndex('owner', owner).map(({ metadata }) => metadata.name);
  }
});
