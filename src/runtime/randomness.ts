/**
 * Randomness: the only source of chance in this runtime, so that a simulation can own it and repeat a run.
 */
import { randomBytes, randomUUID } from 'node:crypto';

/** Chance as a controller gets it from its host. */
export interface Randomness {
  /** Uniform in [0, 1). For jitter, never for secrets. */
  random(): number;
  /** A new UUID, in lower case. */
  uuid(): string;
  /** So many unpredictable bytes, for keys. */
  bytes(size: number): Buffer;
}

/** The randomness of the machine. */
export const systemRandomness: Randomness = {
  random: () => Math.random(),
  uuid: () => randomUUID(),
  bytes: (size) => randomBytes(size),
};
