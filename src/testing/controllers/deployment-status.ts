/** Status of a Deployment: its counts, and whether its rollout makes progress. */
import { formatTime, parseTime } from '../../kubernetes/time.ts';
import { equalJson } from '../api-server/json-value.ts';
import {
  type Deployment,
  type DeploymentStatus,
  deployments,
  type ReplicaSet,
  type WorkloadCondition,
} from '../workloads.ts';
import { withoutZeros } from './content.ts';
import {
  all,
  isComplete,
  maxUnavailableOf,
  progressDeadlineOf,
  type Rollout,
  replicasOf,
  sum,
} from './deployment-facts.ts';
import { updateStatus, type Write } from './write.ts';

type NewCondition = Pick<WorkloadCondition, 'type' | 'status' | 'reason' | 'message'>;
type Conditions = readonly WorkloadCondition[];

interface DeploymentStatusPlan {
  readonly write: Write | undefined;
  /** When the deadline must be looked at, in ms. */
  readonly after: number | undefined;
}

/**
 * @param progressing whether the rollout is judged, too: not while it is paused or only scaled
 * @param stated what this pass says about the progress, whatever the counts are
 */
export function deploymentStatus(
  rollout: Rollout,
  now: number,
  { progressing, stated }: { readonly progressing: boolean; readonly stated?: NewCondition | undefined },
): DeploymentStatusPlan {
  const { deployment } = rollout;
  const counts = countsOf(rollout);
  let conditions = withPause(deployment, deployment.status?.conditions ?? [], now);
  conditions = set(conditions, availability(deployment, counts), now);
  if (progressing) conditions = withProgress(rollout, counts, conditions, now);
  if (stated !== undefined) conditions = set(conditions, stated, now);
  const status = { ...counts, ...(conditions.length > 0 && { conditions }) };
  const same = equalJson(status, deployment.status ?? {});
  return {
    write: same ? undefined : updateStatus(deployments, { ...deployment, status }),
    after: deadlineIn(deployment, status, now),
  };
}

function countsOf(rollout: Rollout): DeploymentStatus {
  const { deployment, newest } = rollout;
  const replicaSets = all(rollout);
  const available = sum(replicaSets, ({ status }) => status?.availableReplicas ?? 0);
  return withoutZeros({
    observedGeneration: deployment.metadata.generation ?? 0,
    replicas: sum(replicaSets, ({ status }) => status?.replicas ?? 0),
    updatedReplicas: newest?.status?.replicas ?? 0,
    readyReplicas: sum(replicaSets, ({ status }) => status?.readyReplicas ?? 0),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, sum(replicaSets, replicasOf) - available),
    collisionCount: deployment.status?.collisionCount ?? 0,
  });
}

function availability(deployment: Deployment, { availableReplicas = 0 }: DeploymentStatus): NewCondition {
  const enough = availableReplicas >= replicasOf(deployment) - maxUnavailableOf(deployment);
  return enough
    ? {
        type: 'Available',
        status: 'True',
        reason: 'MinimumReplicasAvailable',
        message: 'Deployment has minimum availability.',
      }
    : {
        type: 'Available',
        status: 'False',
        reason: 'MinimumReplicasUnavailable',
        message: 'Deployment does not have minimum availability.',
      };
}

/** A pause stops the clock of the deadline, its end starts it again. */
function withPause(deployment: Deployment, conditions: Conditions, now: number): Conditions {
  if (progressDeadlineOf(deployment) === undefined) return conditions;
  const current = find(conditions, 'Progressing');
  if (current?.reason === 'ProgressDeadlineExceeded') return conditions;
  const marked = current?.reason === 'DeploymentPaused';
  if (marked === (deployment.spec.paused === true)) return conditions;
  return set(
    conditions,
    marked
      ? progress('Unknown', 'DeploymentResumed', 'Deployment is resumed')
      : progress('Unknown', 'DeploymentPaused', 'Deployment is paused'),
    now,
  );
}

