/** Settle: what it means for a pass that a write met something newer than it was decided on, or a read found nothing. */
import { isConflict, isNotFound } from '../../runtime/client/api-error.ts';
import type { Result } from '../../runtime/controller/reconciler.ts';
import type { Observed } from '../decide/decision.ts';

/** After a write met something newer than the cache: its watch event comes by itself, this is the net. */
export const conflictDelay = 1000;

/** What comes after an action: nothing, another decision from what is known now, or the end of the pass. */
export type Performed =
  | { readonly next: 'goOn' }
  | { readonly next: 'decide'; readonly observed: Observed }
  | { readonly next: 'end'; readonly result: Result };

export const goOn: Performed = { next: 'goOn' };

/** A write that comes too late ends the pass: what has overtaken it is in the cache soon, and decided upon then. */
export async function settled(
  write: Promise<unknown>,
  isOvertaken: (error: unknown) => boolean = () => false,
): Promise<Performed> {
  try {
    await write;
    return goOn;
  } catch (error) {
    if (isConflict(error) || isNotFound(error) || isOvertaken(error)) {
      return { next: 'end', result: { requeueAfter: conflictDelay } };
    }
    throw error;
  }
}

/** Undefined for what is not there. */
export async function found<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isNotFound(error)) {
      return undefined;
    }
    throw error;
  }
}
