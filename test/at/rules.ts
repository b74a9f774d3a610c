/** Rules: what the CRD refuses, and what no write about an At may do, judged from what it changes. */
import type { At, AtSpec } from '../../src/api/at.generated.ts';
import { runAnnotation } from '../../src/at/plan/run.ts';
import type { Pod } from '../../src/kubernetes/objects.ts';

const phases = ['PENDING', 'RUNNING', 'DONE'];
const stopReason = 'cnat.programming-kubernetes.info/stop-reason';

/** Whether the rules of the CRD let this edit through. */
export function isAllowed({ status }: At, edit: Partial<AtSpec>): boolean {
  const isRunning = status?.phase === 'RUNNING';
  const free = ['cancel', 'suspend', 'ttlSecondsAfterFinished'];
  return !(isRunning && Object.keys(edit).some((key) => !free.includes(key)));
}

/** What a status write breaks. `isCanceled`: whether the At was ever canceled before. */
export function brokenByStatus(before: At | undefined, after: At, isCanceled: boolean): string[] {
  const [old, next] = [before?.status ?? {}, after.status ?? {}];
  const final = ({ outcome, reason, message, podUID, completionTime, exitCode }: NonNullable<At['status']>) =>
    JSON.stringify([outcome, reason, message, podUID, completionTime, exitCode]);
  const broken = {
    'a phase that went back': phases.indexOf(next.phase ?? '') < phases.indexOf(old.phase ?? 'PENDING'),
    'an observedGeneration that fell': (next.observedGeneration ?? -1) < (old.observedGeneration ?? -1),
    'an outcome that changed': old.phase === 'DONE' && final(old) !== final(next),
    'another Pod of the same attempt':
      old.podUID !== undefined && old.podUID !== next.podUID && old.attempts === next.attempts,
    'a write to an At that is over and being deleted':
      before?.metadata.deletionTimestamp !== undefined && old.phase === 'DONE',
    'a cancel that was not requested': next.outcome === 'Canceled' && !isCanceled,
  };
  return namesOf(broken);
}

/** What a patch of a Pod breaks. */
export function brokenByPatch(before: Pod | undefined, after: Pod): string[] {
  const reason = after.metadata.annotations?.[stopReason];
  const isStopped = reason !== before?.metadata.annotations?.[stopReason];
  return namesOf({
    'a deadline that the run does not have':
      isStopped && reason === 'DeadlineExceeded' && termsOf(after).activeDeadlineSeconds === undefined,
  });
}

function namesOf(broken: Readonly<Record<string, boolean>>): string[] {
  return Object.keys(broken).filter((name) => broken[name]);
}

/** The terms of its run, as the Pod carries them. */
export function termsOf({ metadata }: Pod): Record<string, unknown> {
  return JSON.parse(metadata.annotations?.[runAnnotation] ?? '{}');
}
