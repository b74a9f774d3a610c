/** Conflict: what to do when another client wrote, created or deleted the Lease between its reading and a write. */
import { isAlreadyExists, isConflict, isNotFound } from '../client/api-error.ts';

/** How often one write is tried. */
const maxRounds = 3;

/** Runs a conditional write again while another client was faster. */
export async function againOnConflict(attempt: () => Promise<void>): Promise<void> {
  for (let round = 1; ; round++) {
    try {
      await attempt();
      return;
    } catch (error) {
      const raced = isConflict(error) || isAlreadyExists(error) || isNotFound(error);
      if (!raced || round >= maxRounds) throw error;
    }
  }
}
