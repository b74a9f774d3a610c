import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Warnings } from '../../../src/runtime/client/warnings.ts';
import { type Logger, silentLogger } from '../../../src/runtime/logger.ts';

function recorded(): { lines: unknown[]; warnings: Warnings } {
  const lines: unknown[] = [];
  const log: Logger = { ...silentLogger, warn: (...line: unknown[]) => void lines.push(line) };
  return { lines, warnings: new Warnings(log) };
}

const request = () => 'POST pods';

/** Texts that are logged of these headers. */
function told(...headers: readonly (string | readonly string[])[]): unknown[] {
  const { lines, warnings } = recorded();
  for (const header of headers) warnings.observe(header, request);
  return lines.map((line) => (line as [{ warning: unknown }])[0].warning);
}

test('a warning is logged once, with what it answers', () => {
  const { lines, warnings } = recorded();
  for (let count = 0; count < 3; count++) warnings.observe('299 - "v1beta1 is deprecated"', request);
  assert.deepEqual(lines, [
    [{ request: 'POST pods', warning: 'v1beta1 is deprecated' }, 'the API server warns'],
  ]);
});

test('several come in one header or in several, quoted and with a date', () => {
  assert.deepEqual(
    told('299 - "a, b", 299 - "c"', [
      '299 webhook "d \\"e\\" \\\\" "Wed, 21 Oct 2026 07:28:00 GMT"',
      '299 - "f"',
    ]),
    ['a, b', 'c', 'd "e" \\', 'f'],
  );
});

test('others than those for people, and what is no warning, are left out', () => {
  assert.deepEqual(told('110 - "stale"', '299 - ""', 'nonsense', '', '299 - "never ends'), []);
});

test('values are left out, and so is what could harm a terminal', () => {
  assert.deepEqual(told('299 - "spec.a: Invalid value: \\"s3cret\\": must be y"', '299 - "\u001b[31mred"'), [
    'spec.a: Invalid value: must be y',
    '[31mred',
  ]);
  const [long] = told(`299 - "${'x'.repeat(1000)}"`);
  assert.equal(long, `${'x'.repeat(300)}…`);
});

test('of too many different ones the first are logged, and that there are more', () => {
  const { lines, warnings } = recorded();
  for (let count = 0; count < 1000; count++) warnings.observe(`299 - "number ${count}"`, request);
  assert.equal(lines.length, 257);
  assert.deepEqual(lines.at(-1), [{ warnings: 256 }, 'further warnings of the API server are not logged']);
});
