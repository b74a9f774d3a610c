/** Pod owner: the At that a Pod was made for, by its name, also when its owner reference was removed. */
import { atPodLabel } from '../../api/at-constants.ts';
import { ats } from '../../api/resources.ts';
import { controllerOf, type Pod } from '../../kubernetes/objects.ts';
import { type Request, requestKey } from '../../runtime/controller/reconciler.ts';
import { isTracked } from './own-pod.ts';

/** Index of the Pods that our finalizer holds, by `namespace/name` of the At. */
export const trackedIndex = 'tracked';

/** The At to look at because of this Pod. Its controller counts, and where it has none the label of the book. */
export function atsOf(pod: Pod): readonly Request[] {
  const { namespace = '', labels } = pod.metadata;
  const owner = controllerOf(pod);
  const name = owner === undefined ? labels?.[atPodLabel] : owner.kind === ats.kind ? owner.name : undefined;
  return name === undefined ? [] : [{ namespace, name }];
}

/** The values of {@link trackedIndex}. */
export function trackedAts(pod: Pod): readonly string[] {
  return isTracked(pod) ? atsOf(pod).map(requestKey) : [];
}
