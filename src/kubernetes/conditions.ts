/**
 * Conditions: the list of metav1.Condition in an object's status, one per type. Pure: a changed list is a
 * new list, an unchanged one is the same, so that `===` tells whether there is anything to write.
 */
import type { Condition } from './objects.ts';
import { formatTime } from './time.ts';

/** A condition as a controller states it: without the time, which only a change of status moves. */
export type NewCondition = Omit<Condition, 'lastTransitionTime'>;

/**
 * The list with `condition` in it, in the place of the one of its type or at the end.
 * `lastTransitionTime` is kept unless `status` changes (as `meta.SetStatusCondition` of Go does).
 *
 * @param now epoch milliseconds
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  condition: NewCondition,
  now: number,
): readonly Condition[] {
  const list = conditions ?? [];
  const index = list.findIndex(({ type }) => type === condition.type);
  const old = list[index];
  if (old === undefined) {
    return [...list, { ...condition, lastTransitionTime: formatTime(now) }];
  }
  if (isSame(old, condition)) {
    return list;
  }
  const lastTransitionTime = old.status === condition.status ? old.lastTransitionTime : formatTime(now);
  return list.with(index, { ...condition, lastTransitionTime });
}

/** The list without the condition of that type. */
export function removeCondition(
  conditions: readonly Condition[] | undefined,
  type: string,
): readonly Condition[] {
  const list = conditions ?? [];
  return list.some((condition) => condition.type === type)
    ? list.filter((condition) => condition.type !== type)
    : list;
}

/** The condition of that type, if there is one. */
export function findCondition(
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined {
  // A loop: this is asked of every object again and again.
  for (const condition of conditions ?? []) if (condition.type === type) return condition;
  return undefined;
}

/** Whether the condition exists and is True. Absent and Unknown are not. */
export function isConditionTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === 'True';
}

function isSame(old: Condition, condition: NewCondition): boolean {
  return (
    old.status === condition.status &&
    old.reason === condition.reason &&
    old.message === condition.message &&
    old.observedGeneration === condition.observedGeneration
  );
}
