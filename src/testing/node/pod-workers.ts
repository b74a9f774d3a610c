/** Pod workers of a kubelet, by the key of their Pod; a name can have one that ends and one that begins. */
import type { PodWorker } from './pod-worker.ts';

export class PodWorkers {
  readonly #byKey = new Map<string, readonly PodWorker[]>();
  /** Those that have not ended. */
  readonly #active = new Set<PodWorker>();

  get keys(): Iterable<string> {
    return this.#byKey.keys();
  }

  /** Those that have not ended, as they are now. */
  get active(): readonly PodWorker[] {
    return [...this.#active];
  }

  get activeCount(): number {
    return this.#active.size;
  }

  of(key: string): readonly PodWorker[] {
    return this.#byKey.get(key) ?? [];
  }

  add(key: string, worker: PodWorker): void {
    this.#byKey.set(key, [...this.of(key), worker]);
    this.#active.add(worker);
  }

  /** It leads no container any more. */
  noteEnd(worker: PodWorker): void {
    this.#active.delete(worker);
  }

  drop(key: string, worker: PodWorker): void {
    const rest = this.of(key).filter((other) => other !== worker);
    if (rest.length === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, rest);
    this.#active.delete(worker);
  }
}
