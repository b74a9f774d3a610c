/** Pod garbage collector: deletes the Pods that no kubelet will finish. */
import { formatTime } from '../../kubernetes/time.ts';
import { isSameResource } from '../cluster-ports.ts';
import { nodes, type Pod, pods } from '../objects.ts';
import { withCondition } from '../pod-conditions.ts';
import { isTerminal, isTerminating } from '../pod-facts.ts';
import { Controller, type ControllerSetting, controllerUser, splitKey } from './controller.ts';
import { patchStatus, remove, type Write } from './write.ts';

/** Once a period it looks, and a node must be gone for so long. */
const period = 20_000;
const quarantine = 40_000;

export function podGarbageCollector(setting: ControllerSetting): Controller {
  const { view, time } = setting.cluster;
  /** When the Pods of a node that is not there go, epoch ms. */
  const due = new Map<string, number>();
  const dueOf = (node: string): number | undefined => {
    if (view.get(nodes, '', node) !== undefined) return undefined;
    const known = due.get(node);
    if (known !== undefined) return known;
    const at = time.now + quarantine + Math.floor(setting.random.next() * period);
    due.set(node, at);
    return at;
  };
  return new Controller({
    delay: [0, period],
    ...setting,
    user: controllerUser('pod-garbage-collector'),
    keysOf({ type, resource, object }) {
      if (isSameResource(resource, nodes)) {
        const { name } = object.metadata;
        due.delete(name);
        if (type !== 'DELETED') return [];
        return view
          .list(pods)
          .filter(({ spec }) => spec.nodeName === name)
          .map(keyOf);
      }
      if (type === 'DELETED' || !isSameResource(resource, pods)) return [];
      const pod = object as Pod;
      const bound = pod.spec.nodeName;
      const isLost = bound ? view.get(nodes, '', bound) === undefined : isTerminating(pod);
      return isLost ? [keyOf(pod)] : [];
    },
    plan(key) {
      const [namespace, name] = splitKey(key);
      const pod = view.get(pods, namespace, name);
      if (pod === undefined) return undefined;
      const { nodeName } = pod.spec;
      const at = nodeName ? dueOf(nodeName) : time.now;
      if (at === undefined || (!nodeName && !isTerminating(pod))) return undefined;
      if (at > time.now) return { after: at - time.now };
      return { batches: podGarbage(pod, time.now).map((write) => [write]) };
    },
  });
}

function keyOf({ metadata }: Pod): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}

/** A Pod whose node is gone, or that was deleted before it had one: it ends as Failed, then it is removed. */
export function podGarbage(pod: Pod, now: number): readonly Write[] {
  const forced = remove(pods, pod, { gracePeriodSeconds: 0 });
  const removal = isTerminating(pod) && pod.metadata.deletionGracePeriodSeconds === 0 ? [] : [forced];
  if (isTerminal(pod)) return removal;
  if (!pod.spec.nodeName) return [patchStatus(pods, pod, { phase: 'Failed' }), ...removal];
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'DeletionByPodGC',
    message: 'PodGC: node no longer exists',
  };
  const conditions = withCondition(pod.status?.conditions ?? [], condition, formatTime(now));
  return [patchStatus(pods, pod, { phase: 'Failed', conditions }), ...removal];
}
