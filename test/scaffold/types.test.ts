/** Types of CRDs that others wrote. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { crdsIn } from '../../src/scaffold/crd.ts';
import { constantOf, printKinds } from '../../src/scaffold/types.ts';

/** A CRD with two versions; `spec` is YAML in flow style. */
const crd = (spec: string, more = '') => `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: example.com
  scope: Cluster
  names: { kind: Backup, plural: backups }
  versions:
    - { name: v1beta1, storage: false, schema: { openAPIV3Schema: { type: object } } }
    - name: v1
      storage: true
      schema: { openAPIV3Schema: { type: object, properties: { spec: ${spec} } } }
${more}`;

const print = (spec: string) => printKinds(['crd.yaml'], crdsIn('crd.yaml', crd(spec)));

suite('types of a CRD', () => {
  test('are of the version that is stored, with where the objects live', () => {
    const text = print('{ type: object, properties: { days: { type: integer, default: 3 } } }');
    assert.match(text, /import type \{ KubernetesObject, Resource \} from '@atwatch\/runtime';/);
    assert.match(
      text,
      /export interface Backup extends KubernetesObject \{\n {2}readonly spec\?: BackupSpec;\n\}/,
    );
    assert.match(text, /\/\*\* Default 3\. \*\/\n {2}readonly days\?: number;/);
    assert.match(
      text,
      /export const backups: Resource<Backup> = \{\n {2}group: 'example.com',\n {2}version: 'v1',/,
    );
    assert.match(text, /namespaced: false/);
    assert.doesNotMatch(text, /status: true/);
  });

  test('say whether there is a status subresource, which a Manager looks for at its start', () => {
    const withStatus = crd('{ type: object }').replace(
      'name: v1\n',
      'name: v1\n      subresources: { status: {} }\n',
    );
    assert.match(
      printKinds(['crd.yaml'], crdsIn('crd.yaml', withStatus)),
      /namespaced: false,\n {2}status: true,\n/,
    );
  });

  const rows = [
    [
      'any value where the schema says nothing',
      '{ x-kubernetes-preserve-unknown-fields: true }',
      'a?: unknown;',
    ],
    ['any fields', '{ type: object }', 'a?: Readonly<Record<string, unknown>>;'],
    ['numbers or strings', '{ x-kubernetes-int-or-string: true }', 'a?: number | string;'],
    [
      'lists of choices',
      '{ type: array, items: { type: string, enum: [x, y] } }',
      'a?: readonly BackupSpecA[];',
    ],
    ['comments that end a comment', '{ type: string, description: "a */ b" }', '/** a * / b */'],
  ] as const;
  for (const [what, schema, expected] of rows) {
    test(`has ${what}`, () => {
      assert.ok(print(`{ type: object, properties: { a: ${schema} } }`).includes(expected));
    });
  }

  test('quotes names that are no identifiers', () => {
    assert.match(
      print('{ type: object, properties: { "a-b": { type: string } } }'),
      /readonly 'a-b'\?: string;/,
    );
  });

  test('are of each CRD of a file with other objects', () => {
    const file = `${crd('{ type: object }')}\n---\nkind: ConfigMap\n---\n${crd('{ type: object }').replaceAll('Backup', 'Restore')}`;
    const kinds = crdsIn('all.yaml', file).map(({ kind }) => kind);
    assert.deepEqual(kinds, ['Backup', 'Restore']);
    assert.throws(() => crdsIn('none.yaml', 'kind: ConfigMap'), /none\.yaml has no CustomResourceDefinition/);
  });

  test('name a collection as the kind is written', () => {
    assert.equal(constantOf('ConfigMap', 'configmaps'), 'configMaps');
    assert.equal(constantOf('NetworkPolicy', 'networkpolicies'), 'networkPolicies');
    assert.equal(constantOf('CSIDriver', 'csidrivers'), 'csiDrivers');
    assert.equal(constantOf('APIService', 'apiservices'), 'apiServices');
    assert.equal(constantOf('Endpoints', 'endpoints'), 'endpoints');
  });
});
