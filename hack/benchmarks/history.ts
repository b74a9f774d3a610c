/** docs/benchmarks/history.md: every figure that has a target, version by version. Pure. */
import { describeTarget, format, type Results } from './results.ts';

export function historyPage(results: Results): string {
  const versions = results.map(({ version }) => version);
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rows = targets(results).map(({ title, what, unit, target }) => {
    const values = results.map(({ tables }) => {
      const figure = tables.find((table) => table.title === title)?.figures.find((one) => one.what === what);
      return figure === undefined ? '' : `${format(figure.value)} ${unit}`.trimEnd();
    });
    return line([`${title}: ${what}`, target, ...values]);
  });
  const runs = results.flatMap(({ version, tables }) =>
    tables.map(({ title, date, machine, note = '' }) => line([version, title, date, machine, note])),
  );
  return [
    '<!-- Generated from docs/benchmarks/results.json by hack/generate.ts (make generate). Do not edit. -->',
    '# Benchmarks, version by version',
    '',
    'The figures that have a target. [Benchmarks](../benchmarks.md) says how each is measured.',
    '',
    line(['figure', 'target', ...versions]),
    line(['---', '---:', ...versions.map(() => '---:')]),
    ...rows,
    '',
    '## When and where they were measured',
    '',
    line(['version', 'table', 'date', 'machine', 'note']),
    line(['---', '---', '---', '---', '---']),
    ...runs,
    '',
  ].join('\n');
}

/** Each figure once, with the target that it has in the newest version. */
function targets(results: Results) {
  const all = new Map<string, { title: string; what: string; unit: string; target: string }>();
  for (const { title, figures } of results.flatMap(({ tables }) => tables)) {
    for (const { what, unit, target } of figures) {
      if (target === undefined) continue;
      all.set(`${title}: ${what}`, { title, what, unit, target: describeTarget(target) });
    }
  }
  return [...all.values()];
}
