/** Deployment: one ReplicaSet per template, and the way from one to the next. A pure decision. */
import { controllerOf } from '../../kubernetes/objects.ts';
import type { WriteAnswer } from '../cluster-ports.ts';
import type { Pod } from '../objects.ts';
import { createdAt, isTerminal } from '../pod-facts.ts';
import { type Deployment, deployments, type ReplicaSet, replicaSets } from '../workloads.ts';
import { claim } from './claim.ts';
import type { Plan } from './controller.ts';
import {
  isComplete,
  isRolling,
  type Rollout,
  replicasOf,
  revisionAnnotation,
  revisionOf,
  rolloutOf,
} from './deployment-facts.ts';
import {
  broughtUp,
  hasSizeAnnotations,
  newReplicaSet,
  newRevision,
  resized,
} from './deployment-replica-set.ts';
import { isScalingEvent, newReplicasOf, rescaled, type Sizes, shrunkOld } from './deployment-scaling.ts';
import { creationFailure, creationProgress, deploymentStatus, foundProgress } from './deployment-status.ts';
import { messageOf } from './replica-set.ts';
import { create, patch, remove, update, updateStatus, type Write } from './write.ts';

export interface DeploymentFacts {
  readonly deployment: Deployment;
  /** All ReplicaSets of its namespace. */
  readonly replicaSets: readonly ReplicaSet[];
  /** All Pods of its namespace. */
  readonly pods: readonly Pod[];
  /** Epoch ms. */
  readonly now: number;
}

interface Step {
  readonly rollout: Rollout;
  readonly facts: DeploymentFacts;
}

/** What one pass writes to ReplicaSets, and whether its status tells about progress. */
interface Action {
  readonly writes: readonly Write[];
  readonly creates?: ReplicaSet;
  readonly progressing: boolean;
}

export function deploymentPlan(facts: DeploymentFacts): Plan {
  const { deployment, now } = facts;
  const { selector } = deployment.spec;
  const claimed = claim(
    { resource: deployments, owner: deployment, selector },
    replicaSets,
    facts.replicaSets,
  );
  const rollout = rolloutOf(deployment, claimed.owned);
  const action = actionOf({ rollout, facts });
  if (action.creates !== undefined && isTaken(action.creates, facts.replicaSets)) {
    return { batches: [claimed.writes], status: () => collision(deployment) };
  }
  const revision = revisionWrite(rollout);
  // A status with a version must not follow a patch of the same object in one pass.
  if (revision !== undefined) return { batches: [claimed.writes, [revision]] };
  const tell = (failure?: WriteAnswer) =>
    deploymentStatus(rollout, now, {
      progressing: action.progressing,
      stated: statedBy(action, rollout, failure),
    });
  return {
    batches: [claimed.writes, action.writes],
    status: (failure) => tell(failure).write,
    after: tell().after,
  };
}

function actionOf(step: Step): Action {
  const { deployment, newest } = step.rollout;
  if (deployment.metadata.deletionTimestamp !== undefined) return { writes: [], progressing: false };
  const brought = newest && broughtUp(step.rollout, newest);
  if (brought !== undefined) return { writes: [update(replicaSets, brought)], progressing: false };
  if (deployment.spec.paused === true) {
    const writes = [...scaling(deployment, rescaled(step.rollout)), ...cleanup(step.rollout)];
    return { writes, progressing: false };
  }
  if (isScalingEvent(step.rollout)) {
    return { writes: annotated(step.rollout, rescaled(step.rollout)), progressing: false };
  }
  return isRolling(deployment) ? rolling(step) : recreating(step);
}

function rolling({ rollout }: Step): Action {
  const { deployment, newest } = rollout;
  if (newest === undefined) return creation(rollout);
  const wanted = replicasOf(deployment);
  const present = replicasOf(newest);
  const replicas = present > wanted ? wanted : newReplicasOf(rollout);
  if (present !== wanted && (replicas !== present || !hasSizeAnnotations(deployment, newest))) {
    return { writes: scaling(deployment, [{ replicaSet: newest, replicas }]), progressing: true };
  }
  const shrunk = scaling(deployment, shrunkOld(rollout));
  if (shrunk.length > 0) return { writes: shrunk, progressing: true };
  return { writes: completed(rollout), progressing: true };
}

