/**
 * Init work: for how long the init containers of a Pod have run. That is work, not waiting, and does not count against
 * pendingTimeoutSeconds. Native sidecars run beside the command and are no part of it.
 */
import type { ContainerStatus, Pod } from '../../kubernetes/objects.ts';
import { parseTime } from '../../kubernetes/time.ts';
import { isSidecar } from '../plan/template.ts';

export function initWork({ spec, status }: Pod): {
  /** An init container runs at this moment. */
  readonly isUnderWay: boolean;
  /** Milliseconds of the runs that have ended, by the clock of the node alone. */
  readonly doneMs: number;
} {
  const sidecars = (spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name);
  const statuses = (status?.initContainerStatuses ?? []).filter(({ name }) => !sidecars.includes(name));
  let doneMs = 0;
  let begin = parseTime(status?.startTime ?? '');
  for (const container of statuses) {
    const { workMs, end } = workOf(container, begin);
    doneMs += workMs;
    begin = end;
  }
  return { isUnderWay: statuses.some(({ state }) => state?.running !== undefined), doneMs };
}

/** @param begin when the init container before this one ended; epoch milliseconds. */
function workOf({ state, lastState, restartCount }: ContainerStatus, begin: number) {
  const runs = [lastState?.terminated, state?.terminated].flatMap((run) => {
    const [start, end] = [parseTime(run?.startedAt ?? ''), parseTime(run?.finishedAt ?? '')];
    return start > 0 && end >= start ? [{ start, end }] : [];
  });
  const last = runs.at(-1);
  if (last === undefined) return { workMs: 0, end: begin };
  const ended = restartCount + (state?.running === undefined ? 1 : 0);
  // Status tells two runs at most. The time of those before them counts as work: backoffLimit bounds it.
  const isForgotten = ended > runs.length && begin <= last.end;
  const workMs = isForgotten ? last.end - begin : runs.reduce((sum, { start, end }) => sum + end - start, 0);
  return { workMs, end: last.end };
}
