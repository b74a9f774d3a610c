/** Timed: a request that a launch or a release may wait for. Memory keeps when its answer was slow. */
import type { Observed } from '../facts/observed.ts';
import { isGated } from '../facts/own-pod.ts';
import { isDue } from '../plan/due.ts';
import type { AtParts } from './at-parts.ts';
import { failedForMs } from './create-answer.ts';

/** A busy API server has answered by then, in milliseconds, and a request that was not repeated has its answer. */
const slowAnswerMs = 1000;

/** @throws what the request does. */
export async function timed<T>(
  { clock, memory }: Pick<AtParts, 'clock' | 'memory'>,
  { at, pod }: Pick<Observed, 'at' | 'pod'>,
  request: () => Promise<T>,
): Promise<T> {
  const sentAt = clock.monotonic();
  try {
    return await request();
  } finally {
    const tookMs = failedForMs(clock, sentAt);
    if (tookMs >= slowAnswerMs) {
      const to = clock.now();
      if (isDue(at, to) || isGated(pod)) memory.answeredSlowly(at, { from: to - tookMs, to });
    }
  }
}
