/**
 * Config errors: since when Pods lack a part of their configuration, such as a Secret. The kubelet does not tell it; a
 * process that has just started waits as long again.
 */
import type { Pod } from '../../kubernetes/objects.ts';
import { configError } from '../decide/failing.ts';
import { observePod, waitingCause } from '../facts/observe-pod.ts';

export class ConfigErrors {
  /** By key of an At: the Pod, and when it was first seen so, monotonic milliseconds. */
  readonly #seen = new Map<string, { readonly uid: string | undefined; readonly since: number }>();

  /** Milliseconds since the Pod of the At was first seen so; undefined when it is not so. */
  age(key: string, pod: Pod | undefined, now: number): number | undefined {
    if (pod === undefined || waitingCause(observePod(pod))?.reason !== configError) {
      this.#seen.delete(key);
      return undefined;
    }
    const { uid } = pod.metadata;
    const known = this.#seen.get(key);
    if (known?.uid === uid && known !== undefined) {
      return now - known.since;
    }
    this.#seen.set(key, { uid, since: now });
    return 0;
  }

  forget(key: string): void {
    this.#seen.delete(key);
  }
}
