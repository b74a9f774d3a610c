/** Pod conditions: a list with one of each type, as kubelets and controllers write it. */
import type { PodCondition } from '../kubernetes/objects.ts';

/**
 * The list with the condition; the time of its transition is kept while its status is the same.
 *
 * @param time RFC 3339, of a transition that happens now
 */
export function withCondition(
  conditions: readonly PodCondition[],
  condition: Omit<PodCondition, 'lastTransitionTime'>,
  time: string,
): readonly PodCondition[] {
  const index = conditions.findIndex(({ type }) => type === condition.type);
  const old = conditions[index];
  if (old === undefined) return [...conditions, { ...condition, lastTransitionTime: time }];
  const lastTransitionTime = old.status === condition.status ? (old.lastTransitionTime ?? time) : time;
  const same =
    old.status === condition.status && old.reason === condition.reason && old.message === condition.message;
  return same ? conditions : conditions.with(index, { ...condition, lastTransitionTime });
}
