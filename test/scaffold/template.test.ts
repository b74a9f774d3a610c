/** The operator that `atwatch-runtime new` writes is short. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';

/** Lines that hold code: no blank ones, and none of a comment alone. */
function codeLines(text: string): readonly string[] {
  const withoutComments = text.replace(/^[ ]*\/\*\*?[\s\S]*?\*\/[ ]*$/gm, '').replace(/^ *\/\/.*$/gm, '');
  return withoutComments.split('\n').filter((line) => line.trim() !== '');
}

test('it is at most 60 lines of TypeScript by hand', async () => {
  const folder = 'examples/notes';
  // Apart from what is generated; tests and the demonstration are not the operator.
  const files = (await readdir(folder)).filter((file) => file.endsWith('.ts')).sort();
  const written = files.filter((file) => !/\.generated\.ts$|\.test\.ts$|^demo\.ts$/.test(file));
  assert.deepEqual(written, ['controller.ts', 'decide.ts', 'main.ts']);
  let lines = 0;
  for (const file of written) {
    const code = codeLines(await readFile(`${folder}/${file}`, 'utf8'));
    // One statement each, as the formatter has it: no line is won by a long one.
    assert.deepEqual(
      code.filter((line) => line.length > 110),
      [],
    );
    lines += code.length;
  }
  assert.ok(lines > 30 && lines <= 60, `${lines} lines`);
});
