/**
 * Departed Pods: the last that the watch has shown of Pods that went away before their end stood in the status of
 * their At. A run that has ended stays ended: its Pod may be deleted before the turn of its At comes. Kept on standbys,
 * too, so that the next leader knows as much.
 */
import type { At } from '../../api/at.generated.ts';
import { ats } from '../../api/resources.ts';
import { controllerOf, type Pod } from '../../kubernetes/objects.ts';
import type { Informer } from '../../runtime/cache/informer.ts';
import { phaseOf } from '../plan/phase.ts';
import { isGated, podNames } from './own-pod.ts';

export class DepartedPods {
  readonly #ats: Informer<At>;
  /** By uid of the At. Only Ats that are not DONE have an entry. */
  readonly #byAt = new Map<string, readonly Pod[]>();

  constructor(pods: Informer<Pod>, atInformer: Informer<At>) {
    this.#ats = atInformer;
    pods.addHandler({ onDelete: (pod) => this.#keep(pod) });
    atInformer.addHandler({
      onUpdate: (_previous, at) => this.#prune(at),
      onDelete: ({ metadata }) => void this.#byAt.delete(metadata.uid ?? ''),
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

  #keep(pod: Pod): void {
    const owner = controllerOf(pod);
    // What is gated has not run.
    if (owner?.kind !== ats.kind || isGated(pod)) return;
    const at = this.#ats.lister.get(pod.metadata.namespace ?? '', owner.name);
    if (at?.metadata.uid !== owner.uid || phaseOf(at) === 'DONE') return;
    this.#byAt.set(owner.uid, [...this.of(at), pod]);
    this.#prune(at);
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
