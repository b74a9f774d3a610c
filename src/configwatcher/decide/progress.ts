/**
 * Progress: carries a recorded change from waiting to a running restart, batch by batch, to done.
 *
 * Order of the writes of one change, and what a crash in each gap leaves behind:
 * 1. status `pending {hash, since, cutoff}`. Before it nothing is known and the change is found again.
 * 2. status `pending.started`. Between 1 and 2 no Pod was touched; waiting goes on with the same instants.
 * 3. one eviction or deletion per Pod, in batches, status counts in between. A crash here leaves Pods that
 *    are not newer than `cutoff`; they are found again, and the replacements are newer.
 * 4. status `appliedHash`, `pending` gone, when a list shows no stale Pod and every owner's Pods are available.
 *    Between the last Pod and 4 that list is made again.
 */

import { watcherCondition, watcherReason } from '../../api/configwatcher-constants.ts';
import { findCondition } from '../../kubernetes/conditions.ts';
import type { Need, Observed, OwnerFacts } from '../facts/observed.ts';
import type { PodFacts } from '../facts/pod-facts.ts';
import { emptyMemory, type RestartMemory, withoutRefusalsOf } from '../facts/restart-memory.ts';
import { rolloutAnnotation } from '../facts/rollout-annotation.ts';
import { given, maxReverted, type Pending, type WatcherState } from '../facts/state.ts';
import { changeId, combinedHash } from '../plan/config-hash.ts';
import type { WatcherSpec } from '../plan/spec.ts';
import { recorded } from './change.ts';
import { appliedSources, areConfirmed, type Comparison } from './comparison.ts';
import type { Action } from './decision.ts';
import { abandonedPods } from './left-out.ts';
import { cooldownAfter, isRunning, type Wait, waitOf } from './pending.ts';
import { type PodGroup, type SortedPods, sortPods, stalenessOf } from './pod-groups.ts';
import { goingOwners, type Plan, planRestart } from './restart.ts';
import {
  closed,
  closeOvertaken,
  counted,
  overtakenIds,
  recordOf,
  skippedPods,
  withCooldown,
} from './restart-record.ts';
import { roomForOwners } from './status-size.ts';
import { triggerOf } from './trigger.ts';
import { writeState } from './watcher-status.ts';

export interface Step {
  readonly state: WatcherState;
  readonly memory: RestartMemory;
  readonly actions: readonly Action[];
  readonly plan?: Plan;
  /** See {@link Change.abandoned}. */
  readonly abandoned?: number;
  /** The Pods, where they were listed for a restart. */
  readonly sorted?: SortedPods;
  /** The end of what is waited for (epoch ms), where it is known. */
  readonly until?: number;
  readonly requeueAfter?: number;
}

interface Situation {
  readonly observed: Observed;
  readonly spec: WatcherSpec;
  readonly comparison: Comparison;
  readonly state: WatcherState;
  readonly pending: Pending;
}

/** While Pods are being replaced, look this often even if the watch says nothing. */
const pollRunningMs = 10_000;
const pollStalledMs = 30_000;
/** So that a forged instant cannot make a delay that no timer takes. */
const maxDelayMs = 3_600_000;

function hold(situation: Situation, { reason, until }: Wait): Step {
  const { observed, spec, state, pending } = situation;
  const { cooldownUntil } = state;
  const sorted = observed.pods && sortPods(observed.pods, spec, stalenessOf({ ...state, pending }));
  const held: WatcherState = { ...state, pending: { ...pending, reason } };
  return {
    state: sorted ? countedOnHold(held, pending, memoryOf(situation), sorted) : held,
    memory: {
      ...observed.memory,
      // While a restart is held up no owner is late.
      progress: new Map(),
      ...(reason === 'Cooldown' && cooldownUntil !== undefined && { toldCooldown: cooldownUntil }),
      ...(reason === 'DryRun' && { toldDryRun: changeId(pending.hash, pending.since) }),
    },
    actions: [],
    ...(until !== undefined && { until, requeueAfter: delay(until - observed.now) }),
  };
}

/** A change that has not begun says nothing of the restart before it. */
function countedOnHold(
  held: WatcherState,
  pending: Pending,
  memory: RestartMemory,
  sorted: SortedPods,
): WatcherState {
  if (isRunning(pending)) return counted(held, memory, sorted);
  return { ...held, stalePods: sorted.stale.length, skippedPods: skippedPods(sorted) };
}

function delay(ms: number): number {
  return Math.min(maxDelayMs, Math.max(0, ms));
}

