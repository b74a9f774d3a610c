/** Settle: what it means for a pass that a write met something newer than it was decided on, or a read found nothing. */
import { isConflict, isProvenNotFound } from '../../runtime/client/api-error.ts';
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
    if (isConflict(error) || isProvenNotFound(error) || isOvertaken(error)) {
      return { next: 'end', result: { requeueAfter: conflictDelayMs } };
    }
    throw error;
  }
}

/** Undefined where the API server proves that there is nothing. A page of a proxy does not. */
export async function found<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isProvenNotFound(error)) {
      return undefined;
    }
    throw error;
  }
}
