/**
 * Own workload: a ConfigWatcher that a workload controls is for the Pods of that workload alone, also where its selector
 * matches those of another one, such as `app: web` and `app: web, track: canary`.
 */
import type { ConfigWatcher } from '../../api/configwatcher.generated.ts';
import { controllerOf, type KubernetesObject, type OwnerReference } from '../../kubernetes/objects.ts';

/** The Deployment, StatefulSet or DaemonSet that controls it. */
export function ownWorkload(watcher: KubernetesObject): OwnerReference | undefined {
  const controller = controllerOf(watcher);
  return controller?.apiVersion.startsWith('apps/') ? controller : undefined;
}

/** What Kubernetes writes the hash of a Pod template with. */
const templateHash = /^[bcdfghjklmnpqrstvwxz2456789]+$/;

/**
 * Whether Pods of this controller are those of the workload. A ReplicaSet of a Deployment is known by its name, the
 * Deployment's with the hash of its template.
 */
export function isOfWorkload(
  controller: OwnerReference | undefined,
  { kind, name }: Pick<OwnerReference, 'kind' | 'name'>,
): boolean {
  if (controller?.kind === kind && controller.name === name) return true;
  const isReplicaSet = kind === 'Deployment' && controller?.kind === 'ReplicaSet';
  return (
    isReplicaSet &&
    controller.name.startsWith(`${name}-`) &&
    templateHash.test(controller.name.slice(name.length + 1))
  );
}

/** Without those that another workload has made, where the watcher belongs to one. */
export function ofOwnWorkload<T extends KubernetesObject>(
  watcher: ConfigWatcher,
  selected: readonly T[],
): readonly T[] {
  const workload = ownWorkload(watcher);
  return workload === undefined
    ? selected
    : selected.filter((pod) => isOfWorkload(controllerOf(pod), workload));
}
