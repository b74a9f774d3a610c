/**
 * Reflector target: what a {@link Reflector} fills.
 */
/** None of these may throw. */
export interface ReflectorTarget<T> {
  /** Everything up to this resource version has been taken in; undefined before the first load. */
  readonly position: string | undefined;
  /** The form in which the target wants an object, or undefined for one it cannot take. */
  prepare(object: T): T | undefined;
  /** The whole collection. A `resourceVersion` of undefined: the resource itself is gone. */
  replace(objects: Iterable<T>, resourceVersion: string | undefined): void;
  apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void;
  advance(resourceVersion: string): void;
}
