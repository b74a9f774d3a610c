/**
 * Reflector target: what a {@link Reflector} fills.
 */
/** None of these may throw. */
export interface ReflectorTarget<T> {
  /** The newest resource version that has been taken in; undefined before the first load. */
  readonly position: string | undefined;
  /** The newest one of which nothing can be missing, which is where a watch goes on. */
  readonly resumeFrom: string | undefined;
  /** The form in which the target wants an object, or undefined for one it cannot take. */
  prepare(object: T): T | undefined;
  /** The whole collection. A `resourceVersion` of undefined: the resource itself is gone. */
  replace(objects: Iterable<T>, resourceVersion: string | undefined): void;
  /** @returns whether it changed anything. */
  apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): boolean;
  advance(resourceVersion: string): void;
}
