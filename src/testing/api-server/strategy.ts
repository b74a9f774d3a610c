/**
 * Strategy of a resource: what its kind adds to the rules that hold for all objects.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { FieldError } from './failure.ts';

/** An object with the fields that any kind may have. */
export interface AnyObject extends KubernetesObject {
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** A write as a strategy sees it. */
export interface StrategyContext {
  readonly subresource: string;
  /** RFC 3339, whole seconds. */
  readonly now: string;
}

export interface Strategy {
  /** Drops what the kind does not have. @throws Failure 400 for such a field when `isStrict`. */
  decode?(object: AnyObject, isStrict: boolean): AnyObject;
  /** Fills in defaults and takes out what a request must not set. `old` is undefined for a create. */
  prepare?(object: AnyObject, old: AnyObject | undefined, context: StrategyContext): AnyObject;
  /** What is wrong with the object. */
  validate?(object: AnyObject, old: AnyObject | undefined, context: StrategyContext): readonly FieldError[];
  /** Seconds for which a delete lets the object live on; undefined: it knows no graceful deletion. */
  gracePeriod?(object: AnyObject, requested: number | undefined): number | undefined;
  /** What a delete changes in an object that it does not remove at once. */
  terminating?(object: AnyObject): AnyObject;
  /** Whether something but a finalizer of metadata holds an object that is being deleted. */
  isHeld?(object: AnyObject): boolean;
}
