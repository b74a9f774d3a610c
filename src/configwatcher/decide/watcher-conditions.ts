/**
 * Conditions of a ConfigWatcher. Ready says whether the watcher works, so it stays True while a restart
 * waits or runs; Progressing and Stalled tell about the restart.
 */

import { watcherReason as reason, watcherCondition as type } from '../../api/configwatcher-constants.ts';
import { findCondition, removeCondition, setCondition } from '../../kubernetes/conditions.ts';
import type { Condition } from '../../kubernetes/objects.ts';
import { formatTime } from '../../kubernetes/time.ts';
import type { Observed } from '../facts/observed.ts';
import type { PodFacts } from '../facts/pod-facts.ts';
import type { RefusalOfOwner, RestartMemory } from '../facts/restart-memory.ts';
import type { Pending, WatcherState } from '../facts/state.ts';
import type { Comparison } from './comparison.ts';
import type { Stall } from './owner-entry.ts';
import { isNextRepairQuick } from './pending.ts';
import type { SortedPods } from './pod-groups.ts';
import type { Step } from './progress.ts';
import type { Plan } from './restart.ts';

type Statement = Pick<Condition, 'status' | 'reason' | 'message'>;

const waits: Readonly<Record<Pending['reason'], string>> = {
  Debounce: 'a change was seen; waiting for further edits',
  Cooldown: 'a change waits, because the last restart was a short time ago',
  Window: 'a change waits for the next window',
  Suspended: 'a change waits, because the watcher is suspended',
  DryRun: 'a change would restart Pods, but this is a dry run',
  SourceMissing: 'a change waits, because a source is missing and new Pods could not start',
  InProgress: 'Pods are being restarted',
  RolloutInProgress:
    'a rollout of their owner replaces the Pods that are stale; the restart goes on after it',
  EvictionBlocked: 'a PodDisruptionBudget does not let Pods go yet',
  Stalled: 'the restart makes no progress',
};

/** The status stays small, whatever names people choose. */
const maxMessage = 512;

/** Names of things, at most ten, cut when they are too long together. */
export function nameThem(names: readonly string[]): string {
  const rest = names.length > 10 ? ` and ${names.length - 10} more` : '';
  const text = `${names.slice(0, 10).join(', ')}${rest}`;
  return text.length > maxMessage ? `${text.slice(0, maxMessage - 1)}…` : text;
}

export function pods(count: number): string {
  return count === 1 ? '1 Pod' : `${count} Pods`;
}

/** Kinds and names of the sources. */
export function sourceNames(contents: Comparison['missing']): string {
  return nameThem(contents.map(({ source }) => `${source.kind} ${source.name}`));
}

/** Which Pods were left alone is known only in the pass that listed them; its words stand until the next restart. */
function upToDate({ lastRestart, conditions }: WatcherState, listed: SortedPods | undefined): Statement {
  const skipped = lastRestart?.skippedUnmanaged ?? 0;
  const except = skipped > 0 ? `, except ${pods(skipped)} that the last restart left alone` : '';
  const message = `the Pods run with the current content${except}`;
  const names = [...(listed?.unmanaged ?? []), ...(listed?.ofJobs ?? [])].map(({ name }) => name);
  const shown = findCondition(conditions, type.progressing)?.message ?? '';
  const kept = shown.startsWith(`${message}: `) ? shown : message;
  const words = names.length > 0 ? `${message}: ${nameThem(names)}` : kept;
  return { status: 'False', reason: reason.upToDate, message: words };
}

/** Stands until the next change: who looks at the watcher later shall not take all Pods for equal. */
function abandonment({ conditions }: WatcherState, { abandoned, sorted }: Step): Statement | undefined {
  const { restartAbandoned } = reason;
  const shown = findCondition(conditions, type.progressing);
  if (abandoned === undefined) return !sorted && shown?.reason === restartAbandoned ? shown : undefined;
  const message = `${pods(abandoned)} kept an older content: the spec no longer asks for a restart`;
  return { status: 'False', reason: restartAbandoned, message };
}

