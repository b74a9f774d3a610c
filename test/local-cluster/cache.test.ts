import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { cacheDirectory, programDirectory } from '../../local-cluster/cache.ts';

const rows = [
  { name: 'by default', env: {}, expected: join(homedir(), '.cache', 'atwatch') },
  { name: 'with XDG_CACHE_HOME', env: { XDG_CACHE_HOME: '/x' }, expected: '/x/atwatch' },
  { name: 'with both', env: { XDG_CACHE_HOME: '/x', ATWATCH_CACHE: '/a' }, expected: '/a' },
  {
    name: 'with empty ones',
    env: { XDG_CACHE_HOME: '', ATWATCH_CACHE: '' },
    expected: join(homedir(), '.cache', 'atwatch'),
  },
];

for (const { name, env, expected } of rows) {
  test(`the cache folder ${name}`, () => {
    assert.equal(cacheDirectory(env), expected);
  });
}

test('the folder of the programs has a name of its own for each set of Go sources, and only for these', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'atwatch-test-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const name = () => programDirectory({ ATWATCH_CACHE: '/a' }, directory);
  const write = (file: string, content: string) => writeFileSync(join(directory, file), content);
  write('go.mod', 'module x');
  write('go.sum', '');
  write('main.go', 'package main');
  const original = name();
  assert.match(original, /^\/a\/kube-[0-9a-f]{12}$/);

  write('main.ts', 'anything');
  assert.equal(name(), original, 'no Go source');

  write('go.sum', 'a new sum');
  const withNewSum = name();
  assert.notEqual(withNewSum, original);

  mkdirSync(join(directory, 'images'));
  write('images/main.go', 'package main');
  assert.notEqual(name(), withNewSum);

  rmSync(join(directory, 'images'), { recursive: true });
  write('go.sum', '');
  assert.equal(name(), original, 'the same sources again');
});
