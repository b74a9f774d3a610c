/** The admission policy that warns of shell operators has patterns of its own, which must find what the operator finds. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { splitCommand } from '../../../src/at/plan/command.ts';
import { fc } from '../../fixtures/property.ts';

const [policy] = parseAllDocuments(await readFile('config/policy/advice.yaml', 'utf8'));
const expressions: string[] = policy
  ?.toJS()
  .spec.validations.map(({ expression }: { expression: string }) => expression);
const patterns = [...expressions.join('\n').matchAll(/r'''(.*?)'''/g)].map(
  ([, pattern]) => new RegExp(pattern ?? ''),
);
const isWarnedOf = (command: string) => patterns.some((pattern) => pattern.test(command));

describe('the warning of shell operators', () => {
  it('is given for what holds an unquoted operator, and for nothing else', () => {
    assert.equal(patterns.length, 3);
    const piece = fc.constantFrom(...'ab|;&<>\'"\\ \t\n$', '&&', ' & ', "'x'", '"y"', '\\\n');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
        const command = pieces.join('');
        const split = splitCommand(command);
        fc.pre(split !== undefined);
        assert.equal(isWarnedOf(command), split.hasOperator, JSON.stringify(command));
      }),
      { numRuns: 20_000 },
    );
  });
});
