/**
 * Statement: one condition of an At as a status function states it, and what all of them share: the
 * generation they speak of, and texts that fit.
 */

import type { At, AtStatus } from '../../api/at.generated.ts';
import { atCondition, atReason } from '../../api/at-constants.ts';
import {
  findCondition,
  type NewCondition,
  removeCondition,
  setCondition,
} from '../../kubernetes/conditions.ts';
import type { Condition } from '../../kubernetes/objects.ts';
import type { Observed } from '../facts/observed.ts';

/** Bytes that status.message may have. */
export const maxMessageBytes = 1024;

export const accepted: readonly NewCondition[] = [
  { type: atCondition.accepted, status: 'True', reason: atReason.armed, message: 'the spec can be run' },
];

/** Of a spec that is not the one which was launched: it is good, and comes too late. */
export const editedTooLate: readonly NewCondition[] = [
  {
    type: atCondition.accepted,
    status: 'True',
    reason: atReason.editedTooLate,
    message: 'the spec was edited after its Pod had been created: the run goes on as it began, once',
  },
];

/** Of a spec that was edited when the At was DONE. */
export const editedAfterEnd: readonly NewCondition[] = [
  {
    type: atCondition.accepted,
    status: 'True',
    reason: atReason.editedTooLate,
    message: 'the spec was edited after the end: only ttlSecondsAfterFinished takes effect',
  },
];

/** Of a spec that asks for the same run at another time than it had. */
export const rescheduledTooLate: readonly NewCondition[] = [
  {
    type: atCondition.accepted,
    status: 'True',
    reason: atReason.rescheduledTooLate,
    message: 'the schedule was edited after the Pod had been created: the run goes on as it began',
  },
];

/** An At that was suspended says that it no longer is; one that never was says nothing. */
export function resumed({ spec, status }: At): NewCondition[] {
  // Of a Pod that was created before the suspension could be seen, the At goes on all the same.
  const message = spec.suspend === true ? 'the Pod was created before' : 'spec.suspend is false';
  return findCondition(status?.conditions, atCondition.suspended) === undefined
    ? []
    : [{ type: atCondition.suspended, status: 'False', reason: atReason.resumed, message }];
}

/** Adds the conditions and the generation. Stalled is there only while it is True. */
export function stated(o: Observed, status: AtStatus, statements: readonly NewCondition[]): AtStatus {
  // A cached At may be older than the last status this process has written: observedGeneration never falls.
  const observedGeneration = Math.max(o.at.metadata.generation ?? 0, o.at.status?.observedGeneration ?? 0);
  // Whatever else status says holds for this generation, too; `kubectl wait` believes no older one.
  let conditions: readonly Condition[] = (status.conditions ?? []).map((condition) =>
    condition.observedGeneration === observedGeneration ? condition : { ...condition, observedGeneration },
  );
  if (statements.some(({ type, status: holds }) => type === atCondition.ready && holds === 'True')) {
    conditions = removeCondition(conditions, atCondition.stalled);
  }
  for (const statement of statements) {
    conditions = setCondition(conditions, { ...statement, observedGeneration }, o.now);
  }
  return { ...status, observedGeneration, conditions };
}

/** The end of a text that is too long, in bytes: of an output, the end says why. */
export function clip(message: string, maxBytes = maxMessageBytes): string {
  const bytes = new TextEncoder().encode(message);
  if (bytes.length <= maxBytes) {
    return message;
  }
  // A character that the cut goes through is left out.
  const kept = bytes.subarray(bytes.length - maxBytes);
  const start = kept.findIndex((byte) => (byte & 0b1100_0000) !== 0b1000_0000);
  return new TextDecoder().decode(kept.subarray(start));
}
