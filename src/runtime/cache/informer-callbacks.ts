/**
 * Informer callbacks: the transform and the index functions of an informer, called so that nothing they throw or
 * return keeps an object from being stored, leaves this module or ends the process. One log line names the callback.
 */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import type { Logger } from '../logger.ts';
import { type CachedForm, isStorable, toCachedObject } from './cached-object.ts';
import type { IndexFunction } from './lister.ts';

export class InformerCallbacks<T extends KubernetesObject> {
  readonly #resource: Resource<T>;
  readonly #form: Pick<CachedForm<T>, 'metadataOnly' | 'transform'>;
  readonly #log: Logger;

  constructor(resource: Resource<T>, form: Pick<CachedForm<T>, 'metadataOnly' | 'transform'>, log: Logger) {
    this.#resource = resource;
    this.#form = form;
    this.#log = log;
  }

  /** The form in which an object is kept; undefined for one without a name, which cannot be. */
  prepare(object: T, { copied = false } = {}): T | undefined {
    if (!isStorable(object)) {
      this.#log.error('the API server sent an object without a name, which is left out');
      return undefined;
    }
    const { namespace, name, uid, resourceVersion } = object.metadata;
    try {
      return toCachedObject(this.#resource, { ...this.#form, copied }, object);
    } catch (error) {
      // One object of unforeseen shape is kept whole: to leave it out would look like a deletion.
      this.#log.error({ err: error, namespace, name }, 'the transform failed, the object is kept as it is');
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
      const { namespace, name } = object.metadata;
      this.#log.error(
        { err: error, namespace, name, index },
        'the index function failed, the object is not in it',
      );
      return [];
    }
  }
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
