/**
 * Lost answers: of a restarting write whose answer never came nobody knows whether it was done. The next list of
 * the Pods shows it, so that the counts do not depend on the network.
 */
import type { Observed } from './observed.ts';
import type { PodOutcome } from './restart-memory.ts';

/** The writes without an answer that turn out to have been done. */
export function answersFound({ memory, pods, owners }: Observed): readonly PodOutcome[] {
  const unanswered = [...memory.refusals].filter(([, { lost }]) => lost !== undefined);
  if (!pods || unanswered.length === 0) return [];
  const staying = new Set(pods.filter(({ terminating }) => !terminating).map(({ uid }) => uid));
  const templates = new Map(
    [...(owners?.values() ?? [])].map(({ reference, rollout }) => [reference.uid, rollout?.restartedFor]),
  );
  return unanswered.flatMap(([uid, { lost = [] }]): PodOutcome[] => {
    const isDone = templates.get(uid) === memory.id || !lost.some((pod) => staying.has(pod));
    if (!isDone) return [];
    return lost.includes(uid) ? [{ uid, result: 'Restarted' }] : [{ uid, result: 'RolledOut', pods: lost }];
  });
}
