/** State: where an At stands, in one word and one sentence, for people who look at many of them. */
import type { At } from '../../api/at.generated.ts';
import { atCondition, atOutcome, atPhase, atReason } from '../../api/at-constants.ts';
import { phaseOf } from '../../at/plan/phase.ts';
import { resolveSchedule } from '../../at/plan/schedule.ts';
import { findCondition } from '../../kubernetes/conditions.ts';
import { printable } from '../../kubernetes/printable.ts';
import { parseTime } from '../../kubernetes/time.ts';
import type { Tone } from '../output/style.ts';

export interface State {
  readonly word: string;
  readonly tone: Tone;
  /** Why, where the word does not say it. */
  readonly message: string;
}

/** An operator that is there has launched by then, or has said why not. */
const overdueAfter = 15_000;

const outcomes: Readonly<Record<string, Tone>> = {
  [atOutcome.succeeded]: 'good',
  [atOutcome.failed]: 'bad',
  [atOutcome.missed]: 'bad',
  [atOutcome.canceled]: 'faint',
};

/** While it runs, these say that all is well. */
const uneventful: readonly string[] = ['', atReason.armed, atReason.launched];

/** @param now epoch ms. */
export function stateOf(at: At, now: number): State {
  const { metadata, spec, status } = at;
  const message = printable(status?.message ?? '');
  if (metadata.deletionTimestamp !== undefined) return { word: 'Deleting', tone: 'faint', message };
  if (isWaiting(at)) return waitingState(at, now);
  if (isDone(at)) {
    const outcome = status?.outcome ?? 'Done';
    return { word: outcome, tone: outcomes[outcome] ?? 'plain', message };
  }
  const reason = status?.reason ?? '';
  if (spec.cancel) return { word: 'Stopping', tone: 'warn', message };
  return uneventful.includes(reason)
    ? { word: 'Running', tone: 'busy', message }
    : { word: reason, tone: 'warn', message };
}

function waitingState(at: At, now: number): State {
  const conditions = at.status?.conditions;
  const accepted = findCondition(conditions, atCondition.accepted);
  const launched = findCondition(conditions, atCondition.launched);
  if (at.spec.cancel) return { word: 'Canceling', tone: 'faint', message: '' };
  if (accepted?.status === 'False') return { word: 'Invalid', tone: 'bad', message: accepted.message };
  if (launched?.status === 'False') return { word: launched.reason, tone: 'bad', message: launched.message };
  if (at.spec.suspend) return { word: 'Suspended', tone: 'warn', message: '' };
  if (dueAt(at) + overdueAfter < now) {
    return { word: 'Overdue', tone: 'bad', message: 'no operator has launched it: see kubectl at doctor' };
  }
  return { word: 'Waiting', tone: 'plain', message: printable(at.status?.message ?? '') };
}

/** Epoch ms; NaN when no schedule is understood. */
export function dueAt({ spec, status }: At): number {
  const instant = resolveSchedule(spec.schedule, spec.timeZone);
  const isLaunched = status?.podUID !== undefined && status.scheduledTime !== undefined;
  if (isLaunched) return parseTime(status.scheduledTime);
  return typeof instant === 'number' ? instant : Number.NaN;
}

/** When it began to run, in epoch ms; undefined when it has not. */
export function startedAt({ status }: At): number | undefined {
  return timeOf(status?.startTime) ?? timeOf(status?.launchTime);
}

export function endedAt({ status }: At): number | undefined {
  return timeOf(status?.completionTime);
}

/**
 * The instant that a list shows and goes by: when it is due, has begun, or has ended without. The kubelet gives the begin
 * in whole seconds, rounded down: one that began in the second of its launch began after it.
 */
export function shownInstant(at: At): number {
  const started = startedAt(at);
  if (started === undefined) return endedAt(at) ?? dueAt(at);
  return Math.max(started, timeOf(at.status?.launchTime) ?? 0);
}

function timeOf(text: string | undefined): number | undefined {
  const time = parseTime(text ?? '');
  return Number.isNaN(time) ? undefined : time;
}

export function isDone(at: At): boolean {
  return phaseOf(at) === atPhase.done;
}

export function isWaiting(at: At): boolean {
  return phaseOf(at) === atPhase.pending;
}

/** Outcomes that need no reason. */
const plainOutcomes: readonly string[] = [atOutcome.succeeded, atOutcome.canceled];

/** `Failed (exit code 3): no such file`; of one that has ended. */
export function sayOutcome(at: At): string {
  const { outcome = 'Done', exitCode, reason, message } = at.status ?? {};
  if (plainOutcomes.includes(outcome)) return outcome;
  const why = exitCode === undefined || exitCode === 0 ? reason : `exit code ${exitCode}`;
  const said =
    printable(message ?? '')
      .trim()
      .split('\n')
      .at(-1) ?? '';
  return `${outcome}${why === undefined ? '' : ` (${why})`}${said === '' ? '' : `: ${said}`}`;
}

/** The command as it could be typed. */
export function sayCommand({ spec }: At): string {
  if (spec.argv !== undefined) return spec.argv.map(quoted).join(' ');
  if (spec.command !== undefined)
    return spec.shell === undefined ? spec.command : `${spec.shell} -c ${quoted(spec.command)}`;
  return '(as in the template)';
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
