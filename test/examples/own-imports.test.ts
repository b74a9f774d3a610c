/** This operator uses only what the entries of `@atwatch/runtime` export: nothing that it needs is private. */
import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';

const imported = /import (?:type )?\{([^}]+)\} from '(\.[^']+)'/g;
const exported = /export (?:type )?\{([^}]+)\} from '(\.[^']+)'/g;
/** Each file that another one takes anything from, in whatever way. */
const anyImport = /(?:from |import\(|import )'(\.[^']+)'/g;

/** What the package is made of; its entries stand beside these folders. */
const packaged = /^(runtime|kubernetes|testing)\//;
const entries = ['src/runtime.ts', 'src/testing.ts'];
/** Every name in them is public, as `@atwatch/runtime/types/<group>`. */
const typeModule = /^kubernetes\/types\/[a-z0-9-]+\.generated\.ts /;

const fileOf = (path: string, module: string) => relative('src', join(dirname(path), module));

/** `path name` of each name that a file takes from another one of src/. */
function namesIn(path: string, text: string, statement: RegExp): string[] {
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
      .map((name) => `${fileOf(path, module)} ${name}`),
  );
}

/** The files whose imports count. */
async function ownFiles(): Promise<string[]> {
  const files: string[] = [];
  for await (const path of glob('src/**/*.ts')) {
    if (/^src\/(runtime|kubernetes|testing|scaffold)\//.test(path)) continue;
    if (!entries.includes(path)) files.push(path);
  }
  return files;
}

test('what the operator imports of the package is public', async () => {
  const open = new Set<string>();
  for (const path of entries) {
    for (const name of namesIn(path, await readFile(path, 'utf8'), exported)) open.add(name);
  }
  const needed = new Set<string>();
  const unnamed: string[] = [];
  for (const path of await ownFiles()) {
    const text = await readFile(path, 'utf8');
    const names = namesIn(path, text, imported).filter((name) => packaged.test(name));
    for (const name of names) needed.add(name);
    // `import * as`, `import()` and the like would hide what is taken.
    const files = new Set(names.map((name) => name.split(' ')[0]));
    for (const [, module = ''] of text.matchAll(anyImport)) {
      const file = fileOf(path, module);
      if (packaged.test(file) && !files.has(file)) unnamed.push(`${path}: ${file}`);
    }
  }
  assert.deepEqual(unnamed, []);
  for (const folder of ['runtime', 'kubernetes']) {
    const found = [...needed].filter((name) => name.startsWith(`${folder}/`));
    assert.ok(found.length > 10, `the check finds imports of ${folder}`);
  }
  assert.deepEqual([...needed].filter((name) => !open.has(name) && !typeModule.test(name)).sort(), []);
});
