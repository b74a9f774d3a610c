import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atSchema, atSpecDefaults } from '../../src/api/at.generated.ts';
import { configWatcherSpecDefaults } from '../../src/api/configwatcher.generated.ts';
import { problemText, validateAt, validateConfigWatcher } from '../../src/schema/validate.ts';
import { predicateOf } from '../../src/schema/validation-rules.ts';
import { atRows, baseAtSpec, type Row } from '../api/at-rows.ts';
import { baseConfigWatcherSpec, configWatcherRows } from '../api/configwatcher-rows.ts';

const kinds = [
  { kind: 'At', validate: validateAt, base: baseAtSpec, rows: atRows },
  {
    kind: 'ConfigWatcher',
    validate: validateConfigWatcher,
    base: baseConfigWatcherSpec,
    rows: configWatcherRows,
  },
];

for (const { kind, validate, base, rows } of kinds) {
  const problemsOf = ({ spec }: Row) => validate(withSpec({ ...base, ...spec })).problems;
  for (const row of rows) {
    test(`${kind}: ${row.it}`, () => {
      const problems = problemsOf(row);
      assert.deepEqual(
        [...new Set(problems.map(({ path }) => path))],
        row.refused ? [row.refused.field] : [],
      );
      // The words of a schema's own limits are ajv's; those of rules are the same on both sides.
      const ofTheSchema = /greater than|less than|of type|Too |Required|at least|supported|Duplicate/;
      if (row.refused && !ofTheSchema.test(row.refused.says)) {
        assert.match(problemText(problems), new RegExp(row.refused.says.replaceAll(/[()+]/g, '\\$&')));
      }
    });
  }
}

test('defaults are filled in where the spec is silent, in a copy', () => {
  const at = Object.freeze({ metadata: { name: 'x' }, spec: Object.freeze({ ...baseAtSpec }) });
  assert.deepEqual(validateAt(at).object.spec, { ...baseAtSpec, ...atSpecDefaults });
  assert.deepEqual(Object.keys(at.spec), ['schedule', 'command']);
  const { debounce, strategy } = validateConfigWatcher(
    withSpec({ ...baseConfigWatcherSpec, debounce: { max: '1h' }, strategy: { type: 'Delete' } }),
  ).object.spec;
  assert.deepEqual(debounce, { quiet: '2s', max: '1h' });
  assert.deepEqual(strategy, { ...configWatcherSpecDefaults.strategy, type: 'Delete' });
});

test('wrong types and a missing spec are named, not stumbled over', () => {
  const rows = [
    { object: { metadata: { name: 'x' } }, text: 'spec is required' },
    { object: withSpec(5), text: 'spec must be object' },
    { object: withSpec({ ...baseAtSpec, argv: [1] }), text: 'spec.argv[0] must be string' },
    { object: { ...withSpec(baseAtSpec), status: { phase: 5 } }, text: 'status.phase must be string' },
  ];
  for (const { object, text } of rows) {
    assert.ok(problemText(validateAt(object).problems).startsWith(text), text);
  }
});

test('a name of 64 characters is refused, one of 63 taken', () => {
  const problems = (name: string) => validateAt({ metadata: { name }, spec: baseAtSpec }).problems;
  assert.match(problemText(problems('x'.repeat(64))), /^metadata.name must not be longer than 63/);
  assert.deepEqual(problems('x'.repeat(63)), []);
});

test('hostile sizes give few words and cost little', () => {
  const began = performance.now();
  const huge = withSpec({ schedule: '0'.repeat(1 << 20), argv: new Array(100_000).fill(1) });
  assert.ok(problemText(validateAt(huge).problems).length <= 1024);
  const selector = { [`${'a.'.repeat(200_000)}!`]: 'x' };
  const watcher = withSpec({ configMap: `${'a-'.repeat(200_000)}!`, podSelector: selector });
  assert.ok(validateConfigWatcher(watcher).problems.length > 0);
  assert.ok(performance.now() - began < 2000);
});

test('a long text is cut with a mark', () => {
  const text = problemText([{ path: 'spec', message: 'x'.repeat(100) }], 20);
  assert.equal(text, `spec ${'x'.repeat(14)}…`);
});

test('a rule without a predicate is an error', () => {
  assert.throws(() => predicateOf('self.x == 5'), /no predicate for the rule self\.x == 5/);
});

test('the schema constant holds no rule that compares two states', () => {
  assert.doesNotMatch(JSON.stringify(atSchema), /never goes back|is immutable/);
});

function withSpec(spec: unknown): object {
  // As JSON does: a field that is undefined is absent.
  return JSON.parse(JSON.stringify({ metadata: { name: 'x' }, spec }));
}
