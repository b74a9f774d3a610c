/**
 * Decision: what one look at an object leads to, for a reconciler that decides and acts apart ({@link
 * DecidingReconciler}). It is plain data. A process may stop after any effect, because the next decision starts again
 * from what is there by then.
 */
import type { Result } from './reconciler.ts';

/** Either the fact that is missing, or what to do. */
export type Decision<Need, Effect> = Question<Need> | EffectList<Effect>;

/** A decision that needs one more fact: it is read, and the decision is made again with it. */
export interface Question<Need> {
  readonly need: Need;
}

/** A decision: what to do, and when to look again after it. */
export interface EffectList<Effect> extends Result {
  /** Performed one after the other, in this order. The status write is one of them, and so are Events. */
  readonly effects: readonly Effect[];
}

/** What an effect, or the reading of a fact, has come to. */
export type Answer<Facts> =
  /** As expected: the next effect follows. */
  | {
      readonly next: 'goOn';
      readonly facts: Facts;
      /** Milliseconds after which to look again, where that is sooner than the decision asks. */
      readonly requeueAfter?: number;
    }
  /** A new fact: the rest of the list is dropped, and the decision is made again. */
  | { readonly next: 'decide'; readonly facts: Facts }
  /** Nothing more can be done now. */
  | { readonly next: 'end'; readonly result: Result };
