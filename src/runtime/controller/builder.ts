/**
 * Builder: wires a controller so that the wiring reads as a sentence:
 *
 *     controllerManagedBy(manager).for(ats).owns(pods).complete(reconciler);
 */
import { Registry } from '@prometheus-io/client';
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import type { Informer, InformerOptions } from '../cache/informer.ts';
import type { Client } from '../client/client.ts';
import type { Clock } from '../clock.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import type { Logger } from '../logger.ts';
import { type Randomness, systemRandomness } from '../randomness.ts';
import { Controller, type ControllerOptions } from './controller.ts';
import { type EventHandler, enqueueRequestForObject, enqueueRequestForOwner } from './event-handler.ts';
import type { Predicate } from './predicate.ts';
import type { Reconciler } from './reconciler.ts';
import type { Runnable } from './runnable.ts';
import { informerSource, type PriorityFunction, type Source } from './source.ts';

/** What the builder needs of the Manager. */
export interface BuilderHost {
  readonly informers: {
    /** The shared informer of this resource and these options; it is made at the first call. */
    informerFor<T extends KubernetesObject>(resource: Resource<T>, options?: InformerOptions<T>): Informer<T>;
  };
  readonly clock: Clock;
  /** Default {@link systemRandomness}. */
  readonly randomness?: Randomness;
  readonly log: Logger;
  /** Default: metrics that are not shown. */
  readonly registry?: Registry;
  /** Takes over the life of the controller. */
  add(runnable: Runnable): void;
}

/** A {@link BuilderHost} with all that a Manager has of it. */
export interface ControllerHost extends BuilderHost {
  readonly randomness: Randomness;
  readonly registry: Registry;
}

/**
 * What controllers are set up with. A function that takes a Host and not a Manager can be tested with a double of it.
 */
export interface Host extends BuilderHost {
  readonly client: Client;
  /** As `reportingController` in the Events: `domain/name` or a plain name. */
  recorder(controllerName: string): EventRecorder;
}

/** How one resource is watched for a controller. */
export interface WatchOptions<T extends KubernetesObject> extends InformerOptions<T> {
  /** All must pass. Default: every event passes. */
  readonly predicates?: readonly Predicate<T>[];
  /** Queue priority of the requests of an event. Default: −100 for the initial list, otherwise 0. */
  readonly priority?: PriorityFunction<T>;
}

/** Begins the configuration of a controller; {@link ControllerBuilder.complete} ends it. */
export function controllerManagedBy(host: BuilderHost): ControllerBuilder {
  return new ControllerBuilder(host);
}

/** Names in use, by host: two controllers of one name would share their metrics. */
const names = new WeakMap<BuilderHost, Set<string>>();

/**
 * The configuration of a controller, from {@link controllerManagedBy} on. Each call but the last returns the
 * builder.
 */
export class ControllerBuilder {
  readonly #host: BuilderHost;
  #name: string | undefined;
  #for: Resource | undefined;
  #options: ControllerOptions = {};
  /** Made in `complete`: owned kinds need to know the owner, whichever is named first. */
  readonly #sources: (() => Source)[] = [];

  constructor(host: BuilderHost) {
    this.#host = host;
  }

  /** Names the controller in logs and metrics. Default: the kind given to `for`, in lower case. */
  named(name: string): this {
    this.#name = name;
    return this;
  }

  /** The kind that is reconciled: each event of an object is a request for itself. Exactly one. */
  for<T extends KubernetesObject>(resource: Resource<T>, options: WatchOptions<T> = {}): this {
    if (this.#for) {
      throw new Error(
        `for(${resource.kind}): this controller is for ${this.#for.kind} already. ` +
          `Use owns() or watches() for further kinds, or a second controller`,
      );
    }
    this.#for = resource;
    this.#sources.push(() => this.#source(resource, enqueueRequestForObject, options));
    return this;
  }

  /** A kind whose objects carry the reconciled kind as their controller owner; their events wake that owner. */
  owns<T extends KubernetesObject>(resource: Resource<T>, options: WatchOptions<T> = {}): this {
    this.#sources.push(() => {
      if (!this.#for) {
        throw new Error(
          `owns(${resource.kind}) needs for(): whose ${resource.kind}s are they? Use watches() if they have no owner`,
        );
      }
      return this.#source(resource, enqueueRequestForOwner(this.#for), options);
    });
    return this;
  }

  /** A kind whose events wake whatever the handler says. */
  watches<T extends KubernetesObject>(
    resource: Resource<T>,
    handler: EventHandler<T>,
    options: WatchOptions<T> = {},
  ): this {
    this.#sources.push(() => this.#source(resource, handler, options));
    return this;
  }

  /** A source that is no informer, such as a timer or another process. */
  watchesSource(source: Source): this {
    this.#sources.push(() => source);
    return this;
  }

  /** Called more than once, later options win one by one. */
  withOptions(options: ControllerOptions): this {
    this.#options = { ...this.#options, ...options };
    return this;
  }

  /**
   * Makes the controller and hands it to the manager. Nothing runs before the manager starts.
   *
   * @throws {Error} that says what to do, when the sentence so far makes no sense.
   */
  complete(reconciler: Reconciler): Controller {
    if (this.#sources.length === 0) {
      throw new Error(
        'complete(): this controller watches nothing. Call for(), or named() and watches(), first',
      );
    }
    const name = this.#name ?? this.#for?.kind.toLowerCase();
    if (!name)
      throw new Error('complete(): a controller without for() has no default name. Call named() first');
    const host = this.#host;
    const taken = names.get(host) ?? new Set();
    if (taken.has(name)) {
      throw new Error(
        `complete(): this manager has a controller named ${name} already. Call named() with another name`,
      );
    }
    const sources = this.#sources.map((make) => make());
    const { clock, randomness = systemRandomness, log, registry = new Registry() } = host;
    const controller = new Controller({
      ...this.#options,
      ...{ name, reconciler, sources, clock, randomness, log, registry },
    });
    names.set(host, taken.add(name));
    host.add(controller);
    return controller;
  }

  #source<T extends KubernetesObject>(
    resource: Resource<T>,
    handler: EventHandler<T>,
    { predicates, priority, ...informerOptions }: WatchOptions<T>,
  ): Source {
    const informer = this.#host.informers.informerFor(resource, informerOptions);
    return informerSource({
      informer,
      clock: this.#host.clock,
      handler,
      ...(predicates && { predicates }),
      ...(priority && { priority }),
    });
  }
}
