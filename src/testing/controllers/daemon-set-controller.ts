/** DaemonSet controller: wakes {@link daemonSetPlan}. */

import { selects } from '../../kubernetes/selector.ts';
import { equalJson } from '../api-server/json-value.ts';
import { type ClusterChange, type ClusterView, isSameResource } from '../cluster-ports.ts';
import { type Node, nodes, pods } from '../objects.ts';
import { controllerRevisions, daemonSets } from '../workloads.ts';
import { Controller, type ControllerSetting, controllerUser, keyOf, splitKey } from './controller.ts';
import { daemonSetPlan } from './daemon-set.ts';
import { ownerKeys } from './owner-keys.ts';

export function daemonSetController(setting: ControllerSetting): Controller {
  const { view, time } = setting.cluster;
  return new Controller({
    ...setting,
    user: controllerUser('daemon-set-controller'),
    keysOf: (change) => keysOf(change, view),
    plan(key) {
      const [namespace, name] = splitKey(key);
      const daemonSet = view.get(daemonSets, namespace, name);
      if (daemonSet === undefined) return undefined;
      return daemonSetPlan({
        daemonSet,
        nodes: view.list(nodes),
        pods: view.list(pods, namespace),
        revisions: view.list(controllerRevisions, namespace),
        now: time.now,
      });
    },
  });
}

function keysOf(change: ClusterChange, view: ClusterView): Iterable<string> {
  if (isSameResource(change.resource, daemonSets)) return [keyOf(change.object)];
  if (isSameResource(change.resource, nodes)) {
    return movesPods(change) ? view.list(daemonSets).map(keyOf) : [];
  }
  const concerns = [pods, controllerRevisions].some((resource) => isSameResource(change.resource, resource));
  if (!concerns) return [];
  return ownerKeys(change, daemonSets, (orphan) =>
    view
      .list(daemonSets, orphan.metadata.namespace)
      .filter(({ spec }) => selects(spec.selector, orphan.metadata.labels)),
  );
}

/** A heartbeat does not. */
function movesPods({ type, object, previous }: ClusterChange): boolean {
  const [after, before] = [object as Node, previous as Node | undefined];
  return (
    type !== 'MODIFIED' ||
    before === undefined ||
    !equalJson(after.spec, before.spec) ||
    !equalJson(after.metadata.labels, before.metadata.labels) ||
    after.metadata.deletionTimestamp !== before.metadata.deletionTimestamp
  );
}
