/** This operator uses only what the entries of `@atwatch/runtime` export: nothing that it needs is private. */
import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';

const imported = /import (?:type )?\{([^}]+)\} from '(\.[^']+)'/g;
const exported = /export (?:type )?\{([^}]+)\} from '(\.[^']+)'/g;

/** `path name` of each name that a file takes from another one of src/. */
async function namesIn(path: string, statement: RegExp): Promise<string[]> {
  const text = await readFile(path, 'utf8');
  return [...text.matchAll(statement)].flatMap(([, names = '', module = '']) =>
    names
      .split(',')
      .map((name) =>
        name
          .trim()
          .replace(/^type /, '')
          .replace(/ as .*/, ''),
      )
      .filter((name) => name !== '')
      .map((name) => `${relative('src', join(dirname(path), module))} ${name}`),
  );
}

test('what the operator imports of the runtime is public', async () => {
  const entries = ['src/runtime.ts', 'src/testing.ts'];
  const open = new Set((await Promise.all(entries.map((entry) => namesIn(entry, exported)))).flat());
  const isOwn = (path: string) =>
    !/^src\/(runtime|kubernetes|testing|scaffold|cli)\//.test(path) && !entries.includes(path);
  const needed = new Set<string>();
  for await (const path of glob('src/**/*.ts')) {
    if (!isOwn(path)) continue;
    const names = await namesIn(path, imported);
    for (const name of names) if (name.startsWith('runtime/')) needed.add(name);
  }
  assert.ok(needed.size > 40, 'the check finds imports');
  assert.deepEqual([...needed].filter((name) => !open.has(name)).sort(), []);
});
