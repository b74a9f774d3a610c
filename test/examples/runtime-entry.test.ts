/** The public entry of the runtime: an editor shows for each name what it is. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

/** Each `export … from` of the entry: the file, and the names taken from it. */
async function publicNames(): Promise<{ readonly file: string; readonly name: string }[]> {
  const entry = await readFile('src/runtime.ts', 'utf8');
  const statements = entry.matchAll(/export (?:type )?\{([^}]+)\} from '\.\/([^']+)'/g);
  return [...statements].flatMap(([, names = '', path]) =>
    names
      .split(',')
      .map((name) => name.trim().replace(/^type /, ''))
      .filter((name) => name !== '')
      .map((name) => ({ file: `src/${path}`, name })),
  );
}

test('every export has a doc comment', async () => {
  const names = await publicNames();
  assert.ok(names.length > 80);
  const undocumented: string[] = [];
  for (const { file, name } of names) {
    const source = await readFile(file, 'utf8');
    const declared = `(^|\\n)( \\*/|/\\*\\* [^\\n]*\\*/)\\nexport (async function|function|class|interface|type|const) ${name}\\b`;
    if (!new RegExp(declared).test(source)) undocumented.push(`${name} of ${file}`);
  }
  assert.deepEqual(undocumented, []);
});
