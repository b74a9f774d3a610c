/** Outcome log: one line for each restarting write, which says what became of it. */
import type { Logger } from '../../runtime/logger.ts';
import type { Action } from '../decide/decision.ts';
import { refusalCauses } from '../facts/refusal-causes.ts';
import type { EvictionRefusal, PodOutcome } from '../facts/restart-memory.ts';
import { restartWriteOf } from './restart-write.ts';

function happened(action: Action, outcome: PodOutcome): string {
  const { done, gone } = restartWriteOf(action);
  if (outcome.result === 'Refused') return refusalCauses[outcome.cause].words;
  return outcome.result === 'Gone' ? gone : done;
}

/** An unchanged refusal is logged again after so many tries: about hourly, at one a minute. */
const repeated = 60;

/** Whether the same was logged a short while ago. */
function isRepetition(outcome: PodOutcome, before: EvictionRefusal | undefined): boolean {
  if (outcome.result !== 'Refused' || !before) return false;
  // The words about a budget count its Pods, and change with each of them; those of a failure are all that tells one.
  const isSame =
    outcome.cause === before.cause && (outcome.cause !== 'Failure' || outcome.message === before.message);
  return isSame && before.attempts % repeated !== 0;
}

/**
 * @param outcomes in the order of the actions; undefined for those that were not performed.
 * @param refusals of earlier tries, by uid.
 */
export function logOutcomes(
  log: Logger,
  actions: readonly Action[],
  outcomes: readonly (PodOutcome | undefined)[],
  refusals: ReadonlyMap<string, EvictionRefusal>,
): void {
  for (const [index, action] of actions.entries()) {
    const outcome = outcomes[index];
    if (outcome && !isRepetition(outcome, refusals.get(outcome.uid)))
      log.info({ ...restartWriteOf(action).target, ...outcome }, happened(action, outcome));
  }
}
