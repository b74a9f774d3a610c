/**
 * Preflights: dry runs of Pods that are repeated while their Ats wait. One that was refused is repeated each hour, and
 * one that is older than an hour, or that only another process knows of, five minutes before the At is due. Ats of a
 * namespace whose Pods are alike to admission have one for all as long as it passes.
 *
 * They run beside the queue: an At in the queue waits behind all that is due by then, and might be late for it. Times
 * are monotonic milliseconds.
 */
import type { At } from '../../api/at.generated.ts';
import { atCondition } from '../../api/at-constants.ts';
import { findCondition } from '../../kubernetes/conditions.ts';
import { parseTime } from '../../kubernetes/time.ts';
import { sleep } from '../../runtime/clock.ts';
import { requestFor, requestKey } from '../../runtime/controller/reconciler.ts';
import type { Runnable } from '../../runtime/controller/runnable.ts';
import { Pace } from '../../runtime/pace.ts';
import type { Observed, Preflight } from '../facts/observed.ts';
import { isCause } from '../plan/cause.ts';
import { dueTime } from '../plan/due.ts';
import { isAccepted } from '../plan/phase.ts';
import { planOf } from '../plan/plan.ts';
import { buildPod } from '../plan/pod.ts';
import { admissionHash } from '../plan/run.ts';
import type { AtParts } from './at-parts.ts';
import { dryRun } from './dry-run.ts';

const scanPeriodMs = 30_000;
/** A dry run that passed counts for so long; one that was refused is repeated after about as long. */
const validMs = 3_600_000;
/** Of the time between two refused dry runs, so much more or less by chance. */
const jitter = 0.1;
/** From here on before an At is due an old dry run is repeated, and from there on no more. */
const leadMs = 300_000;
const minLeadMs = 30_000;
/** The first one of an At comes within this time from its creation. */
const firstTryMs = 60_000;
/** Dry runs of one namespace in one scan, and of all namespaces at a time. */
const maxOfNamespace = 10;
const maxAtOnce = 4;

export class Preflights implements Runnable {
  readonly name = 'at-preflights';
  readonly needsLeaderElection = true;
  readonly #options;
  /**
   * By key of an At. Of most Ats nothing need be known: they are due long after their dry run. `version`: uid and
   * generation. `preflight`: what it came to; absent: status shows it.
   */
  readonly #tried = new Map<
    string,
    {
      readonly version: string;
      readonly nextAt: number;
      readonly preflight?: Preflight;
      /** When the answer of {@link preflight} came, epoch milliseconds. */
      readonly answeredAt?: number;
    }
  >();

  /**
   * @param options `random`: uniform in [0, 1). `wake`: called with the key of an At when its dry run has come to
   *   something that status does not show.
   */
  constructor(
    options: Pick<AtParts, 'client' | 'clock' | 'ats' | 'tracks' | 'defaults'> & {
      readonly random: () => number;
      readonly wake: (key: string) => void;
    },
  ) {
    this.#options = options;
  }

  /** How many Ats there are of which something is known. */
  get size(): number {
    return this.#tried.size;
  }

  async start(stop: AbortSignal, abort: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.#scan(stop, abort);
      await sleep(this.#options.clock, scanPeriodMs, stop).catch(() => {});
    }
  }

  /** The Pod of this spec was tried just now, and status will show what it came to. */
  tried(at: At, preflight: Preflight | undefined): void {
    if (preflight !== undefined) this.#remember(at, preflight.rejection !== undefined);
  }

  /** What a repeated dry run of this spec has come to, unless status tells of a later one, by another process too. */
  recall(at: At): Pick<Observed, 'preflight'> {
    const { preflight, answeredAt = 0 } = this.#known(at) ?? {};
    const toldAt = parseTime(findAdmission(at)?.lastTransitionTime ?? '');
    return preflight === undefined || toldAt > answeredAt ? {} : { preflight };
  }

  forget(key: string): void {
    this.#tried.delete(key);
  }

