/**
 * ControllerMetrics: what a controller shows to Prometheus, under the names, labels and buckets of Go's
 * controller-runtime (`pkg/internal/controller/metrics`), so that dashboards made for it fit.
 */
import { Counter, Gauge, Histogram, type Registry } from '@prometheus-io/client';
import type { Outcome } from './outcome.ts';
import { type SelfWakeCause, selfWakeCauses } from './wake-limit.ts';

/** The result that each kind of outcome counts as. */
const results: Readonly<Record<Outcome['kind'], string>> = {
  success: 'success',
  requeue: 'requeue_after',
  error: 'error',
  terminal: 'error',
  panic: 'error',
};
/** `requeue` exists in controller-runtime only, and here stays at 0. */
const allResults = [...new Set(Object.values(results)), 'requeue'];

const timeBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5,
  1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];

/** The series of all controllers of one registry. */
class ControllerFamily {
  readonly total: Counter<'controller' | 'result'>;
  readonly errors: Counter<'controller'>;
  readonly terminalErrors: Counter<'controller'>;
  readonly panics: Counter<'controller'>;
  readonly timeouts: Counter<'controller'>;
  readonly hangs: Counter<'controller'>;
  readonly hanging: Gauge<'controller'>;
  readonly slowed: Counter<'controller' | 'cause'>;
  readonly time: Histogram<'controller'>;
  readonly maxConcurrent: Gauge<'controller'>;
  readonly activeWorkers: Gauge<'controller'>;

  constructor(registry: Registry) {
    const configuration = (name: string, help: string) => ({
      name: `controller_runtime_${name}`,
      help,
      labelNames: ['controller'] as const,
      registers: [registry],
    });
    this.total = new Counter({
      name: 'controller_runtime_reconcile_total',
      help: 'Reconciles that ended, by result',
      labelNames: ['controller', 'result'],
      registers: [registry],
    });
    this.errors = new Counter(configuration('reconcile_errors_total', 'Reconciles that ended with an error'));
    this.terminalErrors = new Counter(
      configuration('terminal_reconcile_errors_total', 'Reconciles that ended with a terminal error'),
    );
    this.panics = new Counter(
      configuration('reconcile_panics_total', 'Reconcilers that threw synchronously, or threw no Error'),
    );
    this.timeouts = new Counter(
      configuration('reconcile_timeouts_total', 'Reconciles that were told to stop after their time limit'),
    );
    this.hangs = new Counter(
      configuration(
        'reconcile_hangs_total',
        'Reconciles that took longer than a minute, counted when they do',
      ),
    );
    this.hanging = new Gauge(
      configuration('hanging_reconciles', 'Reconciles that have been running for more than a minute'),
    );
    this.slowed = new Counter({
      name: 'controller_runtime_reconcile_slowed_total',
      help: 'Reconciles that were delayed because their objects woke themselves too often, by what woke them',
      labelNames: ['controller', 'cause'],
      registers: [registry],
    });
    this.time = new Histogram({
      ...configuration('reconcile_time_seconds', 'Seconds a reconcile took'),
      buckets: timeBuckets,
    });
    this.maxConcurrent = new Gauge(
      configuration('max_concurrent_reconciles', 'Workers, and so the most reconciles at once'),
    );
    this.activeWorkers = new Gauge(configuration('active_workers', 'Workers that are busy'));
  }
}

const families = new WeakMap<Registry, ControllerFamily>();

/** The series of one controller, all at 0 from the start. Controllers of one registry share the metrics. */
export class ControllerMetrics {
  readonly #family: ControllerFamily;
  readonly #controller: { readonly controller: string };

  constructor(registry: Registry, controller: string, maxConcurrentReconciles: number) {
    let family = families.get(registry);
    if (!family) {
      family = new ControllerFamily(registry);
      families.set(registry, family);
    }
    this.#family = family;
    this.#controller = { controller };
    for (const result of allResults) family.total.inc({ controller, result }, 0);
    const { errors, terminalErrors, panics, timeouts, hangs } = family;
    for (const counter of [errors, terminalErrors, panics, timeouts, hangs]) counter.inc({ controller }, 0);
    for (const cause of selfWakeCauses) family.slowed.inc({ controller, cause }, 0);
    family.hanging.set({ controller }, 0);
    family.time.zero({ controller });
    family.maxConcurrent.set({ controller }, maxConcurrentReconciles);
    family.activeWorkers.set({ controller }, 0);
  }

  ended(kind: Outcome['kind'], duration: number): void {
    const result = results[kind];
    this.#family.total.inc({ ...this.#controller, result });
    this.#family.time.observe(this.#controller, duration / 1000);
    if (result === 'error') this.#family.errors.inc(this.#controller);
    if (kind === 'terminal') this.#family.terminalErrors.inc(this.#controller);
    if (kind === 'panic') this.#family.panics.inc(this.#controller);
  }

  /** A reconcile has been running for too long. */
  hangs(): void {
    this.#family.hangs.inc(this.#controller);
    this.#family.hanging.inc(this.#controller);
  }

  /** A reconcile that hung has ended. */
  hungUp(): void {
    this.#family.hanging.dec(this.#controller);
  }

  slowed(cause: SelfWakeCause): void {
    this.#family.slowed.inc({ ...this.#controller, cause });
  }

  timedOut(): void {
    this.#family.timeouts.inc(this.#controller);
  }

  busy(workers: 1 | -1): void {
    this.#family.activeWorkers.inc(this.#controller, workers);
  }
}
