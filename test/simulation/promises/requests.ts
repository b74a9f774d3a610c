/** R4 and silence: how many requests there may be. */
import { isAccepted, isWrite, type RequestEntry } from '../entry.ts';
import type { NamedPromise } from '../history.ts';

/** In milliseconds. */
const window = 10_000;
/** Writes of one replica per second over {@link window}, while the API server takes them or refuses them. */
const mostPerSecond = 60;
/** The same about one object: nothing has to be said of it more often. */
const mostPerObject = 30;
/** More for each change that the operator did not make. */
const perReason = 4;
/** After the last fault and edit; the slowest retries and the longest back-off are over by then. */
const quietAfter = 15 * 60_000;

function keyOf({ replica, verb, resource, subresource, namespace, name }: RequestEntry): string {
  return `${replica} ${verb} ${resource}/${subresource} ${namespace}/${name}`;
}

export const requestsAreBounded: NamedPromise = {
  name: 'R4',
  sentence: 'requests are bounded, and nothing is written again and again',
  start(history) {
    /** Replicas that do not agree on whether something is due. */
    const haveOtherClocks = () => {
      const ahead = [...history.replicas.values()]
        .filter(({ running }) => running)
        .map((one) => one.clockAhead);
      return Math.max(...ahead) - Math.min(...ahead) > 500;
    };
    let begin = 0;
    const counts = new Map<string, number>();
    let all = 0;
    let reasons = 0;
    return {
      // Each edit, and each change of a Pod, is a reason to look and to write again.
      change({ by }) {
        if (by?.replica === undefined) reasons += 1;
        return undefined;
      },
      request(request) {
        if (request.replica === undefined || request.resource === 'leases' || request.verb === 'watch') {
          return undefined;
        }
        if (request.time - begin > window) {
          begin = request.time;
          counts.clear();
          all = 0;
          reasons = 0;
        }
        all += isWrite(request) ? 1 : 0;
        const key = keyOf(request);
        const count = (counts.get(key) ?? 0) + 1;
        counts.set(key, count);
        if (request.name !== '' && count > mostPerObject + perReason * reasons) {
          return {
            text: `${key}: ${count} times in 10 s`,
            clue: haveOtherClocks() ? 'clocks differ' : 'object',
          };
        }
        return all > mostPerSecond * (window / 1000) + perReason * reasons
          ? { text: `${request.replica} sent ${all} writes in 10 s`, clue: 'all' }
          : undefined;
      },
    };
  },
};

export const silence: NamedPromise = {
  name: 'L5',
  sentence: 'after convergence there are no writes but lease renewals',
  start(history) {
    return {
      request(request) {
        const { replica, resource, time, verb, name } = request;
        if (replica === undefined || !isWrite(request) || resource === 'leases') return undefined;
        const isQuiet = history.faults.size === 0 && time - history.busyAt > quietAfter;
        // What becomes due, ends, or is over makes writes of its own, which the history counts as busy.
        return isQuiet && isAccepted(request)
          ? {
              text: `${verb} ${resource}/${name} ${Math.round((time - history.busyAt) / 60_000)} min after the last event`,
              clue: request.body.includes('launchAttempt') ? 'intent' : resource,
            }
          : undefined;
      },
    };
  },
};
