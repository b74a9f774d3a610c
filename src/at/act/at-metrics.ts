/**
 * AtMetrics: what happens to Ats, for Prometheus. Launches and ends are counted as they are written to
 * status; how many Ats there are is read from the store when the metrics are asked for.
 */
import { Counter, Gauge, Histogram, type Registry } from '@prometheus-io/client';
import type { At, AtStatus } from '../../api/at.generated.ts';
import { atOutcome, atPhase, atReason } from '../../api/at-constants.ts';
import { parseTime } from '../../kubernetes/time.ts';
import { operatorLateness } from '../decide/launch.ts';
import { isDue } from '../plan/due.ts';
import { phaseOf } from '../plan/phase.ts';

const latenessBuckets = [0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600];
const startBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 900];
const knownReasons: readonly string[] = Object.values(atReason);
/** A kubelet may name other reasons for a wait, and an annotation any: not every word makes a series. */
const otherReason = 'Other';
/** Reasons of the outcome Failed. Their series are there from the start: what begins at 1 shows no increase. */
const failures = [
  atReason.commandFailed,
  atReason.backoffLimitExceeded,
  atReason.deadlineExceeded,
  atReason.pendingTimeout,
  atReason.cannotStart,
  atReason.imagePullBackOff,
  atReason.unschedulable,
  atReason.evicted,
  atReason.podLost,
  otherReason,
];

export class AtMetrics {
  readonly #lateness: Histogram;
  readonly #startLatency: Histogram;
  readonly #finished: Counter<'outcome' | 'reason'>;

  /**
   * @param ats all the Ats that this process sees
   * @param now epoch milliseconds
   */
  constructor(registry: Registry, ats: () => readonly At[], now: () => number) {
    const registers = [registry];
    this.#lateness = new Histogram({
      name: 'atwatch_at_launch_lateness_seconds',
      help: 'Time by which the operator created a Pod late: since its instant, or since its At was created, edited or resumed after that; 0 when the API server refused it meanwhile.',
      buckets: latenessBuckets,
      registers,
    });
    this.#startLatency = new Histogram({
      name: 'atwatch_at_start_latency_seconds',
      help: 'Time from the creation of the Pod to the first start of the command.',
      buckets: startBuckets,
      registers,
    });
    this.#finished = new Counter({
      name: 'atwatch_at_finished_total',
      help: 'Ats that reached DONE, by outcome and reason.',
      labelNames: ['outcome', 'reason'],
      registers,
    });
    this.#finished.inc({ outcome: atOutcome.succeeded, reason: atReason.succeeded }, 0);
    this.#finished.inc({ outcome: atOutcome.canceled, reason: atReason.canceled }, 0);
    this.#finished.inc({ outcome: atOutcome.missed, reason: atReason.missedDeadline }, 0);
    for (const reason of failures) this.#finished.inc({ outcome: atOutcome.failed, reason }, 0);
    const phases: Gauge<'phase'> = new Gauge({
      name: 'atwatch_ats',
      help: 'Ats, by phase.',
      labelNames: ['phase'],
      registers,
      collect: () => {
        const counts = Map.groupBy(ats(), phaseOf);
        for (const phase of Object.values(atPhase)) {
          phases.set({ phase }, counts.get(phase)?.length ?? 0);
        }
      },
    });
    const backlog: Gauge = new Gauge({
      name: 'atwatch_at_due_backlog',
      help: 'Ats whose instant has passed and whose Pod has not been created.',
      registers,
      collect: () => backlog.set(ats().filter((at) => isDue(at, now())).length),
    });
    const refused: Gauge = new Gauge({
      name: 'atwatch_at_refused',
      help: 'Ats whose instant has passed and whose Pod is refused for a reason that is for their authors to mend.',
      registers,
      collect: () => refused.set(ats().filter((at) => isDue(at, now()) && isRefused(at)).length),
    });
  }

  /** A status has been written in place of the one that `at` has. */
  written(at: At, after: AtStatus): void {
    const before = at.status ?? {};
    if (before.podUID === undefined && after.latenessMilliseconds !== undefined) {
      this.#lateness.observe(lateness(at, after) / 1000);
    } else if (delayOf(after) > delayOf(before)) {
      // Its Pod was recorded in time, and released late.
      this.#lateness.observe(delayOf(after));
    }
    // The launch that status tells is that of the first Pod; of a later one it does not say when it was created.
    const isFirst = (after.attempts ?? 1) === 1;
    if (isFirst && before.startTime === undefined && after.startTime !== undefined) {
      const latency = parseTime(after.startTime) - parseTime(after.launchTime ?? '');
      // The kubelet's times have whole seconds, the rest of which is dropped.
      this.#startLatency.observe(Number.isNaN(latency) ? 0 : Math.max(0, latency / 1000));
    }
    if (before.outcome === undefined && after.outcome !== undefined) {
      const isKnown = after.reason !== undefined && knownReasons.includes(after.reason);
      const reason = isKnown ? after.reason : otherReason;
      this.#finished.inc({ outcome: after.outcome, reason });
    }
  }
}

/** A quota, a policy, a name that is taken, a right that the author lacks: nothing that the platform's people could mend. */
const authorsReasons: ReadonlySet<string> = new Set([
  atReason.podRejected,
  atReason.podNameConflict,
  atReason.notAuthorized,
]);

function isRefused({ status }: At): boolean {
  return authorsReasons.has(status?.reason ?? '');
}

function delayOf({ operatorDelaySeconds = 0 }: AtStatus): number {
  return operatorDelaySeconds;
}

/** Milliseconds by which the operator was late, as status tells of the launch. */
function lateness(
  at: At,
  { launchTime = '', scheduledTime = '', operatorDelaySeconds = 0 }: AtStatus,
): number {
  const late = operatorLateness(at, parseTime(launchTime), parseTime(scheduledTime));
  // Status knows of failed creates that no condition shows.
  return Math.floor(late / 1000) === operatorDelaySeconds ? late : operatorDelaySeconds * 1000;
}
