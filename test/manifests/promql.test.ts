/** What our program reads out of a query, on which the test of the metrics' names rests. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { goProgram, unlessMissing } from './programs.ts';

const program = await unlessMissing(goProgram);

const rows: readonly { query: string; reads: readonly string[] }[] = [
  { query: 'a', reads: ['a {}'] },
  { query: 'a{b="c", d!="e", f=~"g"} > 1', reads: ['a {b,d,f} b=c'] },
  { query: 'sum by (b) (rate(a{c="d"}[5m]))', reads: ['a {b,c} c=d'] },
  { query: 'sum without (b) (a)', reads: ['a {}'] },
  { query: 'sum by (b) (max by (b, c) (a))', reads: ['a {b,c}'] },
  { query: 'a / on (b) c{d="e"}', reads: ['a {b}', 'c {b,d} d=e'] },
  { query: 'histogram_quantile(0.9, sum by (le) (a_bucket)) or absent(c)', reads: ['a_bucket {le}', 'c {}'] },
];

interface Selector {
  readonly metric: string;
  readonly labels: readonly string[];
  readonly values: Readonly<Record<string, string>>;
}

const asText = ({ metric, labels, values }: Selector) =>
  [`${metric} {${labels}}`, ...Object.entries(values).map((pair) => pair.join('='))].join(' ');

describe('a query is read', { skip: 'skip' in program && program.skip }, () => {
  if ('skip' in program) return;
  const read = (query: string) => program('checks', ['promql'], JSON.stringify([query]));

  for (const { query, reads } of rows) {
    it(query, async () => {
      const { code, stdout, stderr } = await read(query);
      assert.equal(code, 0, stderr);
      const [selectors = []]: Selector[][] = JSON.parse(stdout);
      assert.deepEqual(selectors.map(asText), reads);
    });
  }

  for (const [query, says] of [
    ['sum(', /parse error/],
    ['sum by (b) (max by (c) (a))', /drops the label b/],
  ] as const) {
    it(`but not ${query}`, async () => {
      const { code, stderr } = await read(query);
      assert.equal(code, 1);
      assert.match(stderr, says);
    });
  }
});
