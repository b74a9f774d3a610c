/**
 * Benchmark of the kind At, on a real API server, from its audit log: `make bench-at`. The absolute times are
 * this machine's; the ratio to the null loader, measured in the same run before and after, is the operator's.
 *
 * Options: --hotspot=1000,5000 --rate=20 --seconds=60 --waiting=10000; 0 leaves a scenario out.
 */
import { parseArgs } from 'node:util';
import { BenchCluster } from './at-cluster.ts';
import { hotspot, nullLoad, steady, waiting } from './at-scenarios.ts';
import { describeMachine } from './measure.ts';
import { printTable } from './table.ts';

const { values: options } = parseArgs({
  options: {
    hotspot: { type: 'string', default: '1000' },
    rate: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '60' },
    waiting: { type: 'string', default: '10000' },
  },
});

async function benchHotspot(cluster: BenchCluster, count: number): Promise<void> {
  const before = await nullLoad(cluster, `floor-before-${count}`, count);
  const { pods, podsCpu, rows, requests } = await hotspot(cluster, count);
  const after = await nullLoad(cluster, `floor-after-${count}`, count);
  const floor = (before.pods + after.pods) / 2;
  printTable(`${count} Ats due in one second`, [
    { what: 'null loader before: last Pod', value: before.pods / 1000, unit: 's' },
    { what: 'null loader after: last Pod', value: after.pods / 1000, unit: 's' },
    { what: 'operator: last Pod', value: pods / 1000, unit: 's' },
    { what: 'ratio to the null loader', value: pods / floor, unit: '', target: { atMost: 1.2 } },
    {
      what: 'CPU per Pod create, null loader',
      value: (before.podsCpu + after.podsCpu) / 2 / count,
      unit: 'ms',
    },
    { what: 'CPU per Pod create, operator', value: podsCpu / count, unit: 'ms' },
    ...rows,
    ...[...requests].map(([what, times]) => ({ what: `${what}, per At`, value: times / count, unit: '' })),
  ]);
}

const cluster = await BenchCluster.start();
try {
  process.stdout.write(`${describeMachine()}\n`);
  // An API server that has just started is slower.
  await nullLoad(cluster, 'warm-up', 300);
  for (const count of options.hotspot.split(',').map(Number)) {
    if (count > 0) await benchHotspot(cluster, count);
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
} finally {
  await cluster.stop();
}
