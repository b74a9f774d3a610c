/**
 * TallyHistogram: a Prometheus histogram for what happens a million times a second.
 *
 * The client library finds the series by its labels and the bucket by its bound's text at every observation,
 * which for a workqueue costs more than the queue itself. Here the caller holds its series, and an
 * observation is a search among a few numbers and two additions; text is made at a scrape.
 */
import type { Histogram, Registry } from '@prometheus-io/client';

export interface TallyHistogramOptions {
  readonly registry: Registry;
  readonly name: string;
  readonly help: string;
  /** Upper bounds, rising, without the last, infinite one. */
  readonly buckets: readonly number[];
}

/** One series of a {@link TallyHistogram}. */
export class Tally {
  readonly #bounds: readonly number[];
  /** Observations per bucket, not cumulated; the last is for those above every bound. */
  readonly #counts: number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  get sum(): number {
    return this.#sum;
  }

  /** @param value a finite number. */
  observe(value: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#sum += value;
  }

  /** How many observations each bound has at or below it; the last number counts all. */
  cumulated(): number[] {
    let count = 0;
    return this.#counts.map((inBucket) => {
      count += inBucket;
      return count;
    });
  }

  reset(): void {
    this.#counts.fill(0);
    this.#sum = 0;
  }
}

type Labels = Readonly<Record<string, string>>;

interface Series {
  readonly labels: Labels;
  readonly tally: Tally;
}

interface Value {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

export class TallyHistogram {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly #buckets: readonly number[];
  readonly #series = new Map<string, Series>();

  constructor({ registry, name, help, buckets }: TallyHistogramOptions) {
    this.name = name;
    this.help = help;
    this.#buckets = buckets;
    // The type asks for the library's own classes; the registry uses name, aggregator, get and reset.
    registry.registerMetric(this as unknown as Histogram);
  }

  /** The series of these labels, which from now on exists; the same one for the same labels. */
  series(labels: Labels): Tally {
    const key = JSON.stringify(labels);
    const series = this.#series.get(key) ?? { labels, tally: new Tally(this.#buckets) };
    this.#series.set(key, series);
    return series.tally;
  }

  /** Called by the registry, for a scrape. */
  async get() {
    const { name, help, type, aggregator } = this;
    const values = [...this.#series.values()].flatMap((series) => this.#values(series));
    return { name, help, type, aggregator, values };
  }

  /** Called by the registry's `resetMetrics`. */
  reset(): void {
    for (const { tally } of this.#series.values()) tally.reset();
  }

  #values({ labels, tally }: Series): Value[] {
    const { name } = this;
    const counts = tally.cumulated();
    return [
      ...counts.map((value, index) => {
        return {
          metricName: `${name}_bucket`,
          labels: { le: this.#buckets[index] ?? '+Inf', ...labels },
          value,
        };
      }),
      { metricName: `${name}_sum`, labels, value: tally.sum },
      { metricName: `${name}_count`, labels, value: counts.at(-1) ?? 0 },
    ];
  }
}
