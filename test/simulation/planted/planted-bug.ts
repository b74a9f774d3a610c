/** A planted bug: a mistake that operators make, as a replacement in the source. */

export interface Replacement {
  /** Below the root of the project. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

export interface PlantedBug extends Replacement {
  readonly name: string;
  /** In the words of who would have made it. */
  readonly sentence: string;
  /** A second place that guards against the same mistake. */
  readonly also?: Replacement;
  /** The promise that it breaks; another one may notice it first. */
  readonly promise: string;
}
