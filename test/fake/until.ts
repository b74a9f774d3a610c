/**
 * Waiting, in tests over real sockets, for something that other turns of the event loop bring about.
 */
import { setTimeout as delay } from 'node:timers/promises';

/** Resolves as soon as the condition holds, and rejects when it does not within 5 s. */
export async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 5000;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not within 5 s: ${condition}`);
    await delay(5);
  }
}
