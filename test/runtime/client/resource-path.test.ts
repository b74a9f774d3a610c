import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { configMaps } from '../../../src/kubernetes/objects.ts';
import {
  collectionPath,
  creationPath,
  objectPath,
  resourceOf,
  withQuery,
} from '../../../src/runtime/client/resource-path.ts';

const ats = { group: 'example.com', version: 'v1', plural: 'ats', kind: 'At', namespaced: true };
const nodes = { group: '', version: 'v1', plural: 'nodes', kind: 'Node', namespaced: false };

describe('paths', () => {
  const rows = [
    { path: collectionPath(configMaps), is: '/api/v1/configmaps' },
    { path: collectionPath(configMaps, ''), is: '/api/v1/configmaps' },
    { path: collectionPath(configMaps, 'n'), is: '/api/v1/namespaces/n/configmaps' },
    { path: collectionPath(ats, 'n'), is: '/apis/example.com/v1/namespaces/n/ats' },
    { path: collectionPath(nodes, 'ignored'), is: '/api/v1/nodes' },
    { path: objectPath(nodes, { name: 'a' }), is: '/api/v1/nodes/a' },
    {
      path: objectPath(ats, { namespace: 'n', name: 'a' }, 'status'),
      is: '/apis/example.com/v1/namespaces/n/ats/a/status',
    },
    {
      path: objectPath(ats, { namespace: 'n', name: 'system:x y' }),
      is: '/apis/example.com/v1/namespaces/n/ats/system%3Ax%20y',
    },
    { path: creationPath(ats, 'n'), is: '/apis/example.com/v1/namespaces/n/ats' },
  ];
  for (const { path, is } of rows) test(is, () => assert.equal(path, is));
});

describe('a path can never grow to more than one object', () => {
  for (const name of ['', '.', '..', 'a/b', '../b', '%2e%2e']) {
    test(`the name ${JSON.stringify(name)} is refused`, () => {
      assert.throws(() => objectPath(ats, { namespace: 'n', name }), TypeError);
      assert.throws(() => objectPath(nodes, { name }), TypeError);
    });
  }
  for (const namespace of [undefined, '', '..']) {
    test(`the namespace ${JSON.stringify(namespace)} is refused`, () => {
      const key = namespace === undefined ? { name: 'a' } : { namespace, name: 'a' };
      assert.throws(() => objectPath(ats, key), TypeError);
      assert.throws(() => creationPath(ats, namespace), TypeError);
    });
  }
});

test('a query leaves out what has no value, and encodes the rest', () => {
  const path = withQuery('/x', { a: undefined, b: '', labelSelector: 'k in (a,b)', limit: 5, watch: true });
  assert.equal(path, '/x?labelSelector=k%20in%20(a%2Cb)&limit=5&watch=true');
  assert.equal(withQuery('/x', { a: undefined }), '/x');
});

describe('what a path is about', () => {
  const rows = [
    { path: collectionPath(configMaps), is: 'configmaps' },
    { path: `${creationPath(configMaps, 'n')}?timeout=4s`, is: 'configmaps' },
    { path: objectPath(configMaps, { namespace: 'n', name: 'a' }), is: 'configmaps' },
    { path: objectPath(ats, { namespace: 'n', name: 'a' }, 'status'), is: 'ats.example.com/status' },
    {
      path: `${objectPath(ats, { namespace: 'n', name: 'a' }, 'status')}?timeout=4s`,
      is: 'ats.example.com/status',
    },
    { path: objectPath(nodes, { name: 'a' }), is: 'nodes' },
    { path: '/api/v1/namespaces', is: 'namespaces' },
    { path: '/api/v1/namespaces/n', is: 'namespaces' },
    { path: '/version', is: undefined },
  ];
  for (const { path, is } of rows) {
    test(`${path} is about ${is}`, () => assert.equal(resourceOf(path), is));
  }
});