  async #scan(stop: AbortSignal, abort: AbortSignal): Promise<void> {
    const { clock, ats } = this.#options;
    const pace = new Pace(clock);
    pace.begin();
    const byNamespace = new Map<string, At[]>();
    for (const at of ats.list()) {
      if (this.#isDue(at)) {
        const { namespace = '' } = at.metadata;
        const others = byNamespace.get(namespace);
        if (others === undefined) byNamespace.set(namespace, [at]);
        else others.push(at);
      }
      if (pace.isDue) await pace.turn();
    }
    const namespaces = byNamespace.values();
    const work = async () => {
      for (const some of namespaces) {
        if (stop.aborted) return;
        await this.#tryNamespace(some, stop, abort);
      }
    };
    await Promise.all(Array.from({ length: Math.min(maxAtOnce, byNamespace.size) }, work));
  }

  /** Whether a dry run of the Pod is to be repeated now. Cheap: it is asked of all Ats. */
  #isDue(at: At): boolean {
    if (!isAccepted(at)) return false;
    const { clock } = this.#options;
    const lead = dueTime(at) - clock.now();
    if (!Number.isFinite(lead) || lead < minLeadMs) return false;
    const isRefused = isToldRefused(at);
    if (!isRefused && lead > leadMs) return false;
    const known = this.#known(at);
    if (known !== undefined) return clock.monotonic() >= known.nextAt;
    // It was an hour ago, or of another process, which may have ended before it.
    if (!isRefused) return clock.now() - parseTime(at.metadata.creationTimestamp ?? '') >= firstTryMs;
    // Another process has found it refused, at some time in the last hour.
    const nextAt = clock.monotonic() + validMs * this.#options.random();
    this.#tried.set(requestKey(requestFor(at)), { version: versionOf(at), nextAt });
    return false;
  }

  async #tryNamespace(all: readonly At[], stop: AbortSignal, abort: AbortSignal): Promise<void> {
    /** Of Pods of which a dry run has passed just now. */
    const passed = new Set<string>();
    let tries = 0;
    // More than fit into an hour would otherwise keep those behind them from ever having a turn.
    const nextAt = (at: At) => this.#known(at)?.nextAt ?? 0;
    for (const at of all.toSorted((one, other) => nextAt(one) - nextAt(other))) {
      const hash = admissionHash(at);
      if (passed.has(hash)) {
        this.#came(at, {});
        continue;
      }
      if (tries >= maxOfNamespace || stop.aborted) continue;
      tries += 1;
      const preflight = await this.#try(at, abort);
      this.#came(at, preflight);
      if (preflight !== undefined && preflight.rejection === undefined) passed.add(hash);
    }
  }

  async #try(at: At, signal: AbortSignal): Promise<Preflight | undefined> {
    const { client, tracks, defaults } = this.#options;
    const plan = planOf(at);
    if (isCause(plan)) return undefined;
    const pod = buildPod(at, plan, 1, { tracked: tracks, image: defaults?.image });
    return (await dryRun(client, pod, signal)).preflight;
  }

  /**
   * A dry run has come to this: the At is looked at where its status says something else. One without an answer is due
   * again at the next scan, after all that have waited for longer.
   */
  #came(at: At, preflight: Preflight | undefined): void {
    const { ats, clock, wake } = this.#options;
    const { namespace = '', name } = at.metadata;
    const current = ats.get(namespace, name);
    // What was edited meanwhile has a dry run of its own.
    if (current === undefined || versionOf(current) !== versionOf(at)) return;
    const key = requestKey(requestFor(at));
    if (preflight === undefined) {
      this.#tried.set(key, { ...this.#known(at), version: versionOf(at), nextAt: clock.monotonic() });
      return;
    }
    this.#remember(at, preflight.rejection !== undefined, preflight);
    const shown = findAdmission(current);
    const isShown =
      preflight.rejection === undefined
        ? shown?.status !== 'False'
        : shown?.status === 'False' && shown.message === preflight.rejection.message;
    if (!isShown) wake(key);
  }

  #remember(at: At, isRejected: boolean, preflight?: Preflight): void {
    const { clock, random } = this.#options;
    const key = requestKey(requestFor(at));
    // Another one is due before this one is too old.
    const isUseful = isRejected || preflight !== undefined || dueTime(at) - clock.now() < validMs + leadMs;
    if (!isUseful) {
      this.#tried.delete(key);
      return;
    }
    const wait = isRejected ? validMs * (1 + jitter * (2 * random() - 1)) : validMs;
    const own = preflight === undefined ? {} : { preflight, answeredAt: clock.now() };
    this.#tried.set(key, { version: versionOf(at), nextAt: clock.monotonic() + wait, ...own });
  }

  #known(at: At) {
    const known = this.#tried.get(requestKey(requestFor(at)));
    return known?.version === versionOf(at) ? known : undefined;
  }
}

function findAdmission({ status }: At) {
  return findCondition(status?.conditions, atCondition.podAdmitted);
}

function isToldRefused(at: At): boolean {
  return findAdmission(at)?.status === 'False';
}

function versionOf({ metadata: { uid, generation } }: At): string {
  return `${uid}/${generation}`;
}
