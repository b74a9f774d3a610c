/**
 * Controller: the driver of a pure decision. It is woken by changes, decides on the present state, writes,
 * and looks again after whatever did not work.
 */
import type { ClusterAccess, ClusterChange, RandomSource, WriteAnswer } from '../cluster-ports.ts';
import { type Outcome, WorkList } from '../work-list.ts';
import { isDone, perform, type Write } from './write.ts';

/** What a decision wants to have written. */
export interface Plan {
  /** In order. All writes of a batch are tried; after a failure no further batch is. */
  readonly batches?: readonly (readonly Write[])[];
  /** Written last, also after a failure, whose answer it may tell. */
  readonly status?: (failure: WriteAnswer | undefined) => Write | undefined;
  /** Look again after so many ms. */
  readonly after?: number | undefined;
  /** Look again with back-off, whatever the writes led to. */
  readonly retry?: boolean;
}

export interface ControllerOptions {
  readonly cluster: ClusterAccess;
  readonly random: RandomSource;
  /** User name of its requests. */
  readonly user: string;
  /** How late it notices a change, in ms. */
  readonly delay?: readonly [number, number];
  /** What a change gives it to look at. */
  keysOf(change: ClusterChange): Iterable<string>;
  /** Undefined: nothing to do, for the object is gone. */
  plan(key: string): Plan | undefined;
}

/** What one controller of the simulated controller manager needs. */
export type ControllerSetting = Pick<ControllerOptions, 'cluster' | 'random' | 'delay'>;

export const defaultDelay: readonly [number, number] = [1, 50];

export class Controller {
  readonly #options: ControllerOptions;
  readonly #work: WorkList;
  readonly #unsubscribe: () => void;

  constructor(options: ControllerOptions) {
    this.#options = options;
    const { cluster, random, delay = defaultDelay } = options;
    this.#work = new WorkList({
      time: cluster.time,
      random,
      delay,
      sync: (key) => this.#sync(key),
    });
    this.#unsubscribe = cluster.changes.onChange((change) => {
      for (const key of options.keysOf(change)) this.#work.add(key);
    });
    this.#list();
  }

  /** Has the key looked at, without a change. */
  wake(key: string, delay?: number): void {
    this.#work.add(key, delay);
  }

  stop(): void {
    this.#unsubscribe();
    this.#work.clear();
  }

  /** What is there at the start counts as new, as an informer's first list does. */
  #list(): void {
    const { view } = this.#options.cluster;
    for (const resource of view.resources()) {
      for (const object of view.list(resource)) {
        const change = { type: 'ADDED', resource, object, previous: undefined } as const;
        for (const key of this.#options.keysOf(change)) this.#work.add(key);
      }
    }
  }

  #sync(key: string): Outcome {
    const plan = this.#options.plan(key);
    if (plan === undefined) return {};
    const failure = this.#writeBatches(plan.batches ?? []);
    const status = plan.status?.(failure);
    const written = status === undefined || isHarmless(this.#perform(status));
    return {
      retry: failure !== undefined || !written || plan.retry === true,
      ...(plan.after !== undefined && { after: plan.after }),
    };
  }

  /** The first failure, if there was one. */
  #writeBatches(batches: readonly (readonly Write[])[]): WriteAnswer | undefined {
    for (const batch of batches) {
      const failures = batch.map((write) => this.#perform(write)).filter((answer) => !isHarmless(answer));
      if (failures.length > 0) return failures[0];
    }
    return undefined;
  }

  #perform(write: Write): WriteAnswer {
    return perform(this.#options.cluster.writes, this.#options.user, write);
  }
}

/** Done, or about an object that is gone. */
function isHarmless(answer: WriteAnswer): boolean {
  return isDone(answer) || answer.code === 404;
}

/** User name of a controller of the controller manager. */
export function controllerUser(name: string): string {
  return `system:serviceaccount:kube-system:${name}`;
}

/** Splits a key `namespace/name`. */
export function splitKey(key: string): readonly [namespace: string, name: string] {
  const slash = key.indexOf('/');
  return [key.slice(0, slash), key.slice(slash + 1)];
}

export function keyOf({ metadata }: { metadata: { namespace?: string; name: string } }): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}
