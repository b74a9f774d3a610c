/**
 * Watch cache of one API server: how far this instance has followed etcd. Watches, and reads that do not insist
 * on the newest state, see the cache.
 */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import type { ServerTime } from './api-message.ts';
import type { Change, Etcd } from './etcd.ts';

export interface WatchCacheOptions {
  readonly etcd: Etcd;
  readonly time: ServerTime;
  /** Milliseconds from a change in etcd until the cache has it, asked for each change; 0 is the same turn. */
  readonly lag: () => number;
  /** Called with each change as the cache takes it up. */
  readonly onChange: (change: Change) => void;
}

export class WatchCache {
  readonly #etcd: Etcd;
  readonly #time: ServerTime;
  readonly #onChange: (change: Change) => void;
  /** Called with what is to run once the cache has a revision. */
  readonly #waiting = new Set<{ readonly revision: number; readonly run: () => void }>();
  #lag: () => number;
  /** Changes that the cache has not taken up, in order. */
  #pending: { readonly change: Change; readonly due: number }[] = [];
  #timer: { cancel(): void } | undefined;
  #isHeld = false;

  constructor({ etcd, time, lag, onChange }: WatchCacheOptions) {
    this.#etcd = etcd;
    this.#time = time;
    this.#lag = lag;
    this.#onChange = onChange;
    etcd.onChange((change) => this.#follow(change));
  }

  /** The revision that the cache is at. */
  get revision(): number {
    const [next] = this.#pending;
    return next === undefined ? this.#etcd.revision : next.change.revision - 1;
  }

  set lag(lag: () => number) {
    this.#lag = lag;
  }

  /** Takes up nothing more until {@link release}. */
  hold(): void {
    this.#isHeld = true;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Takes up at once whatever is due. */
  release(): void {
    this.#isHeld = false;
    this.#takeUp();
  }

  list(resource: Resource, namespace: string): KubernetesObject[] {
    return this.#etcd.listAt(resource, namespace, this.revision);
  }

  get(resource: Resource, namespace: string, name: string): KubernetesObject | undefined {
    return this.#etcd.getAt(resource, namespace, name, this.revision);
  }

  /** What the cache has taken up since a revision. */
  since(revision: number): readonly Change[] {
    const changes = this.#etcd.since(revision);
    return changes.slice(0, Math.max(0, changes.length - this.#pending.length));
  }

  /** Runs in a turn in which the cache has reached the revision. Returns what takes that back. */
  whenAt(revision: number, run: () => void): () => void {
    const waiter = { revision, run };
    this.#waiting.add(waiter);
    return () => this.#waiting.delete(waiter);
  }

  #follow(change: Change): void {
    const lag = this.#lag();
    if (lag <= 0 && this.#pending.length === 0 && !this.#isHeld) {
      this.#take(change);
      return;
    }
    const last = this.#pending.at(-1)?.due ?? 0;
    this.#pending.push({ change, due: Math.max(last, this.#time.now + lag) });
    if (this.#pending.length === 1) this.#takeUp();
  }

  #takeUp(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    while (!this.#isHeld) {
      const [next] = this.#pending;
      if (next === undefined) return;
      const wait = next.due - this.#time.now;
      if (wait > 0) {
        this.#timer = this.#time.schedule(wait, () => this.#takeUp());
        return;
      }
      this.#pending.shift();
      this.#take(next.change);
    }
  }

  #take(change: Change): void {
    this.#onChange(change);
    if (this.#waiting.size === 0) return;
    for (const waiter of [...this.#waiting]) {
      if (waiter.revision > this.revision) continue;
      this.#waiting.delete(waiter);
      waiter.run();
    }
  }
}
