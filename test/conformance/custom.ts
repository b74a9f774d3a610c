/**
 * Conformance of custom resources: a definition begins and ends what is served; its schema drops, fills in and
 * refuses; its rules see the object as it is and as it was.
 */
import assert from 'node:assert/strict';
import type { RawAnswer, RawRequests } from './raw-requests.ts';
import {
  assertRefused,
  type ConformanceRow,
  eventually,
  newName,
  type Subject,
  succeeded,
} from './subject.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const group = 'rules.example.com';
const text = { type: 'string' };
const either = [{ required: ['a'] }, { required: ['b'] }];
const twoTexts = { type: 'object', properties: { a: text, b: text } };

const fields = {
  n: { type: 'integer', minimum: 1, maximum: 10, multipleOf: 2 },
  i32: { type: 'integer', format: 'int32' },
  f: { type: 'number', exclusiveMinimum: true, minimum: 0 },
  s: { type: 'string', minLength: 2, maxLength: 5, pattern: '^[a-z]+$' },
  e: { type: 'string', enum: ['a', 'b'] },
  b: { type: 'boolean' },
  d: { type: 'string', format: 'date-time' },
  m: { type: 'object', additionalProperties: text, maxProperties: 2, minProperties: 1 },
  l: { type: 'array', items: text, maxItems: 2, minItems: 1, 'x-kubernetes-list-type': 'set' },
  lm: {
    type: 'array',
    maxItems: 5,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['k'],
    items: {
      type: 'object',
      required: ['k'],
      properties: {
        k: text,
        v: {
          type: 'integer',
          'x-kubernetes-validations': [{ rule: 'self >= oldSelf', message: 'must not shrink' }],
        },
      },
    },
  },
  ios: { 'x-kubernetes-int-or-string': true },
  nul: { type: 'string', nullable: true },
  one: { ...twoTexts, oneOf: either },
  any: { ...twoTexts, anyOf: either },
  free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  x: {
    type: 'object',
    properties: { min: { type: 'integer' }, max: { type: 'integer' } },
    'x-kubernetes-validations': [
      {
        rule: '!has(self.max) || self.min <= self.max',
        messageExpression: "self.max > 1 ? 'over a lot' : ''",
        message: 'over a little',
      },
      { rule: 'has(self.min)', reason: 'FieldValueRequired', fieldPath: '.min' },
      {
        rule: '!has(self.max) || self.max != 13',
        reason: 'FieldValueDuplicate',
        fieldPath: '.max',
        message: 'dup',
      },
    ],
  },
  once: {
    type: 'string',
    maxLength: 10,
    'x-kubernetes-validations': [
      { rule: 'self == oldSelf', reason: 'FieldValueForbidden', message: 'is immutable' },
      { rule: "oldSelf.hasValue() || self != 'late'", optionalOldSelf: true, message: 'is too late' },
      { rule: "self != 'odd'", message: 'is odd' },
    ],
  },
  def: { type: 'object', default: {}, properties: { a: { type: 'string', default: 'q' } } },
};

function definition(plural: string, kind: string) {
  const schema = {
    openAPIV3Schema: {
      type: 'object',
      properties: {
        spec: { type: 'object', properties: fields },
        status: { type: 'object', properties: { phase: { type: 'string', enum: ['A', 'B'] } } },
      },
    },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          selectableFields: [{ jsonPath: '.spec.s' }],
          schema,
        },
      ],
    },
  };
}

interface Things {
  readonly path: string;
  readonly definition: string;
  body(spec: object, name?: string): object;
}

/** Creates the definition and waits until it is served. */
async function define({ api, namespace }: Subject, plural: string, kind: string): Promise<Things> {
  const path = `/apis/${group}/v1/namespaces/${namespace}/${plural}`;
  const place = `${definitions}/${plural}.${group}`;
  if ((await api.send('GET', place)).code === 404) {
    succeeded(await api.send('POST', definitions, { body: definition(plural, kind) }));
  }
  await eventually(async () => (await api.send('GET', path)).code === 200);
  const body = (spec: object, name = newName('t')) => ({
    apiVersion: `${group}/v1`,
    kind,
    metadata: { name },
    spec,
  });
  return { path, definition: place, body };
}

