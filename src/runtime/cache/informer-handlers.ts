/**
 * Informer handlers: the functions that an informer tells its changes. They are called one after the other, in the
 * order of the changes; what one throws is logged, at most once a minute, and keeps nothing from the others.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import { type CallbackFault, CallbackFaults } from '../callback.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { InformerHandler } from './informer.ts';
import type { Change } from './partition.ts';

/** One registration; the same handler may have several. */
interface Registration<T> {
  readonly handler: InformerHandler<T>;
  readonly faults: CallbackFaults;
  removed: boolean;
}

export class InformerHandlers<T extends KubernetesObject> {
  readonly #clock: Clock;
  readonly #log: Logger;
  /** Copied on every change: a handler added by a handler is shown the store, not the change under way. */
  #registrations: readonly Registration<T>[] = [];

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  /** @param known shown to the new handler as initial adds, before anything else. */
  add(handler: InformerHandler<T>, known: readonly T[]): () => void {
    const registration: Registration<T> = {
      handler,
      faults: new CallbackFaults(this.#clock, this.#log),
      removed: false,
    };
    this.#registrations = [...this.#registrations, registration];
    for (const object of known) this.#call(registration, { type: 'add', object }, true);
    return () => {
      registration.removed = true;
      this.#registrations = this.#registrations.filter((other) => other !== registration);
    };
  }

  tell(changes: readonly Change<T>[], initial: boolean): void {
    const registrations = this.#registrations;
    for (const change of changes) {
      for (const registration of registrations) this.#call(registration, change, initial);
    }
  }

  #call({ handler, faults, removed }: Registration<T>, change: Change<T>, initial: boolean): void {
    if (removed) return;
    const failed = (error: unknown) => faults.report(faultOf(change, error));
    try {
      const result: unknown = callHandler(handler, change, initial);
      // Handlers are synchronous; an async one by mistake must not end the process by its rejection.
      if (result instanceof Promise) result.catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}

function faultOf({ type, object: { metadata } }: Change<KubernetesObject>, error: unknown): CallbackFault {
  const key = `${metadata.namespace ?? ''}/${metadata.name}`;
  return { callback: `informer handler (${type})`, key, error, consequence: 'the event is not handled' };
}

function callHandler<T>(handler: InformerHandler<T>, change: Change<T>, initial: boolean): unknown {
  switch (change.type) {
    case 'add':
      return handler.onAdd?.(change.object, initial);
    case 'update':
      return handler.onUpdate?.(change.previous, change.object);
    case 'delete':
      return handler.onDelete?.(change.object);
  }
}
