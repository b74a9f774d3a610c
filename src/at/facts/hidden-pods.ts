/**
 * Hidden Pods: those that the watch has shown going away while the finalizer held them. One of them may be there still,
 * without the label by which Pods are watched, and nothing but this would tell once the end of its At is recorded.
 */
import type { Pod } from '../../kubernetes/objects.ts';
import type { Informer } from '../../runtime/cache/informer.ts';
import { type Request, requestKey } from '../../runtime/controller/reconciler.ts';
import { isTracked } from './own-pod.ts';
import { atsOf } from './pod-owner.ts';

/** Of so many Ats they are kept. A standby keeps those as well that the leader has let go as they were deleted. */
const maxAts = 500;

export class HiddenPods {
  /** By namespace/name of the At. */
  readonly #hidden = new Map<string, readonly Pod[]>();
  /** uids of the Pods that the watch has shown as held. True: this process has taken the finalizer off since. */
  readonly #held = new Map<string, boolean>();

  constructor(pods: Pick<Informer<Pod>, 'addHandler'>) {
    pods.addHandler({
      onAdd: (pod) => this.#shown(pod),
      onUpdate: (_previous, pod) => this.#shown(pod),
      onDelete: (pod) => this.#gone(pod),
    });
  }

  /** Those of Ats of this name. */
  of(request: Request): readonly Pod[] {
    return this.#hidden.get(requestKey(request)) ?? [];
  }

  /**
   * This process has taken the finalizer off, or has found that nothing is left to take it off from. Of a Pod that was being
   * deleted the watch shows the end with the finalizer still on it.
   */
  released(pod: Pod): void {
    const { uid = '' } = pod.metadata;
    this.#forget(pod);
    if (this.#held.has(uid)) this.#held.set(uid, true);
  }

  #shown(pod: Pod): void {
    const { uid = '' } = pod.metadata;
    this.#forget(pod);
    if (!isTracked(pod)) this.#held.delete(uid);
    else if (!this.#held.has(uid)) this.#held.set(uid, false);
  }

  #gone(pod: Pod): void {
    const { uid = '' } = pod.metadata;
    const isReleased = this.#held.get(uid) === true;
    this.#held.delete(uid);
    if (isReleased || !isTracked(pod)) return;
    for (const at of atsOf(pod)) this.#hidden.set(requestKey(at), [...this.of(at), pod]);
    const [oldest] = this.#hidden.keys();
    if (this.#hidden.size > maxAts && oldest !== undefined) this.#hidden.delete(oldest);
  }

  #forget(pod: Pod): void {
    if (this.#hidden.size === 0) return;
    for (const at of atsOf(pod)) {
      const left = this.of(at).filter(({ metadata }) => metadata.uid !== pod.metadata.uid);
      if (left.length > 0) this.#hidden.set(requestKey(at), left);
      else this.#hidden.delete(requestKey(at));
    }
  }
}
