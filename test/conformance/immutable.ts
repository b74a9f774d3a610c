/** Conformance of immutable ConfigMaps and Secrets. */
import assert from 'node:assert/strict';
import { assertRefused, type ConformanceRow, newName, pathsOf, type Subject, succeeded } from './subject.ts';

const why = 'field is immutable when `immutable` is set';

interface Kind {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly plural: 'configMaps' | 'secrets';
}

const kinds: readonly Kind[] = [
  { kind: 'ConfigMap', plural: 'configMaps' },
  { kind: 'Secret', plural: 'secrets' },
];

/** Values of a Secret are base64, which are values of a ConfigMap as well. */
const [one, two] = ['b25l', 'dHdv'];

/** An immutable one, or one with these fields. */
async function created({ api, namespace }: Subject, { plural }: Kind, fields: object = { immutable: true }) {
  const collection = pathsOf(namespace)[plural];
  const name = newName('fixed');
  const body = { metadata: { name }, data: { a: one }, ...fields };
  const { body: object } = succeeded(await api.send('POST', collection, { body }));
  return { collection, name, path: `${collection}/${name}`, object };
}

/** The refusal of a change of these fields. */
function refusalOf({ kind }: Kind, name: string, fields: readonly string[]) {
  const errors = fields.map((field) => `${field}: Forbidden: ${why}`);
  const text = errors.length === 1 ? errors[0] : `[${errors.join(', ')}]`;
  const message = `${kind} "${name}" is invalid: ${text}`;
  const causes = fields.map((field) => ({
    ...{ reason: 'FieldValueForbidden', message: `Forbidden: ${why}`, field },
  }));
  return { expected: { code: 422, reason: 'Invalid', message }, causes };
}

export const immutableRows: readonly ConformanceRow[] = kinds.flatMap((kind): ConformanceRow[] => [
  {
    title: `an immutable ${kind.kind} keeps its data and stays immutable, whatever asks for a change`,
    async run(subject) {
      const { api } = subject;
      const { name, path, object } = await created(subject, kind);
      const changes: readonly (readonly [object, readonly string[]])[] = [
        [{ data: { a: two } }, ['data']],
        [{ data: { b: two } }, ['data']],
        [{ data: { a: null } }, ['data']],
        [{ data: null }, ['data']],
        [{ immutable: false }, ['immutable']],
        [{ immutable: null }, ['immutable']],
        [{ immutable: null, data: { a: two }, metadata: { labels: { a: 'b' } } }, ['immutable', 'data']],
      ];
      for (const [body, fields] of changes) {
        const { expected, causes } = refusalOf(kind, name, fields);
        for (const query of ['', '?dryRun=All']) {
          const answer = await api.send('PATCH', `${path}${query}`, { body });
          assert.deepEqual(assertRefused(answer, expected), causes);
          assert.deepEqual(
            [answer.body.details.name, answer.body.details.kind, answer.body.details.causes],
            [name, kind.kind, causes],
          );
        }
      }
      const { immutable: _, ...mutable } = object;
      const put = await api.send('PUT', path, { body: { ...mutable, data: { a: two } } });
      assertRefused(put, refusalOf(kind, name, ['immutable', 'data']).expected);
      const operations = JSON.stringify([{ op: 'replace', path: '/data/a', value: two }]);
      const json = { body: operations, contentType: 'application/json-patch+json' };
      assertRefused(await api.send('PATCH', path, json), refusalOf(kind, name, ['data']).expected);
      assert.deepEqual(succeeded(await api.send('GET', path)).body, object);
    },
  },
  {
    title: `the metadata of an immutable ${kind.kind} may change, also beside the same data`,
    async run(subject) {
      const { api } = subject;
      const { path, object } = await created(subject, kind);
      const metadata = { labels: { a: 'b' }, annotations: { c: 'd' }, finalizers: ['example.com/hold'] };
      const body = { metadata, immutable: true, data: { a: one } };
      const changed = succeeded(await api.send('PATCH', path, { body })).body;
      assert.notEqual(changed.metadata.resourceVersion, object.metadata.resourceVersion);
      const { labels, annotations, finalizers } = changed.metadata;
      assert.deepEqual({ labels, annotations, finalizers }, metadata);
      assert.deepEqual([changed.immutable, changed.data], [true, { a: one }]);
      const put = { ...changed, metadata: { ...changed.metadata, labels: {}, finalizers: [] } };
      const bare = succeeded(await api.send('PUT', path, { body: put })).body;
      assert.deepEqual(bare.metadata.labels ?? {}, {});
    },
  },
  {
    title: `an immutable ${kind.kind} can be deleted, and is then made again with other data that may change`,
    async run(subject) {
      const { api } = subject;
      const { collection, name, path, object } = await created(subject, kind);
      succeeded(await api.send('DELETE', path));
      const body = { metadata: { name }, data: { a: two } };
      const again = succeeded(await api.send('POST', collection, { body })).body;
      assert.notEqual(again.metadata.uid, object.metadata.uid);
      assert.equal(again.immutable, undefined);
      succeeded(await api.send('PATCH', path, { body: { data: { a: one } } }));
    },
  },
  {
    title: `a ${kind.kind} becomes immutable with its last change`,
    async run(subject) {
      const { api } = subject;
      const { name, path } = await created(subject, kind, { immutable: false });
      succeeded(await api.send('PATCH', path, { body: { data: { a: two } } }));
      const last = succeeded(await api.send('PATCH', path, { body: { data: { a: one }, immutable: true } }));
      assert.deepEqual([last.body.data, last.body.immutable], [{ a: one }, true]);
      const answer = await api.send('PATCH', path, { body: { data: { a: two } } });
      assertRefused(answer, refusalOf(kind, name, ['data']).expected);
    },
  },
  ...(kind.kind === 'ConfigMap' ? [binaryRow(kind)] : []),
]);

function binaryRow(kind: Kind): ConformanceRow {
  return {
    title: 'the binary data of an immutable ConfigMap stay as they are',
    async run(subject) {
      const { api } = subject;
      const { name, path } = await created(subject, kind, { immutable: true, binaryData: { b: one } });
      for (const [binaryData, data, fields] of [
        [{ b: two }, { a: one }, ['binaryData']],
        [null, { a: two }, ['data', 'binaryData']],
      ] as const) {
        const answer = await api.send('PATCH', path, { body: { binaryData, data } });
        const { expected, causes } = refusalOf(kind, name, fields);
        assert.deepEqual(assertRefused(answer, expected), causes);
      }
    },
  };
}
