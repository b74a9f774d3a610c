/**
 * Benchmark of the store: what 100 000 objects cost in memory once an informer has them, from the bytes of a
 * watch on: lines, JSON, transform, freezing, initial events, store. Above the base, which is the same process
 * with an informer that has synced a hundred.
 *
 * Node.js gives its young generation up to 100 MB that the store does not need and it does not give back; so
 * the operator keeps its own at its first size (src/main.ts), which here a flag does. The last table shows it without.
 */
import { fork } from 'node:child_process';
import type { StoreOptions, StoreResult } from './store-process.ts';
import { printTable, type Row } from './table.ts';

const count = 100_000;
const megabyte = 1024 ** 2;
const smallYoungGeneration = ['--max-semi-space-size=1'];

function measure(kind: StoreOptions['kind'], flags: readonly string[]): Promise<StoreResult> {
  const argument = JSON.stringify({ kind, count } satisfies StoreOptions);
  const child = fork('test/bench/store-process.ts', [argument], { execArgv: [...flags] });
  return new Promise((resolve, reject) => {
    child.once('message', (result) => resolve(result as StoreResult));
    child.once('exit', (code) => reject(new Error(`the store process ended with ${code}`)));
  });
}

function rowsOf({ base, full, peakRss, seconds }: StoreResult): Row[] {
  const above = (bytes: number) => (bytes - base.rss) / megabyte;
  return [
    { what: 'RSS above base', value: above(full.rss), unit: 'MB', target: { atMost: 100 } },
    { what: 'heap above base', value: (full.heap - base.heap) / megabyte, unit: 'MB' },
    { what: 'heap per object', value: (full.heap - base.heap) / count, unit: 'bytes' },
    { what: 'peak RSS above base, while they arrive', value: above(peakRss), unit: 'MB' },
    { what: 'base RSS', value: base.rss / megabyte, unit: 'MB' },
    { what: 'CPU, the making of the bytes included', value: seconds, unit: 's' },
  ];
}

printTable(
  'store: 100 000 ConfigMaps, metadata only',
  rowsOf(await measure('configmaps', smallYoungGeneration)),
);
printTable('store: 100 000 waiting Ats', rowsOf(await measure('ats', smallYoungGeneration)));
const [rss] = rowsOf(await measure('ats', []));
printTable('the same with the default young generation', [
  { what: rss!.what, value: rss!.value, unit: rss!.unit },
]);