const type = (field: string, wanted: string, actual: string) =>
  `spec.${field}: Invalid value: "${actual}": spec.${field} in body must be of type ${wanted}: "${actual}"`;
const unchecked =
  '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

/** A spec, and what is wrong with it. */
const refusals: readonly (readonly [spec: object, errors: readonly string[]])[] = [
  [{ n: 0 }, ['spec.n: Invalid value: 0: spec.n in body should be greater than or equal to 1']],
  [
    { n: 11 },
    [
      'spec.n: Invalid value: 11: spec.n in body should be a multiple of 2',
      'spec.n: Invalid value: 11: spec.n in body should be less than or equal to 10',
    ],
  ],
  [{ n: 'x' }, [type('n', 'integer', 'string'), unchecked]],
  [
    { n: 1.5 },
    [
      type('n', 'integer', 'number'),
      '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.n',
      'spec.n: Invalid value: 1.5: spec.n in body should be a multiple of 2',
      unchecked,
    ],
  ],
  [
    { i32: 3e9 },
    ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.i32'],
  ],
  [
    { i32: 1.5 },
    [
      type('i32', 'int32', 'float64'),
      '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.i32',
      unchecked,
    ],
  ],
  [{ f: 0 }, ['spec.f: Invalid value: 0: spec.f in body should be greater than 0']],
  [{ s: 'a' }, ['spec.s: Invalid value: "a": spec.s in body should be at least 2 chars long']],
  [{ s: 'abcdef' }, ['spec.s: Too long: may not be more than 5 bytes', unchecked]],
  [{ s: 'AB' }, [`spec.s: Invalid value: "AB": spec.s in body should match '^[a-z]+$'`]],
  [{ e: 'c' }, ['spec.e: Unsupported value: "c": supported values: "a", "b"', unchecked]],
  [{ b: 'x' }, [type('b', 'boolean', 'string'), unchecked]],
  [{ d: '2020-01-01' }, [type('d', 'date-time', '2020-01-01'), unchecked]],
  [{ m: {} }, ['spec.m: Invalid value: 0: spec.m in body should have at least 1 properties']],
  [{ m: { a: '1', b: '2', c: '3' } }, ['spec.m: Too many: 3: must have at most 2 items', unchecked]],
  [{ m: { a: 1 } }, [type('m.a', 'string', 'integer'), unchecked]],
  [{ l: [] }, ['spec.l: Invalid value: 0: spec.l in body should have at least 1 items']],
  [{ l: ['a', 'b', 'c'] }, ['spec.l: Too many: 3: must have at most 2 items', unchecked]],
  [{ l: ['a', 'a'] }, ['spec.l[1]: Duplicate value: "a"']],
  [{ l: [1] }, [type('l[0]', 'string', 'integer'), unchecked]],
  [{ lm: [{ k: 'a' }, { k: 'a' }] }, ['spec.lm[1]: Duplicate value: {"k":"a"}']],
  [{ lm: [{}] }, ['spec.lm[0].k: Required value', unchecked]],
  [{ ios: true }, [type('ios', 'integer,string', 'boolean'), unchecked]],
  [
    { one: {} },
    [
      '<nil>: Invalid value: "": "spec.one" must validate one and only one schema (oneOf). Found none valid',
      'spec.one.a: Required value',
      unchecked,
    ],
  ],
  [
    { one: { a: '1', b: '2' } },
    [
      '<nil>: Invalid value: "": "spec.one" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ],
  ],
  [
    { any: {} },
    [
      '<nil>: Invalid value: "": "spec.any" must validate at least one schema (anyOf)',
      'spec.any.a: Required value',
      unchecked,
    ],
  ],
  [{ x: { min: 3, max: 2 } }, ['spec.x: Invalid value: over a lot']],
  [{ x: { min: 3, max: 1 } }, ['spec.x: Invalid value: over a little']],
  [{ x: {} }, ['spec.x.min: Required value: failed rule: has(self.min)']],
  [
    { x: { max: 2 } },
    [
      'spec.x: Invalid value: "object": no such key: min evaluating rule: over a little',
      'spec.x.min: Required value: failed rule: has(self.min)',
    ],
  ],
  [{ x: { min: 1, max: 13 } }, ['spec.x.max: Duplicate value']],
  [{ once: 'odd' }, ['spec.once: Invalid value: "odd": is odd']],
  [{ once: 'late' }, ['spec.once: Invalid value: "late": is too late']],
];

/** A spec, and what is stored of it. */
const accepted: readonly (readonly [spec: object, stored: object])[] = [
  [{}, { def: { a: 'q' } }],
  [{ nul: null }, { nul: null, def: { a: 'q' } }],
  [{ s: null }, { def: { a: 'q' } }],
  [{ def: null }, { def: { a: 'q' } }],
  [{ def: { a: 'z', b: 1 }, unknown: 5 }, { def: { a: 'z' } }],
  [{ free: { a: { b: [1, 'x'] } } }, { free: { a: { b: [1, 'x'] } }, def: { a: 'q' } }],
  [{ ios: '50%' }, { ios: '50%', def: { a: 'q' } }],
  [{ ios: 7 }, { ios: 7, def: { a: 'q' } }],
];

function errorsOf(answer: RawAnswer): string[] {
  const causes = assertRefused(answer, { code: 422, reason: 'Invalid', message: /is invalid: / });
  return causes.map(({ field, message }) => `${field}: ${message}`).sort();
}

async function patched(api: RawRequests, path: string, body: object): Promise<RawAnswer> {
  return api.send('PATCH', path, { body });
}

export const customRows: readonly ConformanceRow[] = [
  {
    title: 'a schema refuses in these words',
    async run(subject) {
      const { path, body } = await define(subject, 'things', 'Thing');
      for (const [spec, errors] of refusals) {
        const answer = await subject.api.send('POST', `${path}?dryRun=All`, { body: body(spec) });
        assert.deepEqual(errorsOf(answer), [...errors].sort(), JSON.stringify(spec));
        assert.match(answer.body.message, /^Thing\.rules\.example\.com "t-\d+" is invalid: /);
        assert.equal(answer.body.details.kind, 'Thing');
      }
    },
  },
  {
    title: 'a schema drops what it does not know and fills in what is not there',
    async run(subject) {
      const { path, body } = await define(subject, 'things', 'Thing');
      for (const [spec, stored] of accepted) {
        const answer = await subject.api.send('POST', `${path}?dryRun=All`, { body: body(spec) });
        assert.deepEqual(succeeded(answer).body.spec, stored, JSON.stringify(spec));
      }
      const strict = await subject.api.send('POST', `${path}?dryRun=All&fieldValidation=Strict`, {
        body: body({ unknown: 5, def: { b: 1 } }),
      });
      assertRefused(strict, {
        code: 400,
        reason: 'BadRequest',
        message:
          'Thing in version "v1" cannot be handled as a Thing: strict decoding error: unknown field "spec.def.b", unknown field "spec.unknown"',
      });
    },
  },
  {
    title: 'a rule compares with the old value, of a list of maps by its keys',
    async run(subject) {
      const { api } = subject;
      const { path, body } = await define(subject, 'things', 'Thing');
      const name = newName('t');
      const lm = [
        { k: 'a', v: 5 },
        { k: 'b', v: 1 },
      ];
      succeeded(await api.send('POST', path, { body: body({ lm, once: 'x' }, name) }));
      const place = `${path}/${name}`;
      const shrunk = [
        { k: 'b', v: 1 },
        { k: 'a', v: 4 },
      ];
      assert.deepEqual(errorsOf(await patched(api, place, { spec: { lm: shrunk } })), [
        'spec.lm[1].v: Invalid value: 4: must not shrink',
      ]);
      succeeded(
        await patched(api, place, {
          spec: {
            lm: [
              { k: 'a', v: 6 },
              { k: 'c', v: 0 },
            ],
          },
        }),
      );
      assert.deepEqual(errorsOf(await patched(api, place, { spec: { once: 'y' } })), [
        'spec.once: Forbidden: is immutable',
      ]);
      assert.deepEqual(errorsOf(await patched(api, place, { spec: { once: 'odd' } })), [
        'spec.once: Forbidden: is immutable',
        'spec.once: Invalid value: "odd": is odd',
      ]);
    },
  },
  {
    title: 'a status is validated by its own schema, and an object selected by its fields',
    async run(subject) {
      const { api } = subject;
      const { path, body } = await define(subject, 'things', 'Thing');
      const name = newName('t');
      succeeded(await api.send('POST', path, { body: body({ s: 'abc' }, name) }));
      assert.deepEqual(
        errorsOf(await patched(api, `${path}/${name}/status`, { status: { phase: 'C' } })),
        [unchecked, 'status.phase: Unsupported value: "C": supported values: "A", "B"'].sort(),
      );
      const { body: stored } = succeeded(
        await patched(api, `${path}/${name}/status`, { status: { phase: 'A', bogus: 1 } }),
      );
      assert.deepEqual(stored.status, { phase: 'A' });
      const found = succeeded(await api.send('GET', `${path}?fieldSelector=spec.s%3Dabc`));
      assert.deepEqual(
        found.body.items.map(({ kind }: { kind: string }) => kind),
        ['Thing'],
      );
      assertRefused(await api.send('GET', `${path}?fieldSelector=spec.n%3D1`), {
        code: 400,
        reason: 'BadRequest',
        message: 'field label not supported: spec.n',
      });
    },
  },
  {
    title: 'an object of another version or of no kind is a bad request',
    async run(subject) {
      const { api } = subject;
      const { path } = await define(subject, 'things', 'Thing');
      const metadata = { name: newName('t') };
      assertRefused(await api.send('POST', path, { body: { apiVersion: 'v1', kind: 'Thing', metadata } }), {
        code: 400,
        reason: 'BadRequest',
        message:
          'the API version in the data (v1) does not match the expected API version (rules.example.com/v1)',
      });
      assertRefused(await api.send('POST', path, { body: { metadata } }), {
        code: 400,
        reason: 'BadRequest',
        message:
          /^the object provided is unrecognized \(must be of type Thing\): Object 'Kind' is missing in/,
      });
    },
  },
  {
    title: 'a definition that is deleted takes its objects with it, ends its watches, and may come back',
    async run(subject) {
      const { api } = subject;
      const { path, definition, body } = await define(subject, 'passings', 'Passing');
      succeeded(await api.send('POST', path, { body: body({}) }));
      const watch = await api.watch(`${path}?watch=1&timeoutSeconds=60`);
      await watch.until(({ length }) => length >= 1);
      const deleted = succeeded(await api.send('DELETE', definition));
      assert.deepEqual(deleted.body.metadata.finalizers, ['customresourcecleanup.apiextensions.k8s.io']);
      await eventually(async () => (await api.send('GET', definition)).code === 404);
      await watch.ended;
      assert.equal(watch.events.at(-1)?.type, 'DELETED');
      await eventually(async () => (await api.send('GET', path)).code === 404);
      const gone = await api.send('GET', path);
      assert.equal(gone.text.trim(), '404 page not found');
      const again = await define(subject, 'passings', 'Passing');
      assert.deepEqual((await api.send('GET', again.path)).body.items, []);
    },
  },
  {
    title: 'a finalizer of an object holds the end of its definition',
    async run(subject) {
      const { api } = subject;
      const { path, definition, body } = await define(subject, 'holdings', 'Holding');
      const name = newName('t');
      succeeded(await api.send('POST', path, { body: body({}, name) }));
      const finalizers = ['conformance.example.com/hold'];
      succeeded(await patched(api, `${path}/${name}`, { metadata: { finalizers } }));
      succeeded(await api.send('DELETE', definition));
      await eventually(
        async () => (await api.send('GET', `${path}/${name}`)).body.metadata.deletionTimestamp !== undefined,
      );
      await eventually(async () => (await api.send('POST', path, { body: body({}) })).code === 403);
      assert.equal((await api.send('GET', definition)).code, 200);
      succeeded(await patched(api, `${path}/${name}`, { metadata: { finalizers: null } }));
      await eventually(async () => (await api.send('GET', definition)).code === 404);
    },
  },
];
