import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { barsOf, type Chart, charts } from '../../../hack/benchmarks/charts.ts';
import { withMeasured } from '../../../hack/benchmarks/choosing.ts';
import { benchmarkPlots, draw } from '../../../hack/benchmarks/draw.ts';
import { historyPage } from '../../../hack/benchmarks/history.ts';
import { readResults } from '../../../hack/benchmarks/record.ts';
import {
  type Figure,
  type MeasuredTable,
  markdownTable,
  median,
  type Results,
  withNewestTables,
  withTable,
} from '../../../hack/benchmarks/results.ts';

const machine = '2 cores';
const figure: Figure = { what: 'it took', value: 3, unit: 's', target: { atMost: 4 } };
const table = (value: number, title = 'work', date = '2026-11-22'): MeasuredTable => ({
  ...{ title, date, machine },
  figures: [{ ...figure, value }],
});
const chart: Chart = {
  ...{ name: 'work', title: 'Work', unit: 's' },
  rows: [{ label: 'all of it', table: /^work/, what: 'it took' }],
};

describe('medians', () => {
  it('are the mean of the two in the middle where their number is even', () => {
    assert.equal(median([1.07, 1.35, 1.22, 1.5]), (1.22 + 1.35) / 2);
    assert.equal(median([6.51, 6.02]), (6.51 + 6.02) / 2);
    assert.equal(median([3, 1, 2]), 2);
    assert.equal(median([7]), 7);
    assert.ok(Number.isNaN(median([])));
  });

  it('in what is recorded are those of their samples', () => {
    const all = readResults().flatMap(({ tables }) => tables.flatMap(({ figures }) => figures));
    const medians = all.filter(({ samples = [] }) => samples.length > 1);
    assert.ok(medians.length >= 3);
    for (const { what, value, samples = [] } of medians) {
      // The samples of older tables have two digits after the point.
      assert.ok(Math.abs(value - median(samples)) <= 0.005 + 1e-9, what);
    }
  });
});

describe('recorded figures', () => {
  it('take the place of those of the same table and version, and of no other', () => {
    const first: Results = [{ version: '0.9.0', tables: [table(1), table(2, 'other')] }];
    const again = withTable(first, '0.9.0', table(5));
    assert.deepEqual(again, [{ version: '0.9.0', tables: [table(5), table(2, 'other')] }]);
    const next = withTable(again, '0.10.0', table(6));
    assert.deepEqual(
      next.map(({ version }) => version),
      ['0.9.0', '0.10.0'],
    );
    assert.deepEqual(next[0], again[0]);
  });

  it('of the newest version are those of the page', () => {
    const page = `# Page\n\n${markdownTable('work', [{ ...figure, value: 9 }])}\n\nmore\n`;
    const results: Results = [
      { version: '0.1.0', tables: [table(1)] },
      { version: '0.2.0', tables: [table(5), table(2, 'other')] },
    ];
    const expected = [
      ...['# Page', '', '| work | result | target |', '| --- | ---: | ---: |'],
      ...['| it took | 5 s | ≤ 4 **missed** |', '', 'more', ''],
    ].join('\n');
    assert.equal(withNewestTables(page, results), expected);
    assert.throws(() => withNewestTables(page, []), /no figures of "work" are recorded/);
    assert.match(historyPage(results), /^\| work: it took \| ≤ 4 \| 1 s \| 5 s \|$/m);
  });
});

describe('plots', () => {
  it('show each version of a figure, the last run of it, and its target', () => {
    const results: Results = [
      { version: '0.1.0', tables: [table(1), table(2, 'work for longer', '2026-11-23')] },
      { version: '0.2.0', tables: [table(5)] },
    ];
    const bars = barsOf(chart, results);
    const row = { label: 'all of it', isComparison: false, target: { atMost: 4 } };
    assert.deepEqual(bars, [
      { ...row, version: '0.1.0', value: 2 },
      { ...row, version: '0.2.0', value: 5 },
    ]);
    const svg = draw(chart, bars);
    assert.equal(svg, draw(chart, bars));
    for (const text of ['0.1.0: 2 (≤ 4)', '0.2.0: 5 (≤ 4)', 'all of it']) assert.ok(svg.includes(text), text);
    const widths = [...svg.matchAll(/<rect[^>]* width="([\d.]+)"/g)].map(([, width]) => Number(width));
    assert.equal(widths.length, 2);
    assert.ok(Math.abs((widths[1] ?? 0) / (widths[0] ?? 1) - 2.5) < 0.01, `${widths}`);
    assert.notEqual(svg, draw(chart, barsOf(chart, results.slice(1))));
  });

  it('have figures for every chart, and stand on the page', async () => {
    const results = readResults();
    const page = await readFile('docs/benchmarks.md', 'utf8');
    for (const one of charts) {
      assert.ok(barsOf(one, results).length >= 2, one.name);
      assert.ok(page.includes(`(benchmarks/${one.name}.svg)`), one.name);
    }
    for (const [path, svg] of benchmarkPlots(results)) assert.equal(await readFile(path, 'utf8'), svg, path);
  });
});

describe('the figures of docs/choosing.md', () => {
  const page =
    '# Choosing\n\n| measured | figure | with |\n| --- | ---: | --- |\n| old | 1 | x |\n\nThe end.\n';

  it('are those that were measured, each with its command', () => {
    const text = withMeasured(page, readResults());
    assert.match(text, /^\| an At is late by, median \| [\d.]+ ms \| `make bench-at` \|$/m);
    assert.ok(!text.includes('| old |') && text.endsWith('\n\nThe end.\n'), text);
  });

  it('are refused when one was never measured, or the page has no place for them', () => {
    assert.throws(() => withMeasured(page, []), /^Error: no figure "lateness, p50" of .* is recorded$/);
    assert.throws(() => withMeasured('# Choosing\n', readResults()), /^Error: the page has no table /);
  });
});
