/**
 * Departed Pods: the last that the watch, or a live read, has shown of Pods that ended, went away, or were taken from
 * their At, before their end stood in its status. A run that has ended stays ended: its Pod may be deleted before the
 * turn of its At comes, and only what was shown before tells then that the command had ended by itself.
 * Kept on standbys, too, so that the next leader knows as much.
 */
import type { At } from '../../api/at.generated.ts';
import { ats } from '../../api/resources.ts';
import { controllerOf, type Pod } from '../../kubernetes/objects.ts';
import type { Informer } from '../../runtime/cache/informer.ts';
import { phaseOf } from '../plan/phase.ts';
import { endedByItself } from './observe-pod.ts';
import { isDisrupted, isGated, podNames } from './own-pod.ts';
import { atsOf } from './pod-owner.ts';

/** How many are kept of Ats that the cache does not show. Most of them were deleted, and their Pods with them. */
const maxUnshown = 500;

export class DepartedPods {
  readonly #ats: Informer<At>;
  /** By uid of the At. Only Ats that are not DONE have an entry, as far as the cache shows them. */
  readonly #byAt = new Map<string, readonly Pod[]>();
  /** The same, of Ats that the cache does not show, or not yet: their watch may lag behind that of the Pods. */
  readonly #unshown = new Map<string, readonly Pod[]>();

  constructor(pods: Informer<Pod>, atInformer: Informer<At>) {
    this.#ats = atInformer;
    pods.addHandler({
      onAdd: (pod) => {
        if (endedByItself(pod)) this.keep(pod);
      },
      onUpdate: (previous, pod) => {
        if (controllerOf(previous)?.uid !== controllerOf(pod)?.uid) this.keep(previous);
        if (endedByItself(pod) && !endedByItself(previous)) this.keep(pod);
      },
      onDelete: (pod) => this.keep(pod),
    });
    atInformer.addHandler({
      onAdd: (at) => this.#shown(at),
      onUpdate: (previous, at) => {
        if (previous.metadata.uid !== at.metadata.uid) this.#forget(previous);
        this.#shown(at);
        this.#prune(at);
      },
      onDelete: (at) => this.#forget(at),
    });
  }

  /** How many Ats there are of which something is kept. */
  get size(): number {
    return this.#byAt.size;
  }

  /** Those of this At, each as it was shown last. */
  of({ metadata }: At): readonly Pod[] {
    return this.#byAt.get(metadata.uid ?? '') ?? [];
  }

  /** How a Pod of an At was shown last: by the watch, or by a read of its end that the watch may never show. */
  keep(pod: Pod): void {
    // What is gated has not run.
    if (isGated(pod)) return;
    const at = this.#atOf(pod);
    if (at === undefined) {
      this.#keepUnshown(pod);
    } else if (phaseOf(at) !== 'DONE') {
      this.#byAt.set(at.metadata.uid ?? '', withPod(this.of(at), pod));
      this.#prune(at);
    }
  }

  #keepUnshown(pod: Pod): void {
    const owner = controllerOf(pod);
    if (owner?.kind !== ats.kind) return;
    this.#unshown.set(owner.uid, withPod(this.#unshown.get(owner.uid) ?? [], pod));
    const [oldest] = this.#unshown.keys();
    if (this.#unshown.size > maxUnshown && oldest !== undefined) this.#unshown.delete(oldest);
  }

  #forget({ metadata }: At): void {
    this.#byAt.delete(metadata.uid ?? '');
  }

  #shown(at: At): void {
    const { uid = '' } = at.metadata;
    const known = this.#unshown.get(uid);
    if (known === undefined) return;
    this.#unshown.delete(uid);
    this.#byAt.set(uid, known);
    this.#prune(at);
  }

  /** The At that controls the Pod, or of which it is known that it did. */
  #atOf(pod: Pod): At | undefined {
    const [request] = atsOf(pod);
    const at = request && this.#ats.lister.get(request.namespace, request.name);
    if (at === undefined) return undefined;
    const owner = controllerOf(pod);
    const { uid } = pod.metadata;
    const isKnown = () =>
      at.status?.podUID === uid || this.of(at).some(({ metadata }) => metadata.uid === uid);
    const isOwn = owner === undefined ? isKnown() : owner.uid === at.metadata.uid;
    return isOwn ? at : undefined;
  }

  /** Forgets what stands in status by now. */
  #prune(at: At): void {
    const { uid = '' } = at.metadata;
    const known = this.#byAt.get(uid);
    if (known === undefined) return;
    const { earlier } = podNames(at);
    const kept =
      phaseOf(at) === 'DONE' ? [] : known.filter(({ metadata }) => !earlier.includes(metadata.name));
    if (kept.length === 0) this.#byAt.delete(uid);
    else this.#byAt.set(uid, kept);
  }
}

/** Each Pod once, as it was shown last, or as it ended: one that has failed may be evicted all the same. */
function withPod(pods: readonly Pod[], pod: Pod): readonly Pod[] {
  const known = pods.find(({ metadata }) => metadata.uid === pod.metadata.uid);
  const isLater = isDisrupted(pod) || !endedByItself(pod);
  if (known !== undefined && endedByItself(known) && isLater) return pods;
  return [...pods.filter(({ metadata }) => metadata.uid !== pod.metadata.uid), pod];
}
