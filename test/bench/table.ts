/**
 * Table: what a benchmark prints, in Markdown, and with RECORD=1 keeps in docs/benchmarks/results.json, from which
 * `make generate` writes the tables and plots of docs/benchmarks.md.
 */
import { recordTable } from '../../hack/benchmarks/record.ts';
import { type Figure, markdownTable } from '../../hack/benchmarks/results.ts';
import { describeMachine } from './measure.ts';

export type Row = Figure;

export function printTable(title: string, rows: readonly Row[]): void {
  console.log(`\n${markdownTable(title, rows)}`);
  if ((process.env.RECORD ?? '') === '') return;
  const date = new Date().toISOString().slice(0, 10);
  recordTable({ title, date, machine: describeMachine(), figures: rows });
}
