/** R4 and silence: how many requests there may be. */
import type { At } from '../../../src/api/at.generated.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import { isAccepted, isWrite, type RequestEntry } from '../entry.ts';
import { type History, kept, type NamedPromise } from '../history.ts';
import type { AtRun } from '../runs.ts';
import { dueTimeOf } from '../schedule.ts';
import type { WatcherRun } from '../watchers.ts';
import { isHeld } from './exactly-once.ts';
import { accepted, blindFor, isRefusedPod } from './liveness.ts';

/** In milliseconds. */
const window = 10_000;
/** Writes of one replica per second over {@link window}, while the API server takes them or refuses them. */
const maxPerSecond = 60;
/** The same about one object: nothing has to be said of it more often. */
const maxPerObject = 30;
/**
 * Creates of Pods that were refused before and are again, of one replica in one namespace over {@link window}: one of all
 * that wait asks twice a second, for each of two causes.
 */
const maxRefusedAgain = 40;
/** A create that is turned away for no longer, in ms, is not told, and counts as one that takes longer. */
const busyFor = 2100;
/** More for each change that the operator did not make. */
const perReason = 4;
/** So many such changes in {@link window} wake a reconcile often, and each write that follows does so once more. */
const maxReasons = 10;
/**
 * Ms after the last event: where everything is done, until each informer has caught up; else until the longest back-off
 * is over, and a Pod's time to start, or the progress deadlines of three owners, one after the other.
 */
const quietAfter = { converged: 2 * 60_000, waiting: 31 * 60_000 };
/** Renewals, and questions whether an author may create Pods: they change nothing. */
const untold: ReadonlySet<string> = new Set(['leases', 'localsubjectaccessreviews']);
/** An At that is due so soon, in ms, is not done: it lies within two looks of an idle run. */
const dueSoon = 11 * 60_000;

function keyOf({ replica, verb, resource, subresource, namespace, name }: RequestEntry): string {
  return `${replica} ${verb} ${resource}/${subresource} ${namespace}/${name}`;
}

/** What was sent in the present ten seconds. */
class Counts {
  #begin = 0;
  readonly #byKey = new Map<string, number>();
  /** By replica: without an election each works for itself. */
  readonly #writes = new Map<string, number>();
  /** By replica and namespace. */
  readonly #refusedAgain = new Map<string, number>();
  /** When the create of a Pod was refused first, by its name. */
  readonly #refused = new Map<string, number>();
  #reasons = 0;
  /** Of the ten seconds before: a cache that lags shows them only now. */
  #lateReasons = 0;

  /** An edit, or a change of a Pod, is a reason to look and to write again. */
  reason(): void {
    this.#reasons += 1;
  }

  /** Whether so much has changed that a pass for each, and for what it writes, may come close together. */
  get isBusy(): boolean {
    return this.#reasons > maxReasons;
  }

