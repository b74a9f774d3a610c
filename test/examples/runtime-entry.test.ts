/** The public entries of the package: an editor shows for each name what it is. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';

/** Each `export … from` of an entry: the file, and the names taken from it. */
async function publicNames(path: string): Promise<{ readonly file: string; readonly name: string }[]> {
  const entry = await readFile(path, 'utf8');
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
  const names = [...(await publicNames('src/runtime.ts')), ...(await publicNames('src/testing.ts'))];
  assert.ok(names.length > 100);
  const undocumented: string[] = [];
  for (const { file, name } of names) {
    const source = await readFile(file, 'utf8');
    const declared = `(^|\\n)( \\*/|/\\*\\* [^\\n]*\\*/)\\nexport (async function|function|class|interface|type|const) ${name}\\b`;
    if (!new RegExp(declared).test(source)) undocumented.push(`${name} of ${file}`);
  }
  assert.deepEqual(undocumented, []);
});

test('every type of a built-in kind has a doc comment', async () => {
  const folder = 'src/kubernetes/types';
  const files = (await readdir(folder)).filter((file) => file.endsWith('.generated.ts'));
  assert.ok(files.length > 20);
  const undocumented: string[] = [];
  for (const file of files) {
    const lines = (await readFile(`${folder}/${file}`, 'utf8')).split('\n');
    for (const [index, line] of lines.entries()) {
      if (line.startsWith('export ') && !lines[index - 1]?.endsWith('*/'))
        undocumented.push(`${file}: ${line}`);
    }
  }
  assert.deepEqual(undocumented, []);
});
