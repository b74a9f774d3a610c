/**
 * Reflector options: which collection a {@link Reflector} follows, by what means, and what it fills.
 */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import type { Client, SelectorOptions } from '../client/client.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { InformerCounters } from './informer-metrics.ts';
import type { LoadSlots } from './load-slots.ts';
import type { ReflectorTarget } from './reflector-target.ts';

export interface ReflectorOptions<T extends KubernetesObject> extends SelectorOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** Uniform in [0, 1), such as Math.random. */
  readonly random: () => number;
  readonly resource: Resource<T>;
  /** Undefined: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string | undefined;
  readonly metadataOnly: boolean;
  readonly target: ReflectorTarget<T>;
  readonly counters: InformerCounters;
  /** Shared by all reflectors of the process. */
  readonly loads: LoadSlots;
}

/** What every request for the collection says. */
export function selectionOf<T extends KubernetesObject>(options: ReflectorOptions<T>) {
  const { namespace, labelSelector, fieldSelector, metadataOnly } = options;
  return {
    metadataOnly,
    ...(namespace === undefined ? {} : { namespace }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
}
