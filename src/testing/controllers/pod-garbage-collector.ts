/** Pod garbage collector: deletes the Pods that no kubelet will finish. */
import { formatTime } from '../../kubernetes/time.ts';
import { isSameResource } from '../cluster-ports.ts';
import { nodes, type Pod, pods } from '../objects.ts';
import { withCondition } from '../pod-conditions.ts';
import { isTerminal, isTerminating } from '../pod-facts.ts';
import { Controller, type ControllerSetting, controllerUser, splitKey } from './controller.ts';
import { patchStatus, remove, type Write } from './write.ts';

/** Once a period it looks, and a node must be gone for two periods. */
const period = 20_000;
const quarantine = 40_000;

export function podGarbageCollector(setting: ControllerSetting): Controller {
  const { view, time } = setting.cluster;
  const controller: Controller = new Controller({
    delay: [0, period],
    ...setting,
    user: controllerUser('pod-garbage-collector'),
    keysOf({ type, resource, object }) {
      if (isSameResource(resource, nodes)) {
        if (type !== 'DELETED') return [];
        const { name } = object.metadata;
        const lost = view.list(pods).filter(({ spec }) => spec.nodeName === name);
        for (const pod of lost)
          controller.wake(keyOf(pod), quarantine + Math.floor(setting.random.next() * period));
        return [];
      }
      if (type === 'DELETED' || !isSameResource(resource, pods)) return [];
      const pod = object as Pod;
      const bound = pod.spec.nodeName;
      const lost = bound ? view.get(nodes, '', bound) === undefined : isTerminating(pod);
      return lost ? [keyOf(pod)] : [];
    },
    plan(key) {
      const [namespace, name] = splitKey(key);
      const pod = view.get(pods, namespace, name);
      if (pod === undefined) return undefined;
      const { nodeName } = pod.spec;
      const isLost = nodeName ? view.get(nodes, '', nodeName) === undefined : isTerminating(pod);
      return isLost ? { batches: podGarbage(pod, time.now).map((write) => [write]) } : undefined;
    },
  });
  return controller;
}

function keyOf({ metadata }: Pod): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}

/** A Pod whose node is gone, or that was deleted before it had one: it ends as Failed, then it is removed. */
export function podGarbage(pod: Pod, now: number): readonly Write[] {
  const forced = remove(pods, pod, { gracePeriodSeconds: 0 });
  const removal = isTerminating(pod) && pod.metadata.deletionGracePeriodSeconds === 0 ? [] : [forced];
  if (!pod.spec.nodeName || isTerminal(pod)) return removal;
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'DeletionByPodGC',
    message: 'PodGC: node no longer exists',
  };
  const conditions = withCondition(pod.status?.conditions ?? [], condition, formatTime(now));
  return [patchStatus(pods, pod, { phase: 'Failed', conditions }), ...removal];
}
