/**
 * Informer callbacks: the transform and the index functions of an informer, called so that nothing they throw or
 * return keeps an object from being stored, leaves this module or ends the process. A log line a minute names the callback.
 */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import { CallbackFaults } from '../callback.ts';
import type { Clock } from '../clock.ts';
import { LogLimit } from '../log-limit.ts';
import type { Logger } from '../logger.ts';
import { type CachedForm, isStorable, toCachedObject } from './cached-object.ts';
import type { IndexFunction } from './lister.ts';

export class InformerCallbacks<T extends KubernetesObject> {
  readonly #resource: Resource<T>;
  readonly #form: Pick<CachedForm<T>, 'metadataOnly' | 'transform'>;
  readonly #log: Logger;
  readonly #faults: CallbackFaults;
  readonly #limit: LogLimit;

  constructor(
    resource: Resource<T>,
    form: Pick<CachedForm<T>, 'metadataOnly' | 'transform'>,
    { clock, log }: { readonly clock: Clock; readonly log: Logger },
  ) {
    this.#resource = resource;
    this.#form = form;
    this.#log = log;
    this.#faults = new CallbackFaults(clock, log);
    this.#limit = new LogLimit(clock);
  }

  /** The form in which an object is kept; undefined for one without a name, which cannot be. */
  prepare(object: T, { copied = false } = {}): T | undefined {
    if (!isStorable(object)) {
      this.#limit.log('nameless', (suppressed) =>
        this.#log.error({ suppressed }, 'the API server sent an object without a name, which is left out'),
      );
      return undefined;
    }
    const { namespace, name, uid, resourceVersion } = object.metadata;
    try {
      return toCachedObject(this.#resource, { ...this.#form, copied }, object);
    } catch (error) {
      // One object of unforeseen shape is kept whole: to leave it out would look like a deletion.
      const consequence = 'the object is kept as it is';
      this.#faults.report({ callback: 'transform', key: keyOf(object), error, consequence });
    }
    // A transform may have changed the object before it failed.
    const whole = isStorable(object)
      ? object
      : ({ metadata: { namespace, name, uid, resourceVersion } } as T);
    return toCachedObject(this.#resource, { ...this.#form, transform: undefined, copied }, whole);
  }

  /** The values of an object in an index; none when the function fails. */
  indexValues(index: string, valuesOf: IndexFunction<T>, object: T): readonly string[] {
    try {
      return textsOf(valuesOf(object));
    } catch (error) {
      const consequence = 'the object is not in the index';
      this.#faults.report({ callback: `index ${index}`, key: keyOf(object), error, consequence });
      return [];
    }
  }
}

/** `namespace/name`; of an object that the transform may have broken. */
function keyOf({ metadata }: Partial<KubernetesObject>): string {
  return `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
}

/** @throws {TypeError} for anything but texts: an object of unforeseen shape may have led to something else. */
function textsOf(values: unknown): readonly string[] {
  if (values instanceof Promise) values.catch(() => undefined);
  if (!Array.isArray(values)) throw new TypeError('an index function must return an array of strings');
  const texts: unknown[] = values;
  if (!texts.every((value) => typeof value === 'string'))
    throw new TypeError('the values of an index must be strings');
  return [...texts];
}
