/**
 * WorkqueueMetrics: what a workqueue shows to Prometheus, under the names, labels and buckets of Go's
 * controller-runtime (`pkg/metrics/workqueue.go`), so that dashboards made for it fit.
 *
 * The queue counts in plain numbers; the registry's gauges and counters are brought up to date when they
 * are scraped.
 */
import { Counter, Gauge, type Registry } from '@prometheus-io/client';
import { type Tally, TallyHistogram } from '../metrics/tally-histogram.ts';

/** What the queue is asked for at each scrape. */
export interface WorkInProgress {
  /** Sum over the keys being processed of how long each has been, ms. */
  readonly total: number;
  /** The longest of them, ms. */
  readonly longest: number;
}

/** Called by the queue for each change of an entry; one per queue. Times in ms. */
export interface WorkqueueMetrics {
  /** Entries that may be taken now changed by `delta` at this priority. */
  depth(priority: number, delta: 1 | -1): void;
  /** An entry became ready. */
  added(): void;
  /** An entry was added with a delay. */
  retried(): void;
  /** An entry was taken after waiting in readiness for so long. */
  taken(waited: number): void;
  /** Processing of an entry ended after so long. */
  finished(worked: number): void;
  /** Where {@link WorkInProgress} comes from. */
  observe(inProgress: () => WorkInProgress): void;
}

export const noMetrics: WorkqueueMetrics = {
  depth() {},
  added() {},
  retried() {},
  taken() {},
  finished() {},
  observe() {},
};

const queueLabels = ['name', 'controller'] as const;
const secondsBuckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1000];
/** As in controller-runtime: priorities beyond these share one label value. */
const maxPriorityLabels = 25;
const otherPriorities = 'exceeded_cardinality_limit';

/** The series of all queues of one registry. */
class WorkqueueFamily {
  /** By name; of a controller that is added again the newest. */
  readonly queues = new Map<string, QueueSeries>();
  readonly depth: Gauge<'name' | 'controller' | 'priority'>;
  readonly adds: Counter<'name' | 'controller'>;
  readonly retries: Counter<'name' | 'controller'>;
  readonly unfinished: Gauge<'name' | 'controller'>;
  readonly longest: Gauge<'name' | 'controller'>;
  readonly waited: TallyHistogram;
  readonly worked: TallyHistogram;

  constructor(registry: Registry) {
    const publish = (what: (queue: QueueSeries) => void) => () => this.queues.forEach(what);
    const common = { labelNames: queueLabels, registers: [registry] };
    this.depth = new Gauge({
      registers: [registry],
      labelNames: [...queueLabels, 'priority'],
      name: 'workqueue_depth',
      help: 'Current depth of the workqueue',
      // Of a queue that was replaced, priorities that the newest does not know would stay.
      collect: () => {
        this.depth.reset();
        publish((queue) => queue.publishDepth())();
      },
    });
    this.adds = new Counter({
      ...common,
      name: 'workqueue_adds_total',
      help: 'Entries that became ready in the workqueue',
      collect: publish((queue) => queue.publishAdds()),
    });
    this.retries = new Counter({
      ...common,
      name: 'workqueue_retries_total',
      help: 'Entries added to the workqueue with a delay',
      collect: publish((queue) => queue.publishRetries()),
    });
    this.waited = new TallyHistogram({
      registry,
      name: 'workqueue_queue_duration_seconds',
      help: 'Seconds an entry was ready in the workqueue before it was taken',
      buckets: secondsBuckets,
    });
    this.worked = new TallyHistogram({
      registry,
      name: 'workqueue_work_duration_seconds',
      help: 'Seconds the processing of an entry took',
      buckets: secondsBuckets,
    });
    this.unfinished = new Gauge({
      ...common,
      name: 'workqueue_unfinished_work_seconds',
      help: 'Seconds of work in progress that work_duration has not seen yet, summed over the workers',
      collect: publish((queue) => queue.publishUnfinished()),
    });
    this.longest = new Gauge({
      ...common,
      name: 'workqueue_longest_running_processor_seconds',
      help: 'Seconds the longest-running worker has been busy with its entry',
      collect: publish((queue) => queue.publishLongest()),
    });
  }
}

class QueueSeries implements WorkqueueMetrics {
  readonly #family: WorkqueueFamily;
  readonly #labels: { readonly name: string; readonly controller: string };
  readonly #depths = new Map<number, number>();
  #inProgress: () => WorkInProgress = () => ({ total: 0, longest: 0 });
  #adds = 0;
  #retries = 0;
  readonly #waited: Tally;
  readonly #worked: Tally;

  constructor(family: WorkqueueFamily, name: string, priorities: readonly number[]) {
    this.#family = family;
    this.#labels = { name, controller: name };
    for (const priority of priorities) this.#depths.set(priority, 0);
    this.#waited = family.waited.series(this.#labels);
    this.#worked = family.worked.series(this.#labels);
  }

  depth(priority: number, delta: 1 | -1): void {
    this.#depths.set(priority, (this.#depths.get(priority) ?? 0) + delta);
  }

  added(): void {
    this.#adds++;
  }

  retried(): void {
    this.#retries++;
  }

  taken(waited: number): void {
    this.#waited.observe(waited / 1000);
  }

  finished(worked: number): void {
    this.#worked.observe(worked / 1000);
  }

  observe(inProgress: () => WorkInProgress): void {
    this.#inProgress = inProgress;
  }

  publishCounts(): void {
    this.publishAdds();
    this.publishRetries();
  }

  publishDepth(): void {
    // A Map keeps the order of insertion, so a priority keeps the label it once had.
    let others = 0;
    let count = 0;
    for (const [priority, depth] of this.#depths) {
      count++;
      if (count > maxPriorityLabels) others += depth;
      else this.#family.depth.set({ ...this.#labels, priority: String(priority) }, depth);
    }
    if (count > maxPriorityLabels) {
      this.#family.depth.set({ ...this.#labels, priority: otherPriorities }, others);
    }
  }

  publishAdds(): void {
    this.#family.adds.inc(this.#labels, this.#adds);
    this.#adds = 0;
  }

  publishRetries(): void {
    this.#family.retries.inc(this.#labels, this.#retries);
    this.#retries = 0;
  }

  publishUnfinished(): void {
    this.#family.unfinished.set(this.#labels, this.#inProgress().total / 1000);
  }

  publishLongest(): void {
    this.#family.longest.set(this.#labels, this.#inProgress().longest / 1000);
  }
}

const families = new WeakMap<Registry, WorkqueueFamily>();

/**
 * The series of one queue, all at 0 from now on. Queues of one registry share the metrics.
 *
 * @param name of the queue, which is that of its controller; unique in the registry.
 * @param priorities those known to be used; others get a series at their first use.
 */
export function workqueueMetrics(
  registry: Registry,
  name: string,
  priorities: readonly number[] = [0],
): WorkqueueMetrics {
  let family = families.get(registry);
  if (!family) {
    family = new WorkqueueFamily(registry);
    families.set(registry, family);
  }
  const queue = new QueueSeries(family, name, priorities);
  family.queues.get(name)?.publishCounts();
  family.queues.set(name, queue);
  return queue;
}