/** What a Pod that is older than the replacement keeps alive on its node. */
function uncertainty({ replacedAt }: WatcherState): Statement | undefined {
  if (replacedAt === undefined) return undefined;
  const message =
    `an immutable source was replaced under the same name at ${formatTime(replacedAt)}, and Pods are left that are older: ` +
    'their nodes may give the old content to new Pods; give a new content a new name';
  return { status: 'False', reason: reason.contentUncertain, message };
}

/** What the Pods run with stays as it is until the source is back. */
function absence({ appliedHash }: WatcherState, missing: Comparison['missing']): Statement | undefined {
  if (missing.length === 0) return undefined;
  const then =
    appliedHash === undefined
      ? 'its first content is the baseline, which restarts nothing'
      : 'the Pods run with the content that was applied last';
  const message = `${sourceNames(missing)} does not exist; ${then}`;
  return { status: 'False', reason: reason.sourceMissing, message };
}

function progressing(state: WatcherState, step: Step, missing: Comparison['missing']): Statement {
  const { pending } = state;
  if (!pending) {
    return (
      abandonment(state, step) ??
      absence(state, missing) ??
      uncertainty(state) ??
      upToDate(state, step.sorted)
    );
  }
  if (step.plan?.missingRight !== undefined) {
    const message = forbiddenMessage(step.plan.missingRight);
    return { status: 'True', reason: reason.forbidden, message };
  }
  if (pending.reason === 'Stalled') return stuck(state, step.plan);
  const message = `${waits[pending.reason]}${endOf(pending.reason, step.until)}`;
  return { status: 'True', reason: pending.reason, message };
}

/** The reason is the one word that STATE shows: what the restart is stuck at. */
function stuck(state: WatcherState, plan: Plan | undefined): Statement {
  if (plan) return { status: 'True', reason: stallReason(plan), message: stallMessage(plan, state) };
  const known = findCondition(state.conditions, type.stalled);
  return { status: 'True', reason: known?.reason ?? 'Stalled', message: known?.message ?? waits.Stalled };
}

/** Shown for waits that last long; the end of a debounce moves with each edit. */
function endOf(reason: Pending['reason'], until: number | undefined): string {
  const lasts = reason === 'Cooldown' || reason === 'Window';
  return lasts && until !== undefined ? ` (until ${formatTime(until)})` : '';
}

function stallReason({ stalled: stalls, blocked }: Plan): string {
  const because = stalls[0]?.because ?? 'Deadline';
  if (because !== 'Deadline') return because;
  return blocked.length > 0 ? reason.evictionBlocked : reason.progressDeadlineExceeded;
}

const stalls: Readonly<Record<Stall['because'], string>> = {
  Paused: 'its rollout is paused',
  OnDelete: 'its updateStrategy OnDelete rolls nothing out',
  Reverted: 'the change of its template was reverted',
  NewPodsNotAvailable: 'its new Pods do not become available, so no further Pod gets this content',
  Unschedulable: 'no node takes its new Pods',
  NodeLost: 'the node of a Pod does not answer',
  PodsMissing: 'its controller does not make its new Pods; perhaps a quota forbids it',
  Deadline: 'there was no progress for the whole deadline',
};

/** What a Pod says about why it does not become available. */
function podWords({ name, failure, restarts }: PodFacts): string {
  // One sentence for both: a Pod that is Ready now and then would have the status written each time.
  if (!failure) return `Pod ${name} is not Ready, or does not stay so`;
  const { container, reason: why, exitCode, lastLine } = failure;
  const ended = exitCode === undefined ? why : `${why} with exit code ${exitCode}`;
  const line = lastLine === undefined ? '' : `: ${lastLine}`;
  return `Pod ${name}, container ${container}: ${ended} after ${restarts} restarts${line}`;
}