function recreating({ rollout, facts }: Step): Action {
  const { deployment, newest, old } = rollout;
  const active = old.filter((replicaSet) => replicasOf(replicaSet) > 0);
  if (active.length > 0) {
    const sizes = active.map((replicaSet) => ({ replicaSet, replicas: 0 }));
    return { writes: scaling(deployment, sizes), progressing: true };
  }
  const uids = new Set(old.map(({ metadata }) => metadata.uid));
  if (facts.pods.some((pod) => !isTerminal(pod) && uids.has(controllerOf(pod)?.uid))) {
    return { writes: [], progressing: true };
  }
  if (newest === undefined) return creation(rollout);
  const replicas = replicasOf(deployment);
  if (replicasOf(newest) === replicas) return { writes: completed(rollout), progressing: true };
  return { writes: scaling(deployment, [{ replicaSet: newest, replicas }]), progressing: true };
}

function creation(rollout: Rollout): Action {
  const creates = newReplicaSet(rollout);
  return { writes: [create(replicaSets, creates)], creates, progressing: true };
}

function scaling(deployment: Deployment, sizes: Sizes): Write[] {
  return sizes.map(({ replicaSet, replicas }) =>
    update(replicaSets, resized(deployment, replicaSet, replicas)),
  );
}

/** After a scaling every active ReplicaSet has the present numbers, also one whose size stays. */
function annotated({ deployment, newest, old }: Rollout, sizes: Sizes): Write[] {
  const active = [...old, ...(newest ? [newest] : [])].filter((one) => replicasOf(one) > 0);
  const others = active.filter(
    (one) => !sizes.some(({ replicaSet }) => replicaSet === one) && !hasSizeAnnotations(deployment, one),
  );
  const kept = others.map((replicaSet) => ({ replicaSet, replicas: replicasOf(replicaSet) }));
  return scaling(deployment, [...sizes, ...kept]);
}

function completed(rollout: Rollout): readonly Write[] {
  const { deployment } = rollout;
  return isComplete(deployment, deployment.status ?? {}) ? cleanup(rollout) : [];
}

/** Deletes the oldest revisions beyond the limit. */
function cleanup({ deployment, old }: Rollout): readonly Write[] {
  const { revisionHistoryLimit = 10 } = deployment.spec;
  const alive = old.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const surplus = alive.length - revisionHistoryLimit;
  if (surplus <= 0) return [];
  return [...alive]
    .sort((a, b) => revisionOf(a) - revisionOf(b) || createdAt(a) - createdAt(b))
    .slice(0, surplus)
    .filter(isUnused)
    .map((replicaSet) => remove(replicaSets, replicaSet));
}

function isUnused(replicaSet: ReplicaSet): boolean {
  const { status = {}, metadata } = replicaSet;
  return (
    replicasOf(replicaSet) === 0 &&
    (status.replicas ?? 0) === 0 &&
    (metadata.generation ?? 0) <= (status.observedGeneration ?? 0)
  );
}

/** The Deployment carries the revision of its newest ReplicaSet. */
function revisionWrite(rollout: Rollout): Write | undefined {
  const { deployment, newest } = rollout;
  if (newest === undefined || deployment.metadata.deletionTimestamp !== undefined) return undefined;
  const revision = String(newRevision(rollout));
  if (deployment.metadata.annotations?.[revisionAnnotation] === revision) return undefined;
  return patch(deployments, deployment, { metadata: { annotations: { [revisionAnnotation]: revision } } });
}

function statedBy({ creates }: Action, { deployment, newest }: Rollout, failure: WriteAnswer | undefined) {
  if (creates !== undefined) {
    return failure === undefined
      ? creationProgress(creates.metadata.name)
      : creationFailure(messageOf(failure));
  }
  const known = deployment.status?.conditions?.some(({ type }) => type === 'Progressing') ?? false;
  return newest === undefined || known ? undefined : foundProgress(newest.metadata.name);
}

function isTaken({ metadata }: ReplicaSet, present: readonly ReplicaSet[]): boolean {
  return present.some((replicaSet) => replicaSet.metadata.name === metadata.name);
}

/** Another count gives another hash, and so another name. */
function collision(deployment: Deployment): Write {
  const { status = {} } = deployment;
  const collisionCount = (status.collisionCount ?? 0) + 1;
  return updateStatus(deployments, { ...deployment, status: { ...status, collisionCount } });
}