function start(situation: Situation, pods: readonly PodFacts[], cutoff: number | undefined): Situation {
  const { observed, spec, comparison, pending } = situation;
  const { now } = observed;
  const before = closeOvertaken(situation.state);
  const state = { ...before, ...(observed.restartNow !== undefined && { restartNow: observed.restartNow }) };
  const sorted = sortPods(pods, spec, { ...stalenessOf(situation.state), cutoff });
  const trigger = triggerOf(comparison.changed, observed.sources, state.lastRestart);
  const started: Pending = {
    ...pending,
    started: Math.max(now, pending.since),
    ...(cutoff !== undefined && { cutoff }),
    total: sorted.stale.length,
  };
  return {
    ...situation,
    pending: started,
    state: {
      // A change that finds no Pod to restart is no restart, and nothing has to cool down.
      ...(sorted.stale.length > 0 ? withCooldown(state, cooldownAfter(spec, state, pending, now)) : state),
      // The first Pods go with this very write: what they start without is known from now on.
      sources: recorded(comparison),
      lastRestart: {
        id: changeId(pending.hash, pending.since),
        start: now,
        ...(trigger && { trigger }),
        restarted: 0,
        skippedFresh: sorted.fresh.length,
        skippedUnmanaged: 0,
        failed: 0,
      },
    },
  };
}

/** This process's memory of the running restart; empty when another process began it. */
function memoryOf({ observed: { memory }, state: { lastRestart } }: Situation): RestartMemory {
  const id = lastRestart?.id ?? '';
  return memory.id === id ? memory : { ...emptyMemory, id };
}

/** No stale Pod is left, and the others are available: the content is applied. */
function complete({ observed, comparison, state }: Situation, memory: RestartMemory): Step {
  const { pending, ...rest } = state;
  const abandoned = abandonedPods(state);
  const sources = appliedSources(comparison, observed.sources, (rest.lastRestart?.restarted ?? 0) > 0);
  const appliedHash = combinedHash(sources);
  return {
    state: {
      ...closed(rest, observed.now),
      sources,
      ...(appliedHash !== undefined && { appliedHash }),
      stalePods: abandoned,
    },
    memory: { ...emptyMemory, id: memory.id },
    actions: [],
    ...(abandoned > 0 && { abandoned }),
  };
}

function actionsOf(plan: Plan, { observed, spec, state }: Situation): Action[] {
  const type = spec.strategy.podAction;
  const annotation = rolloutAnnotation(observed.group, observed.name);
  const templateChange = (
    type: 'RestartRollout' | 'TakeBackRollout',
    { owner, facts }: PodGroup,
    value: string | null,
  ): Action => ({
    type,
    owner,
    ...given('version', facts.rollout?.version),
    annotations: { [annotation]: value },
  });
  const id = state.lastRestart?.id ?? '';
  const rollouts = [
    ...plan.returns.map(({ group, value }) => templateChange('TakeBackRollout', group, value)),
    ...plan.rollouts.map((group) => templateChange('RestartRollout', group, id)),
  ];
  const pods = plan.batch.map(
    ({ name, uid }): Action => ({ type, pod: { name, uid }, owner: plan.ownerOf.get(uid)?.owner }),
  );
  return [...rollouts, ...pods];
}

function reasonOf(plan: Plan): Pending['reason'] {
  if (plan.stalled.length > 0) return 'Stalled';
  if (plan.blocked.length > 0) return 'EvictionBlocked';
  return plan.rollsOut ? 'RolloutInProgress' : 'InProgress';
}

/** A template that was taken back is not changed again for this content, by no other process either. */
function withReverted({ revertedOwners = [], ...pending }: Pending, { reverted }: Plan): Pending {
  const all = [...new Set([...revertedOwners, ...reverted])].sort().slice(0, maxReverted);
  return all.length === 0 ? pending : { ...pending, revertedOwners: all };
}

/** The pending change with what the plan makes of it. */
function afterPlan(pending: Pending, plan: Plan): Pending {
  const { owners, proven, ...rest } = withReverted(pending, plan);
  return {
    ...rest,
    ...(plan.proven && { proven: true }),
    ...(plan.places.length > 0 && { owners: plan.places }),
    reason: reasonOf(plan),
  };
}

/** Adds each template that is seen to be changed for this restart, whichever process did that, and whatever it was answered. */
function withSeen(
  memory: RestartMemory,
  owners: ReadonlyMap<string, OwnerFacts>,
  now: number,
): RestartMemory {
  const changed = [...owners.values()].filter(({ rollout }) => rollout?.restartedFor === memory.id);
  const seen = changed.map(({ reference }) => reference.uid);
  const patched = new Map([...seen.map((uid) => [uid, now] as const), ...memory.patched]);
  const failed = new Set([...memory.failed].filter((uid) => !seen.includes(uid)));
  return { ...withoutRefusalsOf(memory, seen), failed, patched };
}

function withOwners(state: WatcherState, { unavailable: count, records }: Plan): WatcherState {
  const { lastRestart } = state;
  if (!lastRestart) return state;
  const { unavailable, owners, ...record } = lastRestart;
  const shown = records.length > 0 ? { ...record, owners: records } : record;
  return { ...state, lastRestart: count > 0 ? { ...shown, unavailable: count } : shown };
}