/** What a refusal of a budget comes to, where waiting does not help. */
export function budgetAdvice(message: string, podsOfOwner: number, isReady: boolean): string {
  if (!isReady) return '; unhealthyPodEvictionPolicy: AlwaysAllow lets Pods go that are not Ready';
  const [, needed, healthy] = /needs (\d+) healthy pods and has (\d+) currently/.exec(message) ?? [];
  // A budget that has more healthy Pods than the owner has is one of other Pods, too: how many there are is not known.
  if (needed === undefined || Number(needed) < podsOfOwner || Number(healthy) > podsOfOwner) return '';
  return '; it needs as many Pods as there are, so it never allows one to go: lower minAvailable, raise maxUnavailable, or add replicas';
}

/**
 * Names the Pods whose eviction disruption budgets refuse, and quotes one refusal: that of a Pod which is not Ready, if
 * there is one, because its remedy is another.
 */
export function blockedMessage({ blocked, ownerOf }: Plan, refusals: RestartMemory['refusals']): string {
  const first = blocked.find(({ ready }) => !ready) ?? blocked[0];
  const words = (first && refusals.get(first.uid)?.message) ?? 'a PodDisruptionBudget does not let it go';
  const live = first ? (ownerOf.get(first.uid)?.live ?? 0) : 0;
  return `${nameThem(blocked.map(({ name }) => name))}: ${words}${first ? budgetAdvice(words, live, first.ready) : ''}`;
}

/**
 * The Pod that is named. As long as the one that the status names shows it, it stays: another one at each look would be
 * a status write each time, and not the one that the Event names.
 */
function namedPod({ pods: broken }: Stall, { conditions }: WatcherState): PodFacts | undefined {
  const shown = findCondition(conditions, type.stalled)?.message ?? '';
  return (
    broken.find(({ name }) => shown.includes(`; Pod ${name}, `) || shown.includes(`; Pod ${name} `)) ??
    broken[0]
  );
}

/** What ends the stall, where the content breaks its Pods. */
function remedy(because: Stall['because'], { pending, cooldownUntil }: WatcherState): string {
  if (because !== 'NewPodsNotAvailable') return '';
  return cooldownUntil === undefined || isNextRepairQuick(pending)
    ? '; the next edit is applied at once'
    : '; several edits in a row break Pods, so the next one waits for the cooldown';
}

function refusalWords({ cause, message, pod }: RefusalOfOwner, podsOfOwner: number): string {
  if (cause === 'Forbidden') return `; ${forbiddenMessage(message)}`;
  return `; the last answer was: ${message}${budgetAdvice(message, podsOfOwner, pod?.ready ?? true)}`;
}

/** Which owners are stuck, and why. */
export function stallMessage({ stalled: stuck }: Plan, state: WatcherState): string {
  return nameThem(
    stuck.map((stall) => {
      const { group, because, refusal } = stall;
      const { owner, live } = group;
      const pod = namedPod(stall, state);
      const lastly = because === 'Deadline' && refusal ? refusalWords(refusal, live) : '';
      const gone =
        because === 'NewPodsNotAvailable' ? '; that Pod is gone, and a new one has to show more' : '';
      const words = pod ? `; ${podWords(pod)}` : gone;
      return `${owner.kind} ${owner.name}: ${stalls[because]}${remedy(because, state)}${words}${lastly}`;
    }),
  );
}

function stalled(state: WatcherState, plan: Plan | undefined): Statement | undefined {
  if (!plan || plan.stalled.length === 0) return undefined;
  return { status: 'True', reason: stallReason(plan), message: stallMessage(plan, state) };
}

/** Why the operator cannot do what the watcher asks for. */
export function forbiddenMessage(right: string): string {
  return `the operator may not ${right} here`;
}