function withProgress(
  { deployment, newest, old }: Rollout,
  counts: DeploymentStatus,
  conditions: Conditions,
  now: number,
): Conditions {
  const deadline = progressDeadlineOf(deployment);
  const current = find(conditions, 'Progressing');
  let next = deadline === undefined ? conditions.filter(({ type }) => type !== 'Progressing') : conditions;
  const settled = counts.replicas === counts.updatedReplicas && current?.reason === 'NewReplicaSetAvailable';
  if (deadline !== undefined && !settled) {
    const subject = newest
      ? `ReplicaSet "${newest.metadata.name}"`
      : `Deployment "${deployment.metadata.name}"`;
    if (isComplete(deployment, counts)) {
      const message = `${subject} has successfully progressed.`;
      next = set(next, progress('True', 'NewReplicaSetAvailable', message), now);
    } else if (advanced(deployment.status ?? {}, counts)) {
      next = refreshed(next, progress('True', 'ReplicaSetUpdated', `${subject} is progressing.`), now);
    } else if (isTimedOut(current, deadline, now)) {
      const message = `${subject} has timed out progressing.`;
      next = set(next, progress('False', 'ProgressDeadlineExceeded', message), now);
    }
  }
  return withFailure(next, newest, old);
}

function progress(status: string, reason: string, message: string): NewCondition {
  return { type: 'Progressing', status, reason, message };
}

export function creationProgress(name: string): NewCondition {
  return progress('True', 'NewReplicaSetCreated', `Created new replica set "${name}"`);
}

export function foundProgress(name: string): NewCondition {
  return progress('True', 'FoundNewReplicaSet', `Found new replica set "${name}"`);
}

export function creationFailure(message: string): NewCondition {
  return progress('False', 'ReplicaSetCreateError', message);
}

function advanced(before: DeploymentStatus, now: DeploymentStatus): boolean {
  const { updatedReplicas: updated = 0, readyReplicas: ready = 0, availableReplicas: available = 0 } = now;
  const oldNow = (now.replicas ?? 0) - updated;
  const oldBefore = (before.replicas ?? 0) - (before.updatedReplicas ?? 0);
  return (
    updated > (before.updatedReplicas ?? 0) ||
    oldNow < oldBefore ||
    ready > (before.readyReplicas ?? 0) ||
    available > (before.availableReplicas ?? 0)
  );
}

function isTimedOut(current: WorkloadCondition | undefined, deadline: number, now: number): boolean {
  if (current === undefined || current.reason === 'NewReplicaSetAvailable') return false;
  if (current.reason === 'ProgressDeadlineExceeded') return true;
  return parseTime(current.lastUpdateTime ?? '') + deadline * 1000 < now;
}

/** The failure of the new ReplicaSet, else of an old one. */
function withFailure(
  conditions: Conditions,
  newest: ReplicaSet | undefined,
  old: readonly ReplicaSet[],
): Conditions {
  const failure = [newest, ...old]
    .map((replicaSet) => find(replicaSet?.status?.conditions ?? [], 'ReplicaFailure'))
    .find((condition) => condition !== undefined);
  const present = find(conditions, 'ReplicaFailure');
  const rest = conditions.filter(({ type }) => type !== 'ReplicaFailure');
  if (failure === undefined) return present === undefined ? conditions : rest;
  if (present?.reason === failure.reason) return conditions;
  return [...rest, { ...failure, lastUpdateTime: failure.lastTransitionTime ?? '' }];
}

function deadlineIn(deployment: Deployment, status: DeploymentStatus, now: number): number | undefined {
  const deadline = progressDeadlineOf(deployment);
  const current = find(status.conditions ?? [], 'Progressing');
  if (deadline === undefined || current === undefined || deployment.spec.paused) return undefined;
  if (isComplete(deployment, status) || current.reason === 'ProgressDeadlineExceeded') return undefined;
  if (current.reason === 'NewReplicaSetAvailable') return undefined;
  return Math.max(0, parseTime(current.lastUpdateTime ?? '') + deadline * 1000 - now) + 1000;
}

function find(conditions: Conditions, type: string): WorkloadCondition | undefined {
  return conditions.find((condition) => condition.type === type);
}

/** Where status and reason stay, nothing changes. */
function set(conditions: Conditions, condition: NewCondition, now: number): Conditions {
  const old = find(conditions, condition.type);
  if (old?.status === condition.status && old.reason === condition.reason) return conditions;
  return refreshed(conditions, condition, now);
}

/** With a new time of update also where nothing else is new: the deadline counts from it. */
function refreshed(conditions: Conditions, condition: NewCondition, now: number): Conditions {
  const old = find(conditions, condition.type);
  const time = formatTime(now);
  const lastTransitionTime = old?.status === condition.status ? (old.lastTransitionTime ?? time) : time;
  const next = { ...condition, lastUpdateTime: time, lastTransitionTime };
  return [...conditions.filter(({ type }) => type !== condition.type), next];
}
