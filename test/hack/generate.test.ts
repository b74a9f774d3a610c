import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { appendFile, cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { printApiDocs } from '../../hack/generate/api-docs.ts';
import { describedValues, withValuesTable } from '../../hack/generate/chart.ts';
import { type Crd, readCrd, type Schema } from '../../src/scaffold/crd.ts';
import { printTypes } from '../../src/scaffold/types.ts';

const options = { header: '', objects: '../kubernetes/objects.ts', resource: false, schema: true };

/** A CRD with this spec and a status of one field. */
function crdWith(spec: Schema): Crd {
  const status: Schema = {
    type: 'object',
    description: 'Seen.',
    properties: { replicas: { type: 'integer', description: 'How many.' } },
  };
  const openAPIV3Schema: Schema = {
    type: 'object',
    description: 'CronTab runs.',
    required: ['spec'],
    properties: { spec: { type: 'object', description: 'Wanted.', ...spec }, status },
  };
  return {
    path: 'crds/crontabs.yaml',
    text: '',
    group: 'stable.example.com',
    kind: 'CronTab',
    plural: 'crontabs',
    shortNames: ['ct'],
    namespaced: true,
    version: { name: 'v1', schema: { openAPIV3Schema } },
  };
}

const rows: readonly { it: string; spec: Schema; prints: readonly string[]; omits?: RegExp }[] = [
  {
    it: 'a required and an optional field',
    spec: {
      required: ['cronSpec'],
      properties: {
        cronSpec: { type: 'string', description: 'When.' },
        replicas: { type: 'integer', description: 'How many.', default: 1 },
      },
    },
    prints: [
      '/** When. */\n  readonly cronSpec: string;',
      '/** How many. Default 1. */\n  readonly replicas?: number;',
      'export const cronTabSpecDefaults = { replicas: 1 } as const;',
    ],
  },
  {
    it: 'an enumeration as a union of its own name',
    spec: { properties: { policy: { type: 'string', enum: ['Fail', 'Retry'], description: 'x' } } },
    prints: ["export type CronTabSpecPolicy = 'Fail' | 'Retry';", 'readonly policy?: CronTabSpecPolicy;'],
  },
  {
    it: 'objects in lists as interfaces in the singular',
    spec: {
      properties: {
        windows: {
          type: 'array',
          description: 'x',
          items: {
            type: 'object',
            description: 'One.',
            properties: { open: { type: 'boolean', description: 'y' } },
          },
        },
      },
    },
    prints: ['readonly windows?: readonly CronTabSpecWindow[];', 'export interface CronTabSpecWindow {'],
  },
  {
    it: 'maps, free objects and numbers that may be strings',
    spec: {
      properties: {
        labels: { type: 'object', description: 'x', additionalProperties: { type: 'string' } },
        free: { type: 'object', description: 'x', 'x-kubernetes-preserve-unknown-fields': true },
        share: { description: 'x', 'x-kubernetes-int-or-string': true },
      },
    },
    prints: [
      'readonly labels?: Readonly<Record<string, string>>;',
      'readonly free?: Readonly<Record<string, unknown>>;',
      'readonly share?: number | string;',
    ],
  },
  {
    it: 'the defaults of an object together with those of its fields',
    spec: {
      properties: {
        debounce: {
          type: 'object',
          description: 'x',
          default: {},
          properties: { quiet: { type: 'string', description: 'x', default: '2s' } },
        },
      },
    },
    prints: ["export const cronTabSpecDefaults = { debounce: { quiet: '2s' } } as const;"],
  },
  {
    it: 'rules over one object, but none that compares two states',
    spec: {
      'x-kubernetes-validations': [
        { rule: "self.x != 'it''s'", message: 'must differ' },
        { rule: 'self == oldSelf', message: 'never changes' },
      ],
    },
    prints: ["rule: \"self.x != 'it''s'\"", "message: 'must differ'"],
    omits: /never changes/,
  },
];

for (const { it, spec, prints, omits } of rows) {
  test(`types: ${it}`, () => {
    const text = printTypes([crdWith({ properties: {}, ...spec })], options);
    for (const expected of prints) {
      assert.ok(text.includes(expected), `${expected}\nis not in\n${text}`);
    }
    assert.doesNotMatch(text, omits ?? /undefined/);
  });
}

test('types: what has no TypeScript is an error that names the field', () => {
  const crd = crdWith({ properties: { odd: { type: 'null', description: 'x' } } });
  assert.throws(() => printTypes([crd], options), /CronTabSpecOdd: no TypeScript for type null/);
});

test('docs: a field shows type, default, limits and refusals, safe for a table', () => {
  const text = printApiDocs([
    crdWith({
      required: ['cronSpec'],
      properties: {
        cronSpec: {
          type: 'string',
          description: 'When; a | b.',
          maxLength: 9,
          'x-kubernetes-validations': [
            { rule: 'a', message: 'must be * * * * *' },
            { rule: 'b', message: 'must be * * * * *' },
          ],
        },
        replicas: { type: 'integer', description: 'How many.', default: 1, minimum: 1, maximum: 5 },
      },
    }),
  ]);
  const stars = '*must be \\* \\* \\* \\* \\**';
  assert.ok(
    text.includes(
      `| \`cronSpec\` | string |  | When; a \\| b. **Required.** (at most 9 characters) Refused with ${stars}. |`,
    ),
    text,
  );
  assert.ok(text.includes('| `replicas` | integer | `1` | How many. (1 to 5) |'), text);
  assert.ok(text.includes('`kubectl get crontabs` or `kubectl get ct`'), text);
});

test('the CRD of the second group differs in its group alone', async () => {
  const [io, com] = await Promise.all(
    ['crds/configwatchers.yaml', 'crds/com/configwatchers.yaml'].map((path) => readCrd(path)),
  );
  assert.equal(com?.group, 'k8spatterns.com');
  assert.deepEqual(com?.version, io?.version);
});

test('chart: every value needs a description, that of a map may stand for all of it', () => {
  const values = [
    'image:',
    '  # -- The tag,',
    '  # or none.',
    '  tag: ""',
    '# -- Of nodes.',
    'labels: {a: b}',
  ];
  assert.deepEqual(describedValues(values.join('\n')), [
    { path: 'image.tag', preset: '', description: 'The tag, or none.' },
    { path: 'labels', preset: { a: 'b' }, description: 'Of nodes.' },
  ]);
  assert.throws(() => describedValues('a:\n  # tag\n  b: 1'), /a\.b has no comment "# -- \.\.\."/);
});

test('chart: the table of values takes the place of the one before', () => {
  const readme = ['before', '<!-- values: from x -->', 'old', '<!-- end of values -->', 'after'].join('\n');
  const table = '| value | default | |\n| --- | --- | --- |\n| `a` | `1` | One. |';
  assert.equal(withValuesTable(readme, '# -- One.\na: 1'), readme.replace('old', table));
});

/** A copy of what the generator reads and writes, to run it in. */
async function project(
  t: TestContext,
): Promise<{ directory: string; generate(...args: string[]): Promise<Run> }> {
  const directory = await mkdtemp(join(tmpdir(), 'atwatch-generate-'));
  t.after(() => rm(directory, { recursive: true }));
  const read = [
    'bundle',
    'charts',
    'config',
    'crds',
    'docs',
    'hack/package',
    'package.json',
    'src',
    'tsconfig.json',
  ];
  for (const path of read) await cp(path, join(directory, path), { recursive: true });
  await symlink(resolve('node_modules'), join(directory, 'node_modules'));
  const script = resolve('hack/generate.ts');
  const generate = (...args: string[]) =>
    new Promise<Run>((done) => {
      execFile(process.execPath, [script, ...args], { cwd: directory }, (error, stdout, stderr) =>
        done({ code: error ? Number(error.code) : 0, output: stdout + stderr }),
      );
    });
  return { directory, generate };
}

interface Run {
  readonly code: number;
  readonly output: string;
}

test('--check passes on what is there', async (t) => {
  const { generate } = await project(t);
  assert.deepEqual(await generate('--check'), { code: 0, output: '' });
});

test('--check fails on drift, names the file and changes nothing; without it the file is written', async (t) => {
  const { directory, generate } = await project(t);
  const api = join(directory, 'docs/api.md');
  await appendFile(api, 'by hand\n');
  const { code, output } = await generate('--check');
  assert.equal(code, 1);
  assert.equal(output, 'docs/api.md is not what follows from its source: run make generate\n');
  assert.match(await readFile(api, 'utf8'), /by hand/);
  assert.deepEqual(await generate(), { code: 0, output: 'wrote docs/api.md\n' });
  assert.doesNotMatch(await readFile(api, 'utf8'), /by hand/);
});

test('an edited doc comment shows in the reference of the runtime', async (t) => {
  const { directory, generate } = await project(t);
  const path = join(directory, 'src/runtime/controller/predicate.ts');
  const source = await readFile(path, 'utf8');
  await writeFile(path, source.replace('A predicate: any label', 'A predicate: some label'));
  assert.deepEqual(await generate(), { code: 0, output: 'wrote docs/runtime-reference.md\n' });
});

test('an edited CRD shows in every file that follows from it', async (t) => {
  const { directory, generate } = await project(t);
  const crd = join(directory, 'crds/configwatchers.yaml');
  await appendFile(crd, '# an edit\n');
  assert.match((await generate('--check')).output, /^crds\/com\/configwatchers\.yaml is not what follows/);
});

test('an edited right shows in the chart and in the bundle', async (t) => {
  const { directory, generate } = await project(t);
  const role = join(directory, 'config/rbac/permissions/role.yaml');
  const text = await readFile(role, 'utf8');
  await writeFile(role, text.replace('resources: [ats]', 'resources: [ats, others]'));
  const { output } = await generate('--check');
  for (const path of [
    'charts/atwatch/files/rbac/role.yaml',
    'bundle/manifests/atwatch.clusterserviceversion.yaml',
  ]) {
    assert.ok(output.includes(`${path} is not what follows`), output);
  }
});