  /** Which bound the request exceeds. */
  exceeded(request: RequestEntry): 'object' | 'all' | 'refused' | undefined {
    if (request.time - this.#begin > window) {
      this.#begin = request.time;
      this.#byKey.clear();
      this.#writes.clear();
      this.#refusedAgain.clear();
      this.#lateReasons = this.#reasons;
      this.#reasons = 0;
    }
    const [replica = ''] = (request.replica ?? '').split('#', 1);
    const writes = (this.#writes.get(replica) ?? 0) + (isWrite(request) ? 1 : 0);
    this.#writes.set(replica, writes);
    const key = keyOf(request);
    const count = (this.#byKey.get(key) ?? 0) + 1;
    this.#byKey.set(key, count);
    const more = perReason * (this.#reasons + this.#lateReasons);
    if (request.name !== '' && count > maxPerObject + more) return 'object';
    if (this.#countRefused(request, replica) > maxRefusedAgain + more) return 'refused';
    return writes > maxPerSecond * (window / 1000) + more ? 'all' : undefined;
  }

  /** How many creates have been refused again, where this is one of them. */
  #countRefused(request: RequestEntry, replica: string): number {
    const { namespace, body, code, answer } = request;
    // These may be about one Pod alone, which is tried on its own.
    if (!isRefusedPod(request) || code === 400 || code === 422) return 0;
    const { metadata } = JSON.parse(body || '{}') as Partial<Pod>;
    const pod = `${namespace}/${metadata?.name}`;
    const refusedAt = this.#refused.get(pod);
    if (refusedAt === undefined) this.#refused.set(pod, request.time);
    // An API server that has not looked at the request says when to send it again, in no words of its own.
    const isUnread = !answer.includes('"kind":"Status"');
    const isBusy = code === 429 && (isUnread || request.time - (refusedAt ?? 0) < busyFor);
    if (refusedAt === undefined || isBusy) return 0;
    const key = `${replica} ${namespace}`;
    const count = (this.#refusedAgain.get(key) ?? 0) + 1;
    this.#refusedAgain.set(key, count);
    return count;
  }
}

export const requestsAreBounded: NamedPromise = {
  name: 'R4',
  sentence: 'requests are bounded, and nothing is written again and again',
  start() {
    const counts = new Counts();
    return {
      change({ by }) {
        if (by?.replica === undefined) counts.reason();
        return undefined;
      },
      request(request) {
        const { replica, resource, verb } = request;
        if (replica === undefined || resource === 'leases' || verb === 'watch') return undefined;
        const exceeded = counts.exceeded(request);
        if (exceeded === undefined) return kept;
        return { text: `too many requests in 10 s, such as ${keyOf(request)}`, clue: exceeded };
      },
      // The runtime's own guard: passes that send nothing show in no request.
      log({ text }) {
        const isSlowed = text.includes('reconcile wakes itself too often');
        return isSlowed && !counts.isBusy ? { text, clue: 'wakes itself' } : undefined;
      },
    };
  },
};

/** Nothing is left to do for it, until a user acts. */
function isAtConverged(history: History, { at, pods, goneAt, forgedAt }: AtRun): boolean {
  if (goneAt !== undefined) return true;
  const { spec, status, metadata } = at;
  if (forgedAt !== undefined || metadata.deletionTimestamp !== undefined) return false;
  if (status?.phase === 'DONE') {
    const isOver = pods.every(
      (pod) => pod.goneAt !== undefined || (pod.endedAt !== undefined && !isHeld(pod.pod)),
    );
    return isOver && spec.ttlSecondsAfterFinished === undefined;
  }
  if (status?.phase !== 'PENDING' || status.observedGeneration !== metadata.generation) return false;
  if (!accepted(at) || spec.suspend === true) return true;
  const isRefused = status.conditions?.some(
    ({ type, status: is }) => type === 'PodAdmitted' && is === 'False',
  );
  return !isRefused && dueTimeOf(spec) > history.time + dueSoon;
}

function isWatcherConverged({ watcher: { status }, goneAt, forgedAt, annotated }: WatcherRun): boolean {
  if (goneAt !== undefined) return true;
  const isStalled = status?.conditions?.some(({ type, status: is }) => type === 'Stalled' && is === 'True');
  return (
    forgedAt === undefined &&
    !annotated &&
    !isStalled &&
    status?.appliedHash !== undefined &&
    status.pending === undefined
  );
}

function isConverged(history: History): boolean {
  const { runs, watchers, faults, time, blindedAt } = history;
  return (
    faults.size === 0 &&
    time - blindedAt > blindFor &&
    [...runs.byUid.values()].every((run) => isAtConverged(history, run)) &&
    [...watchers.byUid.values()].every(isWatcherConverged)
  );
}

export const silence: NamedPromise = {
  name: 'L5',
  sentence: 'after convergence there are no writes but lease renewals',
  start(history) {
    /** When a phase changed last: a deadline is over, or what became due was launched. */
    let movedAt = 0;
    let convergedSince = Number.POSITIVE_INFINITY;
    return {
      change({ resource, object, previous, time }) {
        const isMoved = (object as At).status?.phase !== (previous as At | undefined)?.status?.phase;
        if (resource === 'ats' && isMoved) movedAt = time;
        return undefined;
      },
      calm({ time }) {
        convergedSince = isConverged(history) ? Math.min(convergedSince, time) : Number.POSITIVE_INFINITY;
        const since = Math.max(movedAt, history.busyAt, convergedSince);
        return time - since > quietAfter.converged ? kept : undefined;
      },
      request(request) {
        const { replica, resource, time, verb, name } = request;
        if (replica === undefined || !isWrite(request) || untold.has(resource)) return undefined;
        const since = Math.max(movedAt, history.busyAt);
        const isSilent =
          time - Math.max(since, convergedSince) > quietAfter.converged || time - since > quietAfter.waiting;
        // What becomes due, ends, or is over makes writes of its own, which the history counts as busy.
        return history.faults.size === 0 && isSilent && isAccepted(request)
          ? {
              text: `${verb} ${resource}/${name} ${Math.round((time - history.busyAt) / 1000)} s after the last event`,
              clue: resource,
            }
          : undefined;
      },
    };
  },
};
