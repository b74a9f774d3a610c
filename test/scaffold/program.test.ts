/** The program atwatch-runtime says in one sentence what is wrong with its command line. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { suite, test } from 'node:test';

const run = (...args: string[]) =>
  spawnSync(process.execPath, ['src/scaffold/main.ts', ...args], { encoding: 'utf8' });

suite('atwatch-runtime', () => {
  const rows = [
    [[], /^atwatch-runtime: a command is missing\nusage:\n/],
    [['type'], /^atwatch-runtime: "type" is no command\nusage:\n/],
    [['types'], /^atwatch-runtime: types needs files with CustomResourceDefinitions\nusage:\n/],
    [['new', 'one', 'two'], /^atwatch-runtime: new needs one folder\nusage:\n/],
    [['types', 'none.yaml'], /^atwatch-runtime: none\.yaml cannot be read: no such file\n$/],
    [['types', 'package.json'], /^atwatch-runtime: package\.json has no CustomResourceDefinition\n$/],
    [['new', 'src'], /^atwatch-runtime: src is not empty\n$/],
  ] as const;
  for (const [args, expected] of rows) {
    test(`refuses: ${['atwatch-runtime', ...args].join(' ')}`, () => {
      const { status, stdout, stderr } = run(...args);
      assert.deepEqual([status, stdout], [1, '']);
      assert.match(stderr, expected);
    });
  }

  test('prints its usage when it is asked to', () => {
    const { status, stdout } = run('--help');
    assert.equal(status, 0);
    assert.match(stdout, /^usage:\n {2}atwatch-runtime types <crd\.yaml>/);
  });
});
