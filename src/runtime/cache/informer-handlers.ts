/**
 * Informer handlers: everybody who wants to know what changes. They are called one after the other, in
 * the order of the changes; what one throws is logged and keeps nothing from the others.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { Logger } from '../logger.ts';
import type { InformerHandler } from './informer.ts';
import type { Change } from './partition.ts';

/** One registration; the same handler may have several. */
interface Registration<T> {
  readonly handler: InformerHandler<T>;
  removed: boolean;
}

export class InformerHandlers<T extends KubernetesObject> {
  readonly #log: Logger;
  /** Copied on every change: a handler added by a handler is shown the store, not the change under way. */
  #registrations: readonly Registration<T>[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  /** @param known shown to the new handler as initial adds, before anything else. */
  add(handler: InformerHandler<T>, known: readonly T[]): () => void {
    const registration: Registration<T> = { handler, removed: false };
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

  #call({ handler, removed }: Registration<T>, change: Change<T>, initial: boolean): void {
    if (removed) return;
    try {
      const result: unknown = callHandler(handler, change, initial);
      // Handlers are synchronous; an async one by mistake must not end the process by its rejection.
      if (result instanceof Promise) result.catch((error: unknown) => this.#failed(error, change));
    } catch (error) {
      this.#failed(error, change);
    }
  }

  #failed(error: unknown, { type, object }: Change<T>): void {
    const { namespace, name } = object.metadata;
    this.#log.error({ err: error, namespace, name, change: type }, 'a handler of the informer failed');
  }
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
