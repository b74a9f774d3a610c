/** Draws charts of the benchmarks as SVG, for light and dark backgrounds. Pure: the same figures give the same picture. */
import * as Plot from '@observablehq/plot';
import { parseHTML } from 'linkedom';
import { type Bar, barsOf, type Chart, charts } from './charts.ts';
import { describeTarget, format, type Results } from './results.ts';

const style = `
  svg { color: #1f2328; }
  .newest { fill: #0969da; } .compared { fill: #8c959f; } .older { opacity: 0.45; } .limit { stroke: #bc4c00; }
  @media (prefers-color-scheme: dark) {
    svg { color: #f0f6fc; } .newest { fill: #4493f8; } .limit { stroke: #db6d28; }
  }`;

/** Path and text of every plot, paths relative to the project. */
export function benchmarkPlots(results: Results): ReadonlyMap<string, string> {
  return new Map(
    charts.map((chart) => [`docs/benchmarks/${chart.name}.svg`, draw(chart, barsOf(chart, results))]),
  );
}

export function draw({ title, unit, isLogarithmic = false }: Chart, bars: readonly Bar[]): string {
  const { document } = parseHTML('<!doctype html><html><body></body></html>');
  const versions = [...new Set(bars.map(({ version }) => version))];
  const labels = [...new Set(bars.map(({ label }) => label))];
  const position = { y: 'version', fy: 'label' };
  const smallest = Math.min(...bars.map(({ value }) => value));
  const base = isLogarithmic ? 10 ** Math.floor(Math.log10(smallest)) : 0;
  const domain = [base, Math.max(...bars.map(endOf))];
  const classOf = ({ isComparison, version }: Bar) =>
    `${isComparison ? 'compared' : 'newest'}${version === versions.at(-1) ? '' : ' older'}`;
  const classes = [...new Set(bars.map(classOf))];
  const svg = Plot.plot({
    ...{ document, width: 760, height: 84 + labels.length * (10 + versions.length * 20) },
    ...{ marginLeft: 170, marginRight: 140, marginTop: 44, marginBottom: 40, style: { fontSize: '12px' } },
    x: {
      ...{ label: unit, labelArrow: 'none', grid: true, domain, nice: !isLogarithmic },
      ...(isLogarithmic ? { type: 'log', tickFormat: (value: number) => format(value) } : {}),
    },
    y: { axis: null, domain: versions },
    fy: { label: null, domain: labels, axis: 'left', padding: 0.1 },
    marks: [
      ...classes.map((className) =>
        Plot.barX(
          bars.filter((bar) => classOf(bar) === className),
          { ...position, x1: base, x2: 'value', insetTop: 1, insetBottom: 1, className },
        ),
      ),
      Plot.tickX(
        bars.filter((bar) => limitOf(bar) > base),
        { ...position, x: limitOf, strokeWidth: 2, className: 'limit' },
      ),
      Plot.text(bars, {
        ...{ ...position, x: endOf, dx: 6, textAnchor: 'start' },
        text: (bar: Bar) => said(bar, versions.length > 1),
      }),
      Plot.text([title], {
        ...{ frameAnchor: 'top-left', facetAnchor: 'top', dx: -165, dy: -30, fontSize: 14, fontWeight: 600 },
      }),
    ],
  } as Plot.PlotOptions);
  return finish(svg.outerHTML, title);
}

/** 0 for none, or for a target that is a promise: never early. */
function limitOf({ target }: Bar): number {
  return target?.atMost ?? target?.atLeast ?? 0;
}

function endOf(bar: Bar): number {
  return Math.max(bar.value, limitOf(bar));
}

function said({ value, version, target }: Bar, withVersion: boolean): string {
  const [limit, of] = [
    target === undefined ? '' : ` (${describeTarget(target)})`,
    withVersion ? `${version}: ` : '',
  ];
  return `${of}${format(value)}${limit}`;
}

/** As a file of its own, which what a browser embeds need not be. */
function finish(svg: string, title: string): string {
  return `${svg
    .replace('<svg ', `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="${title}" `)
    // That of the library is for what a page embeds.
    .replace(/<style>.*?<\/style>/s, `<style>${style}\n</style>`)
    .replaceAll('><', '>\n<')}\n`;
}
