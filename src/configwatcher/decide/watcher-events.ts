/**
 * Events of a ConfigWatcher: each tells a step from one state to the next, so an unchanged state says
 * nothing. Names of objects and keys only; never a value.
 */

import { configRestartEvent, watcherCondition, watcherEvent } from '../../api/configwatcher-constants.ts';
import { findCondition, isConditionTrue } from '../../kubernetes/conditions.ts';
import { formatDuration } from '../../kubernetes/duration.ts';
import type { EventRecord } from '../../runtime/events/event-recorder.ts';
import type { Observed, SourceContent } from '../facts/observed.ts';
import type { Pending, Restart, WatcherState } from '../facts/state.ts';
import { changeId } from '../plan/config-hash.ts';
import type { WatcherSpec } from '../plan/spec.ts';
import { strategies } from '../plan/strategies.ts';
import { replacesImmutable } from './comparison.ts';
import type { DecidedEvent } from './decision.ts';
import type { PodGroup, SortedPods } from './pod-groups.ts';
import { announcedBefore, type Step } from './progress.ts';
import { goingOwners } from './restart.ts';
import { summarizeKeys } from './trigger.ts';
import { blockedMessage, nameThem, pods, sourceNames, stallMessage } from './watcher-conditions.ts';

/** So many restarts in a row that have to wait for the cooldown look like a Pod that restarts itself. */
const waitsOfALoop = 5;

function normal(reason: string, action: string, note: string): EventRecord {
  return { type: 'Normal', reason, action, note };
}

function warning(reason: string, action: string, note: string): EventRecord {
  return { type: 'Warning', reason, action, note };
}

function changeEvents(before: WatcherState, edited: readonly SourceContent[]): EventRecord[] {
  if (edited.length === 0) return [];
  const what = edited.map(({ source, changedKeys }) => {
    const keys = changedKeys && changedKeys.length > 0 ? ` (${summarizeKeys(changedKeys).join(', ')})` : '';
    return `${source.kind} ${source.name}${keys}`;
  });
  const replaced = edited.filter((content) => replacesImmutable(content, before));
  return [
    normal(watcherEvent.changeDetected, 'Compare', `the content changed: ${nameThem(what)}`),
    ...(replaced.length > 0
      ? [
          warning(
            watcherEvent.immutableSource,
            'Compare',
            `immutable ${sourceNames(replaced)} was replaced under the same name: nodes that still use it may give new ` +
              'Pods the old content; give a new content a new name',
          ),
        ]
      : []),
  ];
}

function reasonEvent(
  reason: Pending['reason'],
  observed: Observed,
  { state, plan }: Step,
): EventRecord | undefined {
  switch (reason) {
    case 'DryRun':
      // It may have been interrupted: a source was away, or the watcher suspended.
      if (state.pending && observed.memory.toldDryRun === changeId(state.pending.hash, state.pending.since))
        return undefined;
      return normal(
        watcherEvent.changeDetected,
        'DryRun',
        `dry run: ${pods(state.stalePods)} would be restarted`,
      );
    case 'Cooldown': {
      // Edits that are taken back and made again begin to wait again and again.
      if (observed.memory.toldCooldown === state.cooldownUntil) return undefined;
      const wait = formatDuration((state.cooldownUntil ?? observed.now) - observed.now);
      const loop =
        (state.cooldownWaits ?? 0) >= waitsOfALoop - 1
          ? '; five changes in a row had to wait: perhaps a Pod rewrites its own configuration'
          : '';
      return normal(watcherEvent.cooldownActive, 'Wait', `the next restart starts in ${wait}${loop}`);
    }
    case 'EvictionBlocked': {
      const note = plan ? blockedMessage(plan, observed.memory.refusals) : 'a budget keeps Pods';
      return warning(watcherEvent.evictionBlocked, 'Evict', note);
    }
    case 'Stalled':
      return warning(
        watcherEvent.restartStalled,
        'Restart',
        plan ? stallMessage(plan, state) : 'no progress',
      );
    default:
      return undefined;
  }
}

/** Of the Pods that keep the old content: which, and why. */
function skippedNote({ unmanaged, ofJobs }: SortedPods): string {
  const reasons = [
    ['no controller would replace them', unmanaged],
    ['they run to an end and strategy.jobPods is Skip', ofJobs],
  ] as const;
  return reasons
    .filter(([, skipped]) => skipped.length > 0)
    .map(([why, skipped]) => `left alone, because ${why}: ${nameThem(skipped.map(({ name }) => name))}`)
    .join('; ');
}

function abandonedNote(restarted: number, abandoned: number): EventRecord {
  const left = `${pods(abandoned)} with an older content left`;
  const note = `${pods(restarted)} restarted, ${left}: the spec no longer asks for a restart`;
  return warning(watcherEvent.restartAbandoned, 'Restart', note);
}

/** An edit of the selector leaves out Pods that the change was owed to, and the change goes on. */
export function leftOutEvents(left: number): EventRecord[] {
  const note = `${pods(left)} with an older content left: the spec no longer selects them`;
  return left === 0 ? [] : [warning(watcherEvent.restartAbandoned, 'Restart', note)];
}

/** How the restart ended. */
function endOf({ restarted, skippedUnmanaged }: Restart, abandoned: number | undefined): EventRecord {
  if (abandoned !== undefined) return abandonedNote(restarted, abandoned);
  const left =
    skippedUnmanaged > 0
      ? `${pods(skippedUnmanaged)} with an older content left alone`
      : 'no Pod with an older content is left';
  return normal(watcherEvent.restartCompleted, 'Restart', `${pods(restarted)} restarted; ${left}`);
}

