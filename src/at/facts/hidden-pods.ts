/**
 * Hidden Pods: those that the watch has shown going away while the finalizer held them. One of them may be there still,
 * without the label by which Pods are watched, and nothing but this would tell once the end of its At is recorded.
 */
import type { Pod } from '../../kubernetes/objects.ts';
import type { Informer } from '../../runtime/cache/informer.ts';
import { type Request, requestKey } from '../../runtime/controller/reconciler.ts';
import { isTracked } from './own-pod.ts';
import { atsOf } from './pod-owner.ts';

/** How many are kept. A standby, which lets no Pod go, keeps those that the leader has let go as they were deleted. */
const maxHidden = 500;

export class HiddenPods {
  readonly #pods: Informer<Pod>;
  /** By uid. */
  readonly #hidden = new Map<string, Pod>();
  /** uids of Pods that this process has let go and that the watch shows as they were before. */
  readonly #letGo = new Set<string>();

  constructor(pods: Informer<Pod>) {
    this.#pods = pods;
    pods.addHandler({
      onAdd: (pod) => this.#shown(pod),
      onUpdate: (_previous, pod) => this.#shown(pod),
      onDelete: (pod) => this.#gone(pod),
    });
  }

  /** Those of Ats of this name. */
  of(request: Request): readonly Pod[] {
    if (this.#hidden.size === 0) return [];
    const key = requestKey(request);
    return [...this.#hidden.values()].filter((pod) => atsOf(pod).some((at) => requestKey(at) === key));
  }

  /** The finalizer is off: where the Pod was being deleted, the watch shows that it goes with the finalizer still on it. */
  letGo({ metadata: { namespace = '', name, uid = '' } }: Pod): void {
    this.#hidden.delete(uid);
    const shown = this.#pods.lister.get(namespace, name);
    if (shown?.metadata.uid === uid && isTracked(shown)) this.#letGo.add(uid);
  }

  #shown(pod: Pod): void {
    const { uid = '' } = pod.metadata;
    this.#hidden.delete(uid);
    if (!isTracked(pod)) this.#letGo.delete(uid);
  }

  #gone(pod: Pod): void {
    const { uid = '' } = pod.metadata;
    if (this.#letGo.delete(uid) || !isTracked(pod)) return;
    this.#hidden.set(uid, pod);
    const [oldest] = this.#hidden.keys();
    if (this.#hidden.size > maxHidden && oldest !== undefined) this.#hidden.delete(oldest);
  }
}
