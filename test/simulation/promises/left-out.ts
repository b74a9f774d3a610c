/** R3: what becomes of Pods that an edit of the selector leaves out while a change is owed to them. */
import type { ConfigWatcher, ConfigWatcherStatus } from '../../../src/api/configwatcher.generated.ts';
import { findCondition } from '../../../src/kubernetes/conditions.ts';
import type { KubernetesObject, Pod } from '../../../src/kubernetes/objects.ts';
import { type History, kept, type NamedPromise } from '../history.ts';
import { hasLabels, isConcerned } from '../selector.ts';
import type { WatcherRun } from '../watchers.ts';
import { isRestartable } from './applied.ts';

export const leftOutIsTold: NamedPromise = {
  name: 'R3',
  sentence:
    'a change is not said to be applied where the edited selector leaves out Pods that it was owed to',
  start: (history) => ({
    change({ resource, object, previous, by }) {
      if (resource !== 'configwatchers' || by?.replica === undefined) return undefined;
      const run = history.watchers.byUid.get(object.metadata.uid ?? '');
      const [before, after] = [statusOf(previous), statusOf(object)];
      if (run === undefined || run.forgedAt !== undefined || !isApplied(before, after)) return undefined;
      const [left] = leftOut(history, run);
      if (left === undefined) return undefined;
      const reason = findCondition(after.conditions, 'Progressing')?.reason;
      if (reason === 'RestartAbandoned' && (after.stalePods ?? 0) > 0) return kept;
      const [name, pod] = [object.metadata.name, left.metadata.name];
      return { text: `${name} says ${reason}, and nothing of ${pod}, which it selected`, clue: 'left out' };
    },
  }),
};

function statusOf(object: KubernetesObject | undefined): ConfigWatcherStatus {
  return (object as ConfigWatcher | undefined)?.status ?? {};
}

/** A change that was taken back is owed to no Pod that was there before it, also where another source has come since. */
function isApplied(before: ConfigWatcherStatus, after: ConfigWatcherStatus): boolean {
  if (before.pending === undefined || after.pending !== undefined) return false;
  const owed = (before.sources ?? []).filter(({ pendingHash }) => pendingHash !== undefined);
  const isBack = owed.every(({ kind, name, hash }) =>
    after.sources?.some((one) => one.kind === kind && one.name === name && one.hash === hash),
  );
  if (owed.length > 0 && isBack) return false;
  return before.pending.hash !== before.appliedHash && after.appliedHash !== before.appliedHash;
}

/**
 * The Pods that were selected when the change was recorded last, and are no more. Where a later edit selects others, those
 * may be what was left out before: the Event has told of them, and which they were is not known any more.
 */
function leftOut(history: History, { watcher, specs, raises }: WatcherRun): Pod[] {
  const { time, cutoff } = raises.at(-1) ?? { time: Number.POSITIVE_INFINITY, cutoff: 0 };
  const since = specs.filter(({ until }) => until > time).map(({ spec }) => spec);
  const pods = history.objects.in<Pod>('pods', watcher.metadata.namespace ?? '');
  let left: Pod[] = [];
  for (const [index, spec] of since.slice(1).entries()) {
    const before = pods.filter((pod) => hasLabels(since[index] ?? spec, pod));
    const isWider = pods.some((pod) => hasLabels(spec, pod) && !before.includes(pod));
    left = [...(isWider ? [] : left), ...before.filter((pod) => !hasLabels(spec, pod))];
  }
  return left.filter(
    (pod) =>
      isConcerned(watcher.spec, pod) &&
      isRestartable(watcher.spec, pod) &&
      Date.parse(pod.metadata.creationTimestamp ?? '') <= cutoff,
  );
}
