/** StatefulSet controller: wakes {@link statefulSetPlan}. */

import { selects } from '../../kubernetes/selector.ts';
import { type ClusterChange, type ClusterView, isSameResource } from '../cluster-ports.ts';
import { pods } from '../objects.ts';
import { controllerRevisions, statefulSets } from '../workloads.ts';
import { Controller, type ControllerSetting, controllerUser, keyOf, splitKey } from './controller.ts';
import { ownerKeys } from './owner-keys.ts';
import { statefulSetPlan } from './stateful-set.ts';

export function statefulSetController(setting: ControllerSetting): Controller {
  const { view, time } = setting.cluster;
  return new Controller({
    ...setting,
    user: controllerUser('statefulset-controller'),
    keysOf: (change) => keysOf(change, view),
    plan(key) {
      const [namespace, name] = splitKey(key);
      const set = view.get(statefulSets, namespace, name);
      if (set === undefined) return undefined;
      return statefulSetPlan({
        set,
        pods: view.list(pods, namespace),
        revisions: view.list(controllerRevisions, namespace),
        now: time.now,
      });
    },
  });
}

function keysOf(change: ClusterChange, view: ClusterView): Iterable<string> {
  if (isSameResource(change.resource, statefulSets)) return [keyOf(change.object)];
  const concerns = [pods, controllerRevisions].some((resource) => isSameResource(change.resource, resource));
  if (!concerns) return [];
  return ownerKeys(change, statefulSets, (orphan) =>
    view
      .list(statefulSets, orphan.metadata.namespace)
      .filter(({ spec }) => selects(spec.selector, orphan.metadata.labels)),
  );
}
