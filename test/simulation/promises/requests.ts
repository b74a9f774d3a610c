/** R4 and silence: how many requests there may be. */
import type { At } from '../../../src/api/at.generated.ts';
import { isAccepted, isWrite, type RequestEntry } from '../entry.ts';
import type { History, NamedPromise } from '../history.ts';
import { blindFor } from './liveness.ts';

/** In milliseconds. */
const window = 10_000;
/** Writes of one replica per second over {@link window}, while the API server takes them or refuses them. */
const mostPerSecond = 100;
/** The same about one object: nothing has to be said of it more often. */
const mostPerObject = 30;
/** More for each change that the operator did not make. */
const perReason = 4;
/** After the last fault and edit; the longest back-off is over by then, and so is a Pod's time to start. */
const quietAfter = 16 * 60_000;

function keyOf({ replica, verb, resource, subresource, namespace, name }: RequestEntry): string {
  return `${replica} ${verb} ${resource}/${subresource} ${namespace}/${name}`;
}

/** What was sent in the present ten seconds. */
class Counts {
  #begin = 0;
  readonly #byKey = new Map<string, number>();
  #writes = 0;
  #reasons = 0;

  /** An edit, or a change of a Pod, is a reason to look and to write again. */
  reason(): void {
    this.#reasons += 1;
  }

  /** Which bound the request exceeds. */
  exceeded(request: RequestEntry): 'object' | 'all' | undefined {
    if (request.time - this.#begin > window) {
      this.#begin = request.time;
      this.#byKey.clear();
      this.#writes = 0;
      this.#reasons = 0;
    }
    this.#writes += isWrite(request) ? 1 : 0;
    const key = keyOf(request);
    const count = (this.#byKey.get(key) ?? 0) + 1;
    this.#byKey.set(key, count);
    const more = perReason * this.#reasons;
    if (request.name !== '' && count > mostPerObject + more) return 'object';
    return this.#writes > mostPerSecond * (window / 1000) + more ? 'all' : undefined;
  }
}

/** After a fault an informer may still be on its way back, in milliseconds. */
const catchingUp = 60_000;

/** In which of the known ways replicas work against each other. */
function clueFor(history: History, resource: string): string | undefined {
  const running = [...history.replicas.values()].filter((one) => one.running);
  const isAnnotated = [...history.watchers.byUid.values()].some(({ annotated }) => annotated);
  if (running.length > 1 && isAnnotated && ['configmaps', 'events'].includes(resource)) {
    return 'annotations differ';
  }
  return ['ats', 'pods'].includes(resource) && mayDiffer(history) ? 'views differ' : undefined;
}

/** Whether there are several replicas, of which one may not have been shown what another one has. */
function mayDiffer({ replicas, faults, faultedAt, blindedAt, time }: History): boolean {
  const running = [...replicas.values()].filter((one) => one.running);
  const isBehind = time - faultedAt < catchingUp || time - blindedAt < blindFor;
  return running.length > 1 && (faults.size > 0 || isBehind);
}

export const requestsAreBounded: NamedPromise = {
  name: 'R4',
  sentence: 'requests are bounded, and nothing is written again and again',
  start(history) {
    const counts = new Counts();
    /** The last time that replicas worked against each other: what else there is too much of follows from that. */
    let storm = { clue: '', at: Number.NEGATIVE_INFINITY };
    return {
      change({ by }) {
        if (by?.replica === undefined) counts.reason();
        return undefined;
      },
      request(request) {
        const { replica, resource, verb } = request;
        if (replica === undefined || resource === 'leases' || verb === 'watch') return undefined;
        const exceeded = counts.exceeded(request);
        if (exceeded === undefined) return undefined;
        const against = clueFor(history, resource);
        if (against !== undefined) storm = { clue: against, at: request.time };
        const clue = request.time - storm.at <= window ? storm.clue : exceeded;
        return { text: `too many requests in 10 s, such as ${keyOf(request)}`, clue };
      },
    };
  },
};

export const silence: NamedPromise = {
  name: 'L5',
  sentence: 'after convergence there are no writes but lease renewals',
  start(history) {
    /** When a phase changed last: a deadline is over, or what became due was launched. */
    let movedAt = 0;
    return {
      change({ resource, object, previous, time }) {
        const isMoved = (object as At).status?.phase !== (previous as At | undefined)?.status?.phase;
        if (resource === 'ats' && isMoved) movedAt = time;
        return undefined;
      },
      request(request) {
        const { replica, resource, time, verb, name } = request;
        if (replica === undefined || !isWrite(request) || resource === 'leases') return undefined;
        const isQuiet = history.faults.size === 0 && time - Math.max(movedAt, history.busyAt) > quietAfter;
        // What becomes due, ends, or is over makes writes of its own, which the history counts as busy.
        return isQuiet && isAccepted(request)
          ? {
              text: `${verb} ${resource}/${name} ${Math.round((time - history.busyAt) / 60_000)} min after the last event`,
              clue: resource,
            }
          : undefined;
      },
    };
  },
};