function nextBatch(situation: Situation, pods: readonly PodFacts[]): Step | Need {
  const { observed, spec, pending } = situation;
  const staleness = stalenessOf({ ...situation.state, pending });
  const sorted = sortPods(pods, spec, staleness);
  const before = memoryOf(situation);
  const state = counted({ ...situation.state, pending }, before, sorted);
  const { owners: places = [] } = pending;
  // Owners that stand in the record are read once more, so that it tells their end.
  const isRecorded = state.lastRestart?.owners !== undefined;
  if (!isRecorded && sorted.stale.length + sorted.terminating.length + places.length === 0) {
    return { ...complete({ ...situation, state }, before), sorted };
  }
  if (!observed.owners) return 'owners';
  const { now, owners, ownPod, rolloutRight } = observed;
  const { strategy } = spec;
  const { cutoff, proven = false, revertedOwners: reverted } = pending;
  const maxPlaces = roomForOwners(writeState(state), longestNameOf(owners));
  const facts = {
    pods,
    sorted,
    cutoff,
    from: staleness.from,
    overtaken: overtakenIds(state),
    owners,
    strategy,
    places,
    maxPlaces,
    proven,
    now,
    ownPod,
    record: state.lastRestart,
    reverted,
    rolloutRight,
  };
  const memory = withSeen(before, owners, now);
  const plan = planRestart({ ...facts, memory });
  const recorded = withOwners(state, plan);
  if (plan.isDone) return { ...complete({ ...situation, state: recorded }, before), sorted };
  const announced = new Set([
    ...announcedBefore(observed, before.id),
    ...goingOwners(plan).map(({ key }) => key),
  ]);
  return {
    state: {
      ...recorded,
      pending: afterPlan(state.pending ?? pending, plan),
    },
    memory: { ...memory, progress: plan.progress, announced },
    actions: actionsOf(plan, situation),
    plan,
    sorted,
    requeueAfter: delay(Math.min(pollOf(plan), (plan.lookAgainAt ?? Number.POSITIVE_INFINITY) - now)),
  };
}

/**
 * The owners that have got their Event, by uid. Where another process has begun the restart, it has told those in their
 * places of which status says that Pods were restarted.
 */
export function announcedBefore({ memory, state }: Observed, id: string): ReadonlySet<string> {
  const { lastRestart, pending } = state;
  if (memory.id === id) return memory.announced;
  if (lastRestart?.id !== id) return new Set();
  const told = (pending?.owners ?? []).filter(({ kind = '', name = '' }) => {
    return (recordOf(lastRestart, { kind, name })?.restarted ?? 0) > 0;
  });
  return new Set(told.map(({ uid }) => uid));
}

/** Characters of kind and name. */
function longestNameOf(owners: ReadonlyMap<string, OwnerFacts>): number {
  const all = [...owners.values()].map(({ reference: { kind, name } }) => kind.length + name.length);
  return Math.max(0, ...all);
}

function pollOf({ stalled }: Plan): number {
  return stalled.some(({ because }) => because === 'Deadline') ? pollStalledMs : pollRunningMs;
}

/** The newest Pod cannot be younger than the cutoff unless the cutoff was forged, or the server's clock was set. */
function boundedCutoff(pending: Pending, pods: readonly PodFacts[]): number | undefined {
  if (pending.cutoff === undefined || pods.length === 0) return undefined;
  return Math.min(pending.cutoff, Math.max(...pods.map(({ created }) => created)));
}

/** Whether the Pods are listed before the change goes on to wait, once per reason. */
function looksFirst({ state, pending }: Situation, { reason }: Wait): boolean {
  // It cannot be told that a right is there before it was used again.
  const ready = findCondition(state.conditions, watcherCondition.ready);
  if (ready?.reason === watcherReason.forbidden) return true;
  // A dry run says what it would do; and a batch that was under way has taken Pods that status does not count yet.
  return reason !== pending.reason && (reason === 'DryRun' || isRunning(pending));
}

/** One step of the pending change of `state`. */
export function advance(
  observed: Observed,
  spec: WatcherSpec,
  comparison: Comparison,
  state: WatcherState & { readonly pending: Pending },
): Step | Need {
  const { pending } = state;
  const situation: Situation = { observed, spec, comparison, state, pending };
  const { now, restartNow } = observed;
  const sourceMissing = comparison.missing.length > 0;
  const atOnce = restartNow !== undefined && restartNow !== state.restartNow;
  const wait = waitOf(spec, state, pending, { sourceMissing, atOnce, now });
  if (wait) return !observed.pods && looksFirst(situation, wait) ? 'pods' : hold(situation, wait);
  if (observed.isOld) return 'watcher';
  const running = isRunning(pending);
  // The watch may be behind: what was edited or taken back while the change waited must count before the first Pod
  // goes, and the list of Pods that it is recorded with must be later than it.
  if (!running && !areConfirmed(observed)) return 'contents';
  const { pods } = observed;
  if (!pods) return 'pods';
  const cutoff = running ? pending.cutoff : boundedCutoff(pending, pods);
  // Timestamps have whole seconds: only a Pod made in a later second than the cutoff is distinguishable from a stale
  // one, so nothing may be replaced before that second has begun; nor again after the server's clock was set back
  // behind it, when every replacement would look stale.
  const safeAt = (cutoff ?? Number.NEGATIVE_INFINITY) + 1000;
  if (now < safeAt) return hold(situation, { reason: pending.reason, until: safeAt });
  return nextBatch(running ? situation : start(situation, pods, cutoff), pods);
}
