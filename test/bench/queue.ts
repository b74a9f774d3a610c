/**
 * Benchmark of the workqueue: how many keys one core takes through add, get and done, as a controller's
 * worker does it, that is with a promise for each `get`. With the metrics of a controller and without any.
 *
 * Two ways through the queue: a burst of keys is ready and ordered by the heap, or a worker waits and is
 * handed each key as it comes.
 */
import { Registry } from '@prometheus-io/client';
import { systemClock } from '../../src/runtime/clock.ts';
import { Workqueue } from '../../src/runtime/queue/workqueue.ts';
import { noMetrics, workqueueMetrics } from '../../src/runtime/queue/workqueue-metrics.ts';
import { bestOfEach, perCpuSecond } from './measure.ts';
import { printTable } from './table.ts';

const cycles = 500_000;
const burst = 1000;
const keys = Array.from({ length: 10_000 }, (_, index) => `namespace-${index % 50}/object-${index}`);

async function inBursts(queue: Workqueue): Promise<void> {
  for (let begin = 0; begin < cycles; begin += burst) {
    const offset = begin % keys.length;
    for (let index = 0; index < burst; index++) queue.add(keys[offset + index]!);
    for (let index = 0; index < burst; index++) queue.done((await queue.get())!.key);
  }
}

async function oneByOne(queue: Workqueue): Promise<void> {
  for (let index = 0; index < cycles; index++) {
    const item = queue.get();
    queue.add(keys[index % keys.length]!);
    queue.done((await item)!.key);
  }
}

function measured(way: (queue: Workqueue) => Promise<void>, withMetrics: boolean): () => Promise<number> {
  const metrics = withMetrics ? workqueueMetrics(new Registry(), 'bench', [0]) : noMetrics;
  const queue = new Workqueue({ clock: systemClock, metrics });
  return async () => (await perCpuSecond(cycles, () => way(queue))) / 1e6;
}

const millions = await bestOfEach({
  burstWithMetrics: measured(inBursts, true),
  burst: measured(inBursts, false),
  waitingWithMetrics: measured(oneByOne, true),
  waiting: measured(oneByOne, false),
});

const unit = 'M/s per core';
printTable('workqueue: add, get, done', [
  {
    what: `bursts of ${burst} keys, with metrics`,
    value: millions.burstWithMetrics,
    unit,
    target: { atLeast: 1 },
  },
  { what: `bursts of ${burst} keys, without metrics`, value: millions.burst, unit, target: { atLeast: 1 } },
  {
    what: 'a worker waits for each key, with metrics',
    value: millions.waitingWithMetrics,
    unit,
    target: { atLeast: 1 },
  },
  {
    what: 'a worker waits for each key, without metrics',
    value: millions.waiting,
    unit,
    target: { atLeast: 1 },
  },
  { what: 'bursts: with metrics ÷ without', value: millions.burstWithMetrics / millions.burst, unit: '' },
]);
