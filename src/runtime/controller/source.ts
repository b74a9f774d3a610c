/**
 * Source: where a controller's requests come from. The usual one listens to an informer and puts, for each
 * event that its predicates let pass, the requests of its event handler into the queue.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { Informer } from '../cache/informer.ts';
import { CallbackFaults, synchronous } from '../callback.ts';
import type { Clock } from '../clock.ts';
import { errorText } from '../error-chain.ts';
import type { Logger } from '../logger.ts';
import type { AddOptions } from '../queue/add-options.ts';
import type { EventHandler, ObjectEvent } from './event-handler.ts';
import { endOf, versionOf } from './own-versions.ts';
import { changesDeletion, type Predicate } from './predicate.ts';
import { type Request, requestFor, requestKey } from './reconciler.ts';

/** What a source knows of the event that a request is for. */
export interface EnqueueOptions extends AddOptions {
  /**
   * The version that the event shows ({@link versionOf}), or the end of the object ({@link endOf}). When a reconcile
   * of the same request has written it, the request does not shorten the backoff of a failed one.
   */
  readonly version?: string | undefined;
  /** The event may show more than that write: a change of the spec or a deletion that another writer asked for. */
  readonly showsMore?: boolean;
}

/** Where a source puts its requests. */
export type Enqueue = (request: Request, options: EnqueueOptions) => void;

/**
 * Where the requests of a controller come from. It is started during the warm-up, also on standbys; no
 * reconcile begins before it has synced.
 */
export interface Source {
  /** Begins to enqueue; ends when `stop` is aborted. */
  start(enqueue: Enqueue, log: Logger, stop: AbortSignal): void;
  /** Resolves once everything that existed at the start is enqueued; rejects when `stop` is aborted. */
  waitForSync(stop: AbortSignal): Promise<void>;
}

/** Priority of the initial list, as in controller-runtime: behind everything that happens meanwhile. */
export const initialListPriority = -100;

/**
 * Priority of the requests of one event. `initial` is true for objects of the first list and for updates
 * that bring nothing new; without a function those get {@link initialListPriority}, all others 0. A handful of
 * values is meant: each take from the queue looks at all priorities in use.
 */
export type PriorityFunction<T> = (object: T, about: { readonly initial: boolean }) => number;

export interface InformerSourceOptions<T extends KubernetesObject> {
  readonly informer: Informer<T>;
  readonly clock: Clock;
  readonly handler: EventHandler<T>;
  /** All must pass. Default: everything passes. */
  readonly predicates?: readonly Predicate<T>[];
  readonly priority?: PriorityFunction<T>;
}

/**
 * One bad object must not stop its source, nor be lost: where a predicate throws, the event passes; where
 * the priority function throws or gives no integer, the priority is 0. An event whose handler throws, or gives
 * no requests, is dropped, since it is not known whom it concerns. Each is logged, at most once a minute. A promise
 * counts as thrown.
 *
 * Predicates are not asked about a change of deletionTimestamp: a controller that does not see it never
 * removes its finalizer.
 */
export function informerSource<T extends KubernetesObject>(options: InformerSourceOptions<T>): Source {
  const { informer, clock, handler, predicates = [], priority = defaultPriority } = options;
  return {
    start(enqueue, log, stop) {
      if (stop.aborted) return;
      const faults = new CallbackFaults(clock, log.child({ kind: informer.resource.kind }));
      const attempt = <R>(
        { callback, consequence, otherwise }: Guarded<R>,
        event: ObjectEvent<T>,
        run: () => R,
      ): R => {
        try {
          return run();
        } catch (error) {
          faults.report({ callback, key: requestKey(requestFor(event.object)), error, consequence });
          return otherwise;
        }
      };
      const onEvent = (event: ObjectEvent<T>) => {
        const isPassed = () =>
          changesDeletion(event) || predicates.every((asked) => synchronous(asked(event)));
        if (!attempt(guardedPredicate, event, isPassed)) return;
        const requests = attempt(guardedHandler, event, () => checkedRequests(handler(event)));
        if (requests.length === 0) return;
        const value = attempt(guardedPriority, event, () => integerPriority(priority, event));
        const shown = { version: shownVersion(event), showsMore: mayShowMore(event) };
        for (const request of requests) enqueue(request, { priority: value, ...shown });
      };
      const remove = informer.addHandler({
        onAdd: (object, initial) => onEvent({ type: 'create', object, initial }),
        onUpdate: (previous, object) => onEvent({ type: 'update', previous, object }),
        onDelete: (object) => onEvent({ type: 'delete', object }),
      });
      stop.addEventListener('abort', remove, { once: true });
    },
    waitForSync: (stop) => informer.waitForSync(stop),
  };
}

/** What takes the place of a callback that fails. */
interface Guarded<R> {
  readonly callback: string;
  readonly otherwise: R;
  readonly consequence: string;
}

const guardedPredicate: Guarded<boolean> = {
  ...{ callback: 'predicate', otherwise: true, consequence: 'the event passes' },
};
const guardedHandler: Guarded<readonly Request[]> = {
  ...{ callback: 'event handler', otherwise: [], consequence: 'the event is dropped' },
};
const guardedPriority: Guarded<number> = {
  ...{ callback: 'priority function', otherwise: 0, consequence: 'the priority is 0' },
};

function defaultPriority(_object: unknown, { initial }: { readonly initial: boolean }): number {
  return initial ? initialListPriority : 0;
}

function integerPriority<T extends KubernetesObject>(
  priority: PriorityFunction<T>,
  event: ObjectEvent<T>,
): number {
  const value = synchronous(priority(event.object, { initial: bringsNothingNew(event) }));
  if (!Number.isSafeInteger(value)) {
    throw new RangeError(`a priority must be an integer, got ${errorText(value)}`);
  }
  return value;
}

function checkedRequests(returned: readonly Request[]): readonly Request[] {
  const requests: unknown = synchronous(returned);
  if (Array.isArray(requests) && requests.every(isRequest)) return requests;
  throw new TypeError('an event handler must return an array of requests, each with a namespace and a name');
}

function isRequest(value: unknown): value is Request {
  const { namespace, name } = (value ?? {}) as Partial<Record<keyof Request, unknown>>;
  return typeof namespace === 'string' && typeof name === 'string';
}

function bringsNothingNew(event: ObjectEvent<KubernetesObject>): boolean {
  if (event.type === 'create') return event.initial;
  if (event.type === 'delete') return false;
  const { resourceVersion } = event.object.metadata;
  return resourceVersion !== undefined && resourceVersion === event.previous.metadata.resourceVersion;
}

function shownVersion({ type, object }: ObjectEvent<KubernetesObject>): string | undefined {
  return type === 'delete' ? endOf(object.metadata) : versionOf(object);
}

/** Between two versions that an informer has seen there may be another writer's. */
function mayShowMore(event: ObjectEvent<KubernetesObject>): boolean {
  if (event.type !== 'update') return false;
  const { previous, object } = event;
  return changesDeletion(event) || previous.metadata.generation !== object.metadata.generation;
}
