/** At facts: what the leader and a standby know of an At alike when a pass begins. */
import type { At } from '../../api/at.generated.ts';
import type { Observed } from '../facts/observed.ts';
import { podsAt } from '../facts/own-pod.ts';
import type { AtParts } from './at-parts.ts';

/** First wait before a create that was refused is tried again. */
const firstRetryDelayMs = 250;

/** From the caches and from memory. */
export function factsOf(
  at: At,
  {
    clock,
    pods,
    departed,
    isBlind,
    tracks,
    defaults,
    memory,
  }: Pick<AtParts, 'clock' | 'pods' | 'departed' | 'isBlind' | 'tracks' | 'defaults' | 'memory'>,
): Observed {
  const { namespace = '' } = at.metadata;
  return {
    at,
    ...podsAt(at, (name) => pods.get(namespace, name)),
    departed: departed.of(at),
    now: clock.now(),
    live: false,
    tracks,
    ...(isBlind?.() === true && { blind: true }),
    ...(defaults && { defaults }),
    retryDelay: firstRetryDelayMs,
    ...memory.recall(at),
  };
}