function ready(
  observed: Observed,
  missing: Comparison['missing'],
  plan: Plan | undefined,
  stall: Statement | undefined,
): Statement {
  if (plan?.missingRight !== undefined) {
    return { status: 'False', reason: reason.forbidden, message: forbiddenMessage(plan.missingRight) };
  }
  if (missing.length > 0) {
    return {
      status: 'False',
      reason: reason.sourceMissing,
      message: `${sourceNames(missing)} does not exist`,
    };
  }
  if (stall) return stall;
  if (plan && plan.blocked.length > 0) {
    const message = blockedMessage(plan, observed.memory.refusals);
    return { status: 'True', reason: reason.evictionBlocked, message };
  }
  return { status: 'True', reason: reason.watching, message: `watching ${sourceNames(observed.sources)}` };
}

/** Conditions of a watcher whose spec could be followed. `state` is the new one. */
export function conditionsOf(
  observed: Observed,
  state: WatcherState,
  comparison: Comparison,
  step: Step,
): readonly Condition[] {
  const { missing } = comparison;
  const { plan } = step;
  const notThere = `${sourceNames(missing)} does not exist`;
  const matched = state.matchedPods > 0;
  const stall = stalled(state, plan);
  const statements: [string, Statement][] = [
    [type.ready, ready(observed, missing, plan, stall)],
    [
      type.sourceAvailable,
      missing.length > 0
        ? { status: 'False', reason: reason.sourceMissing, message: notThere }
        : { status: 'True', reason: reason.sourcesFound, message: 'every required source exists' },
    ],
    [
      type.podsMatched,
      matched
        ? { status: 'True', reason: reason.podsMatched, message: 'the selector matches Pods' }
        : { status: 'False', reason: reason.noPodsMatched, message: 'the selector matches no Pod' },
    ],
    [type.progressing, progressing(state, step, missing)],
  ];
  const stays = plan === undefined && state.pending?.reason === 'Stalled';
  if (stall) statements.push([type.stalled, stall]);
  const before = withoutInvalidSpec(state.conditions);
  return set(observed, stall || stays ? before : removeCondition(before, type.stalled), statements);
}

/**
 * Conditions of a watcher that cannot follow its spec, until the spec is edited: Stalled, by which tools that wait
 * for objects to get ready (all that judge by kstatus) know that there is nothing to wait for.
 */
export function invalidSpec(observed: Observed, message: string): readonly Condition[] {
  const { invalidSpec: because } = reason;
  return set(observed, observed.state.conditions, [
    [type.ready, { status: 'False', reason: because, message }],
    ...refusedProgress(observed.state, because, message),
    [type.stalled, { status: 'True', reason: because, message }],
  ]);
}

/** Conditions of a watcher that lacks a right. What was observed before is left standing. `state` is the new one. */
export function forbidden(observed: Observed, state: WatcherState, message: string): readonly Condition[] {
  const before = withoutInvalidSpec(state.conditions);
  return set(observed, before, [
    [type.ready, { status: 'False', reason: reason.forbidden, message }],
    ...refusedProgress(state, reason.forbidden, message),
  ]);
}

/** Whether the Pods run with the content is not known. That a restart was abandoned stays known by this condition. */
function refusedProgress(
  { pending, conditions }: WatcherState,
  because: string,
  message: string,
): [string, Statement][] {
  if (findCondition(conditions, type.progressing)?.reason === reason.restartAbandoned) return [];
  return [[type.progressing, { status: pending ? 'True' : 'False', reason: because, message }]];
}

/** The spec can be followed again. */
function withoutInvalidSpec(conditions: readonly Condition[]): readonly Condition[] {
  const stuck = findCondition(conditions, type.stalled);
  return stuck?.reason === reason.invalidSpec ? removeCondition(conditions, type.stalled) : conditions;
}

function set(
  observed: Observed,
  conditions: readonly Condition[],
  statements: readonly [string, Statement][],
): readonly Condition[] {
  return statements.reduce(
    (list, [name, statement]) =>
      setCondition(list, { type: name, ...statement, observedGeneration: observed.generation }, observed.now),
    conditions,
  );
}
