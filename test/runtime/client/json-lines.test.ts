import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LineSplitter } from '../../../src/runtime/client/json-lines.ts';
import { fc } from '../../fixtures/property.ts';

function split(bytes: Buffer, cuts: readonly number[]): { lines: string[]; withinLine: boolean } {
  const splitter = new LineSplitter();
  const lines: string[] = [];
  let start = 0;
  for (const end of [...new Set(cuts)].sort((a, b) => a - b).concat(bytes.length)) {
    lines.push(...splitter.push(bytes.subarray(start, end)));
    start = end;
  }
  return { lines, withinLine: splitter.withinLine };
}

describe('LineSplitter', () => {
  test('cuts at 0x0A only, wherever the chunks end', () => {
    const line = fc.string({ unit: 'binary', minLength: 1 }).filter((text) => !text.includes('\n'));
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat(1000)), (lines, cuts) => {
        const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''));
        const within = cuts.filter((cut) => cut < bytes.length);
        assert.deepEqual(split(bytes, within), { lines, withinLine: false });
      }),
    );
  });

  const rows = [
    { title: 'U+2028, U+2029 and a carriage return are no line ends', bytes: '{"a":"\u2028\u2029\r"}\n' },
    { title: 'characters of two to four bytes', bytes: '{"a":"é€𝄞"}\n' },
  ];
  for (const { title, bytes } of rows) {
    test(`${title}, byte by byte`, () => {
      const buffer = Buffer.from(bytes);
      assert.deepEqual(split(buffer, [...buffer.keys()]).lines, [bytes.slice(0, -1)]);
    });
  }

  test('empty lines are left out', () => {
    assert.deepEqual(split(Buffer.from('\n\na\n\n'), []).lines, ['a']);
  });

  test('a line without its end is not a line', () => {
    assert.deepEqual(split(Buffer.from('a\nb'), []), { lines: ['a'], withinLine: true });
  });
});
