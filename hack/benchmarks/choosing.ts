/** The figures of docs/choosing.md, from what the benchmarks measured. Pure. */
import { format, newestTable, type Results } from './results.ts';

interface Row {
  /** As the page has it. */
  readonly says: string;
  /** Where it was measured. */
  readonly title: string;
  readonly what: string;
  readonly command: string;
}

const ofAts = 'make bench-at';
const ofWatchers = 'make bench-configwatcher';

const rows: readonly Row[] = [
  {
    ...{ says: 'an At is late by, median', title: '20 Ats a second for 300 s', what: 'lateness, p50' },
    command: ofAts,
  },
  {
    ...{ says: 'an At is late by, 99 of 100', title: '20 Ats a second for 300 s', what: 'lateness, p99' },
    command: ofAts,
  },
  {
    ...{ says: '1000 Ats due in one second: last Pod after', title: '1000 Ats due in one second' },
    ...{ what: 'operator, in turns with it: last Pod', command: ofAts },
  },
  {
    ...{ says: 'memory with 10 000 waiting Ats', title: '10000 waiting Ats', what: 'RSS', command: ofAts },
  },
  {
    ...{ says: 'edit to first eviction, without a debounce, median', title: '300 edits, one by one' },
    ...{ what: 'operator: edit → first eviction, p50', command: ofWatchers },
  },
  {
    ...{ says: 'restarts for 20 edits in a second', title: 'edits in a burst, and unseen' },
    ...{ what: '20 edits in a second: restarts', command: ofWatchers },
  },
  {
    ...{ says: 'restarts for 10 000 edits of labels and annotations', title: '10000 edits of metadata' },
    ...{ what: 'restarts', command: ofWatchers },
  },
  {
    ...{ says: 'memory for 5000 ConfigMaps of 100 KB that no watcher names' },
    ...{ title: '5000 unrelated ConfigMaps of 100 KB', what: 'more', command: ofWatchers },
  },
];

const header = '| measured | figure | with |';

/**
 * The page with the newest figures in its table.
 *
 * @throws {Error} when the page has no such table, or a figure was never recorded.
 */
export function withMeasured(page: string, results: Results): string {
  const lines = rows.map(({ says, title, what, command }) => {
    const figure = newestTable(results, title)?.figures.find((one) => one.what === what);
    if (figure === undefined) throw new Error(`no figure "${what}" of "${title}" is recorded`);
    return `| ${says} | ${`${format(figure.value)} ${figure.unit}`.trimEnd()} | \`${command}\` |`;
  });
  const table = new RegExp(`^${header.replaceAll('|', '\\|')}\\n(?:\\|.*\\n)+`, 'm');
  if (!table.test(page)) throw new Error(`the page has no table "${header}"`);
  return page.replace(table, `${[header, '| --- | ---: | --- |', ...lines].join('\n')}\n`);
}
