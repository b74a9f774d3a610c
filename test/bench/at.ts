/**
 * Benchmark of the kind At, on a real API server, from its audit log: `make bench-at`. The absolute times are
 * this machine's; the ratio to the null loader, measured in the same run before and after each round, is the operator's.
 *
 * Options: --hotspot=1000,5000 --rounds=3 --rate=20 --seconds=60 --waiting=10000 --failover=1000 --refused=10000; 0 leaves
 * a scenario out.
 */
import { parseArgs } from 'node:util';
import { median } from '../../hack/benchmarks/results.ts';
import { BenchCluster } from './at-cluster.ts';
import { failover, refused } from './at-disturbed.ts';
import { type Hotspot, hotspot, nullLoad, steady, waiting } from './at-scenarios.ts';
import { describeMachine } from './measure.ts';
import { printTable, type Row } from './table.ts';

const { values: options } = parseArgs({
  options: {
    hotspot: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '3' },
    rate: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '60' },
    waiting: { type: 'string', default: '10000' },
    failover: { type: 'string', default: '1000' },
    refused: { type: 'string', default: '10000' },
  },
});

/** In turns with the null loader, since what a machine gives changes from minute to minute; the median counts. */
async function benchHotspot(cluster: BenchCluster, count: number, rounds: number): Promise<void> {
  const floors = [await nullLoad(cluster, `floor-${count}-0`, count)];
  const runs: (Hotspot & { readonly ratio: number })[] = [];
  for (let round = 1; round <= rounds; round++) {
    const run = await hotspot(cluster, `hotspot-${count}-${round}`, count);
    floors.push(await nullLoad(cluster, `floor-${count}-${round}`, count));
    const [before, after] = floors.slice(-2).map(({ pods }) => pods) as [number, number];
    runs.push({ ...run, ratio: run.pods / ((before + after) / 2) });
  }
  const middle = runs.toSorted((one, other) => one.ratio - other.ratio)[Math.floor((rounds - 1) / 2)];
  if (middle === undefined) throw new RangeError('--rounds must be at least 1');
  const floorCpu = floors.reduce((sum, { podsCpu }) => sum + podsCpu, 0) / floors.length;
  printTable(`${count} Ats due in one second`, [
    medianRow('null loader: last Pod', inSeconds(floors), { unit: 's' }),
    medianRow('operator, in turns with it: last Pod', inSeconds(runs), { unit: 's' }),
    medianRow(
      'ratio to the null loaders before and after',
      runs.map(({ ratio }) => ratio),
      { unit: '', target: { atMost: 1.15 } },
    ),
    { what: 'CPU per Pod create, null loader', value: floorCpu / count, unit: 'ms' },
    { what: 'CPU per Pod create, operator', value: middle.podsCpu / count, unit: 'ms' },
    ...middle.rows,
    ...[...middle.requests].map(([what, times]) => ({
      what: `${what}, per At`,
      value: times / count,
      unit: '',
    })),
  ]);
}

function inSeconds(runs: readonly { readonly pods: number }[]): number[] {
  return runs.map(({ pods }) => pods / 1000);
}

function medianRow(what: string, samples: readonly number[], more: Pick<Row, 'unit' | 'target'>): Row {
  return { what, value: median(samples), samples, ...more };
}

const cluster = await BenchCluster.start();
try {
  process.stdout.write(`${describeMachine()}\n`);
  // An API server that has just started is slower.
  await nullLoad(cluster, 'warm-up', 300);
  for (const count of options.hotspot.split(',').map(Number)) {
    if (count > 0) await benchHotspot(cluster, count, Number(options.rounds));
  }
  const [rate, seconds, many] = [options.rate, options.seconds, options.waiting].map(Number) as [
    number,
    number,
    number,
  ];
  if (rate * seconds > 0) {
    printTable(`${rate} Ats a second for ${seconds} s`, await steady(cluster, rate, seconds));
  }
  if (many > 0) printTable(`${many} waiting Ats`, await waiting(cluster, many));
  const [lost, unwanted] = [Number(options.failover), Number(options.refused)];
  for (const signal of lost > 0 ? (['SIGKILL', 'SIGSTOP'] as const) : []) {
    printTable(`${lost} Ats due as the leader gets ${signal}`, await failover(cluster, lost, signal));
  }
  if (unwanted > 0) printTable(`${unwanted} due Ats against a full quota`, await refused(cluster, unwanted));
} finally {
  await cluster.stop();
}
