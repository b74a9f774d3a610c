/** Deployment controller: wakes {@link deploymentPlan}. */
import { controllerOf } from '../../kubernetes/objects.ts';
import { selects } from '../../kubernetes/selector.ts';
import { type ClusterChange, type ClusterView, isSameResource } from '../cluster-ports.ts';
import { pods } from '../objects.ts';
import { deployments, replicaSets } from '../workloads.ts';
import { Controller, type ControllerSetting, controllerUser, keyOf, splitKey } from './controller.ts';
import { deploymentPlan } from './deployment.ts';
import { isRolling } from './deployment-facts.ts';
import { ownerKeys } from './owner-keys.ts';

export function deploymentController(setting: ControllerSetting): Controller {
  const { view, time } = setting.cluster;
  return new Controller({
    ...setting,
    user: controllerUser('deployment-controller'),
    keysOf: (change) => keysOf(change, view),
    plan(key) {
      const [namespace, name] = splitKey(key);
      const deployment = view.get(deployments, namespace, name);
      if (deployment === undefined) return undefined;
      return deploymentPlan({
        deployment,
        replicaSets: view.list(replicaSets, namespace),
        pods: isRolling(deployment) ? [] : view.list(pods, namespace),
        now: time.now,
      });
    },
  });
}

function keysOf(change: ClusterChange, view: ClusterView): Iterable<string> {
  if (isSameResource(change.resource, deployments)) return [keyOf(change.object)];
  if (isSameResource(change.resource, replicaSets)) {
    return ownerKeys(change, deployments, (orphan) =>
      view
        .list(deployments, orphan.metadata.namespace)
        .filter(({ spec }) => selects(spec.selector, orphan.metadata.labels)),
    );
  }
  return isSameResource(change.resource, pods) ? recreatedBy(change, view) : [];
}

/** Only Recreate waits for the end of Pods. */
function recreatedBy({ object }: ClusterChange, view: ClusterView): Iterable<string> {
  const owner = controllerOf(object);
  if (owner?.kind !== 'ReplicaSet') return [];
  const { namespace = '' } = object.metadata;
  const replicaSet = view.get(replicaSets, namespace, owner.name);
  const name = replicaSet && controllerOf(replicaSet)?.name;
  const deployment = name === undefined ? undefined : view.get(deployments, namespace, name);
  return deployment === undefined || isRolling(deployment) ? [] : [keyOf(deployment)];
}
