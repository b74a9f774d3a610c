/** ReplicaSet controller: wakes {@link replicaSetPlan}. */
import { controllerOf } from '../../kubernetes/objects.ts';
import { selects } from '../../kubernetes/selector.ts';
import { type ClusterChange, type ClusterView, isSameResource } from '../cluster-ports.ts';
import { type Pod, pods } from '../objects.ts';
import { isActive } from '../pod-facts.ts';
import { type ReplicaSet, replicaSets } from '../workloads.ts';
import { Controller, type ControllerSetting, controllerUser, keyOf, splitKey } from './controller.ts';
import { ownerKeys } from './owner-keys.ts';
import { replicaSetPlan } from './replica-set.ts';

export function replicaSetController(setting: ControllerSetting): Controller {
  const { view, time } = setting.cluster;
  return new Controller({
    ...setting,
    user: controllerUser('replicaset-controller'),
    keysOf: (change) => keysOf(change, view),
    plan(key) {
      const [namespace, name] = splitKey(key);
      const replicaSet = view.get(replicaSets, namespace, name);
      if (replicaSet === undefined) return undefined;
      const inNamespace = view.list(pods, namespace);
      const related = () => relatedPods(replicaSet, view.list(replicaSets, namespace), inNamespace);
      return replicaSetPlan({ replicaSet, pods: inNamespace, related, now: time.now });
    },
  });
}

function keysOf(change: ClusterChange, view: ClusterView): Iterable<string> {
  if (isSameResource(change.resource, replicaSets)) return [keyOf(change.object)];
  if (!isSameResource(change.resource, pods)) return [];
  return ownerKeys(change, replicaSets, (pod) =>
    view
      .list(replicaSets, pod.metadata.namespace)
      .filter(({ spec }) => selects(spec.selector, pod.metadata.labels)),
  );
}

/** Active Pods of the ReplicaSets with the same controller. */
function relatedPods(
  replicaSet: ReplicaSet,
  all: readonly ReplicaSet[],
  inNamespace: readonly Pod[],
): readonly Pod[] {
  const controller = controllerOf(replicaSet)?.uid;
  const family = all.filter((other) => controller !== undefined && controllerOf(other)?.uid === controller);
  const uids = new Set([replicaSet, ...family].map(({ metadata }) => metadata.uid));
  return inNamespace.filter((pod) => isActive(pod) && uids.has(controllerOf(pod)?.uid));
}
