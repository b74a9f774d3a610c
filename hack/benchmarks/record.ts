/** Keeps what a benchmark measured in docs/benchmarks/results.json. */
import { readFileSync, writeFileSync } from 'node:fs';
import { type MeasuredTable, type Results, withTable } from './results.ts';

export const resultsFile = 'docs/benchmarks/results.json';

export function readResults(): Results {
  return JSON.parse(readFileSync(resultsFile, 'utf8'));
}

/** Under the version of package.json. */
export function recordTable(table: MeasuredTable): void {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  const results = withTable(readResults(), version, table);
  writeFileSync(resultsFile, `${JSON.stringify(results, null, 2)}\n`);
}
