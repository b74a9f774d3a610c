/** Disruption controller: wakes {@link disruptionPlan}. */
import { apiVersionOf, controllerOf, type OwnerReference, type Resource } from '../../kubernetes/objects.ts';
import { selects } from '../../kubernetes/selector.ts';
import { type ClusterView, isSameResource } from '../cluster-ports.ts';
import { pods } from '../objects.ts';
import {
  deployments,
  podDisruptionBudgets,
  type ReplicaSet,
  replicaSets,
  statefulSets,
} from '../workloads.ts';
import { Controller, type ControllerSetting, controllerUser, keyOf, splitKey } from './controller.ts';
import { disruptionPlan, type Scale } from './disruption.ts';

export function disruptionController(setting: ControllerSetting): Controller {
  const { view, time } = setting.cluster;
  return new Controller({
    delay: [10, 500],
    ...setting,
    user: controllerUser('disruption-controller'),
    keysOf({ resource, object, previous }) {
      if (isSameResource(resource, podDisruptionBudgets)) return [keyOf(object)];
      const isScaled = [deployments, replicaSets, statefulSets].some((one) => isSameResource(resource, one));
      if (!isScaled && !isSameResource(resource, pods)) return [];
      const budgets = view.list(podDisruptionBudgets, object.metadata.namespace);
      if (isScaled) return budgets.map(keyOf);
      return budgets
        .filter(({ spec }) =>
          [object, previous].some((pod) => pod && selects(spec.selector, pod.metadata.labels)),
        )
        .map(keyOf);
    },
    plan(key) {
      const [namespace, name] = splitKey(key);
      const budget = view.get(podDisruptionBudgets, namespace, name);
      if (budget === undefined) return undefined;
      const scaleOf = (controller: OwnerReference) => scaleIn(view, namespace, controller);
      return disruptionPlan({ budget, pods: view.list(pods, namespace), scaleOf, now: time.now });
    },
  });
}

/** Of a ReplicaSet the size of its Deployment counts, which during a rollout is more than its own. */
function scaleIn(view: ClusterView, namespace: string, reference: OwnerReference): Scale | undefined {
  for (const resource of [replicaSets, statefulSets, deployments]) {
    if (!isOf(resource, reference)) continue;
    const owner = view.get<ReplicaSet>(resource as Resource<ReplicaSet>, namespace, reference.name);
    if (owner === undefined || owner.metadata.uid !== reference.uid)
      return { uid: reference.uid, replicas: 0 };
    const above = controllerOf(owner);
    if (above !== undefined && isOf(deployments, above)) return scaleIn(view, namespace, above);
    return { uid: reference.uid, replicas: owner.spec.replicas ?? 1 };
  }
  return undefined;
}

function isOf(resource: Resource, { apiVersion, kind }: OwnerReference): boolean {
  return resource.kind === kind && apiVersionOf(resource) === apiVersion;
}
