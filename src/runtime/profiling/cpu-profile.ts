/** CPU profile: where this process spends its time, sampled by V8, as a .cpuprofile file has it. */
import { type Clock, sleep } from '../clock.ts';

/** An HTTP server cuts a connection that is silent for 30 s. */
export const longestCpuSeconds = 25;
export const defaultCpuSeconds = 10;

/** Microseconds between two samples: 25 s of them are a few MB. */
const samplingInterval = 1000;

/** @param seconds to look for. */
export async function cpuProfile(clock: Clock, seconds: number): Promise<string> {
  // Loaded when it is asked for: few processes ever are.
  const { Session } = await import('node:inspector/promises');
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: samplingInterval });
    await session.post('Profiler.start');
    await sleep(clock, seconds * 1000);
    const { profile } = await session.post('Profiler.stop');
    return JSON.stringify(profile);
  } finally {
    session.disconnect();
  }
}
