/**
 * Coverage: in which states of objects which faults were met: each cell is a state, as a phase with its reason or
 * condition, and a kind of fault that lasted then or struck.
 */
import type { At } from '../../src/api/at.generated.ts';
import { holdReasons } from '../../src/api/at-constants.ts';
import type { ConfigWatcher } from '../../src/api/configwatcher.generated.ts';
import { findCondition } from '../../src/kubernetes/conditions.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { Entry } from './entry.ts';
import type { History } from './history.ts';

export function stateOf(resource: string, object: KubernetesObject): string | undefined {
  if (resource === 'ats') {
    const { status, spec } = object as At;
    const { phase = 'PENDING', reason = 'New', outcome } = status ?? {};
    return `At ${phase}${outcome === undefined ? '' : ` ${outcome}`} ${spec?.suspend && phase === 'PENDING' ? 'Suspended' : reason}`;
  }
  if (resource !== 'configwatchers') return undefined;
  const { status } = object as ConfigWatcher;
  const stalled = status?.conditions?.find(({ type, status: is }) => type === 'Stalled' && is === 'True');
  if (status?.appliedHash === undefined) return 'ConfigWatcher New';
  const progressing = findCondition(status.conditions, 'Progressing');
  return `ConfigWatcher ${stalled?.reason ?? status.pending?.reason ?? progressing?.reason ?? 'UpToDate'}`;
}

const stopping = new Set([
  ...['Canceled', 'CannotStart', 'DeadlineExceeded', 'PendingTimeout', 'BackoffLimitExceeded'],
  // What runs beside the command is.
  'Succeeded',
]);
/** What keeps a container from its start, although its image is there. */
const startErrors = new Set(['CreateContainerConfigError', 'RunContainerError']);
/** Of a run that failed: the reasons by which it is no other case than those before. */
const failures: Readonly<Record<string, string>> = {
  ...{ CommandFailed: 'CommandFailed', BackoffLimitExceeded: 'CommandFailed' },
  ...{ CannotStart: 'CannotStart', DeadlineExceeded: 'DeadlineExceeded' },
  ...{ Evicted: 'Disrupted', PodLost: 'Disrupted', PodUnreachable: 'Disrupted' },
};
/** Of an At between two attempts: what ended the first one, or what stands in the way of the next. */
const betweenAttempts: ReadonlySet<string> = new Set([
  ...['Evicted', 'PodLost', 'PodUnreachable', 'CommandFailed'],
  ...holdReasons,
]);

/** The row of the table: the state without what there are many of. */
export function rowOf(resource: string, object: KubernetesObject): string | undefined {
  if (resource !== 'ats')
    return stateOf(resource, object)?.replace(
      / (Paused|OnDelete|PodsMissing|Reverted|NodeLost|Unschedulable|ProgressDeadlineExceeded|InvalidSpec|Forbidden)$/,
      ' Stalled',
    );
  const { status } = object as At;
  // What it waits for when it does so for too long may be anything.
  const failure = failures[status?.reason ?? ''] ?? 'PendingTimeout';
  if (status?.phase === 'DONE')
    return `At DONE ${status.outcome}${status.outcome === 'Failed' ? ` ${failure}` : ''}`;
  if (status?.phase !== 'RUNNING') return stateOf(resource, object)?.replace(/Invalid\w+$/, 'InvalidCommand');
  const { reason = 'Launched' } = status;
  if (stopping.has(reason)) return 'At RUNNING Stopping';
  if (startErrors.has(reason)) return 'At RUNNING StartError';
  return `At RUNNING ${betweenAttempts.has(reason) ? 'BetweenAttempts' : reason}`;
}

export class Coverage {
  /** `state × fault` → how often. */
  readonly cells = new Map<string, number>();
  readonly #history: History;

  constructor(history: History) {
    this.#history = history;
  }

  see(entry: Entry): void {
    if (entry.type === 'fault' && entry.state !== 'ends') this.#struck(entry.kind);
    if (entry.type !== 'change' || entry.change === 'DELETED') return;
    const state = this.#rowOf(entry.resource, entry.object);
    if (state === undefined) return;
    this.#count(state, 'no fault', this.#history.faults.size === 0);
    for (const { kind } of this.#history.faults.values()) this.#count(state, kind);
  }

  #struck(kind: string): void {
    for (const resource of ['ats', 'configwatchers']) {
      for (const object of this.#history.objects.list(resource))
        this.#count(this.#rowOf(resource, object), kind);
    }
  }

  /** Undefined also for one whose status was made up. */
  #rowOf(resource: string, object: KubernetesObject): string | undefined {
    const { uid = '' } = object.metadata;
    const { runs, watchers } = this.#history;
    const forgedAt = runs.byUid.get(uid)?.forgedAt ?? watchers.byUid.get(uid)?.forgedAt;
    return forgedAt === undefined ? rowOf(resource, object) : undefined;
  }

  #count(state: string | undefined, fault: string, isMet = true): void {
    if (!isMet || state === undefined) return;
    const cell = `${state} × ${fault}`;
    this.cells.set(cell, (this.cells.get(cell) ?? 0) + 1);
  }
}
