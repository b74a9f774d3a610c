/** Settle: what it means for a pass that a write met something newer than it was decided on, or a read found nothing. */
import { isConflict, isNotFound } from '../../runtime/client/api-error.ts';
import type { Answer } from '../../runtime/controller/decision.ts';

/** Safety-net requeue after a write met something newer than the cache: that arrives through the watch. */
export const conflictDelayMs = 1000;

/** A write that comes too late ends the pass: what has overtaken it is in the cache soon, and decided upon then. */
export async function settled<Facts>(
  write: Promise<unknown>,
  facts: Facts,
  isOvertaken: (error: unknown) => boolean = () => false,
): Promise<Answer<Facts>> {
  try {
    await write;
    return { next: 'goOn', facts };
  } catch (error) {
    if (isConflict(error) || isNotFound(error) || isOvertaken(error)) {
      return { next: 'end', result: { requeueAfter: conflictDelayMs } };
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