function restartEvents(before: WatcherState, { state, sorted, abandoned }: Step): EventRecord[] {
  const restart = state.lastRestart;
  if (!restart) return abandoned === undefined ? [] : [abandonedNote(0, abandoned)];
  const begins = before.lastRestart?.id !== restart.id;
  const ends = restart.completion !== undefined && (begins || before.lastRestart?.completion === undefined);
  const notes: EventRecord[] = [];
  if (begins && !ends) {
    notes.push(
      normal(watcherEvent.restartStarted, 'Restart', `${pods(state.stalePods)} with an older content`),
    );
  }
  if (begins && sorted && restart.skippedUnmanaged > 0) {
    notes.push(warning(watcherEvent.unmanagedPodSkipped, 'Restart', skippedNote(sorted)));
  }
  if (ends) notes.push(endOf(restart, abandoned));
  else if (abandoned !== undefined) notes.push(abandonedNote(0, abandoned));
  return notes;
}

function conditionEvents(before: WatcherState, after: WatcherState): EventRecord[] {
  const turned = (type: string) =>
    findCondition(before.conditions, type)?.status !== findCondition(after.conditions, type)?.status;
  const notes: EventRecord[] = [];
  const { sourceAvailable, podsMatched } = watcherCondition;
  if (turned(sourceAvailable)) {
    const message = findCondition(after.conditions, sourceAvailable)?.message ?? '';
    if (!isConditionTrue(after.conditions, sourceAvailable)) {
      notes.push(warning(watcherEvent.sourceMissing, 'Read', message));
    } else if (findCondition(before.conditions, sourceAvailable)) {
      notes.push(normal(watcherEvent.sourceRestored, 'Read', message));
    }
  }
  if (turned(podsMatched) && !isConditionTrue(after.conditions, podsMatched)) {
    notes.push(warning(watcherEvent.noPodsMatched, 'Select', 'the selector matches no Pod'));
  }
  return notes;
}

/** The owners whose Pods go now and that have got no Event yet. */
function newOwners(observed: Observed, { plan, memory }: Step): PodGroup[] {
  const going = plan === undefined ? [] : goingOwners(plan);
  const announced = announcedBefore(observed, memory.id);
  return [...new Set(going)].filter(({ key }) => !announced.has(key));
}

/** Kind and name of the source, and which of its keys changed where that is known. */
function causeOf(restart: Restart | undefined): string {
  const { trigger } = restart ?? {};
  if (!trigger) return 'their configuration';
  const { kind, name, changedKeys = [] } = trigger;
  return `${kind} ${name}${changedKeys.length > 0 ? ` (${nameThem(changedKeys)})` : ''}`;
}

function restartNowEvents({ restartNow, state }: Observed, next: Step): EventRecord[] {
  const isNews = restartNow !== undefined && restartNow !== state.restartNow;
  if (!isNews || state.pending || next.state.pending) return [];
  return [
    normal(watcherEvent.nothingPending, 'Restart', 'restart-now: no change waits, so nothing is restarted'),
  ];
}

/** One Event: the status keeps that it was recorded. */
function rightEvents({ strategy }: WatcherSpec, before: WatcherState, after: WatcherState): EventRecord[] {
  const evict = strategies.Evict.name;
  const isNews =
    strategy.rollout === 'WherePossible' && after.strategy === evict && before.strategy !== evict;
  if (!isNews) return [];
  const note =
    `strategy ${strategy.name} evicts Pods here: the operator may not patch workloads, or no admission policy keeps that right ` +
    'to the annotation that restarts them';
  return [normal(watcherEvent.autoEvicts, 'Restart', note)];
}

function ownerEvents(observed: Observed, spec: WatcherSpec, next: Step): DecidedEvent[] {
  const owners = newOwners(observed, next);
  const evicted = spec.strategy.rollout === 'Always' ? owners.filter(({ facts }) => !facts.rollout) : [];
  const names = evicted.map(({ owner }) => `${owner.kind} ${owner.name}`);
  const fallback =
    names.length > 0
      ? [
          normal(
            watcherEvent.restartStarted,
            'Evict',
            `${nameThem(names)}: has no rollout, so its Pods are evicted`,
          ),
        ]
      : [];
  const ofOwners = owners.map(({ owner }) => ({
    ...normal(
      configRestartEvent,
      'Restart',
      `${observed.kind} ${observed.name} restarts its Pods: ${causeOf(next.state.lastRestart)} changed`,
    ),
    regarding: owner,
  }));
  return [...fallback, ...ofOwners];
}

/** The Events of one decision; `next` is its outcome with the new conditions in its state. */
export function eventsOf(
  observed: Observed,
  spec: WatcherSpec,
  edited: readonly SourceContent[],
  next: Step,
): DecidedEvent[] {
  const before = observed.state;
  const reason = next.state.pending?.reason;
  // With no debounce, a second content in a dry run has the reason of the first one.
  const another = reason === 'DryRun' && next.state.pending?.hash !== before.pending?.hash;
  const stallOf = ({ conditions }: WatcherState) =>
    findCondition(conditions, watcherCondition.stalled)?.reason;
  const stalls = reason === 'Stalled' && stallOf(before) !== stallOf(next.state);
  const turned = reason !== before.pending?.reason || another || stalls;
  const waiting = reason && turned ? reasonEvent(reason, observed, next) : undefined;
  return [
    ...conditionEvents(before, next.state),
    ...changeEvents(before, edited),
    ...restartEvents(before, next),
    ...(waiting ? [waiting] : []),
    ...restartNowEvents(observed, next),
    ...rightEvents(spec, before, next.state),
    ...ownerEvents(observed, spec, next),
  ];
}
