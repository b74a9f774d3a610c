/**
 * Measure: CPU time and memory of this process, and the machine they were measured on.
 *
 * Speed is work per CPU second, all threads counted (the garbage collector's, too): what one core would do.
 * Unlike work per second of the wall clock, it hardly depends on what else the machine is doing.
 */
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** How much of something each CPU second did. */
export async function perCpuSecond(amount: number, work: () => unknown): Promise<number> {
  return amount / (await cpuSeconds(work));
}

/** CPU seconds, user and system, that this process spends until `work` is done. */
export async function cpuSeconds(work: () => unknown): Promise<number> {
  await collectGarbage();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/**
 * Measures each variant in turn, several times over, and takes the best of each: what it can do, with the
 * same machine around all of them. The first round warms up and does not count.
 */
export async function bestOfEach<Name extends string>(
  variants: Readonly<Record<Name, () => Promise<number>>>,
  rounds = 3,
): Promise<Record<Name, number>> {
  const names = Object.keys(variants) as Name[];
  const best = Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
  for (let round = 0; round <= rounds; round++) {
    for (const name of names) {
      const result = await variants[name]();
      if (round > 0) best[name] = Math.max(best[name], result);
    }
  }
  return best;
}

const gc = (() => {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
})();

/** Full collections, with a turn of the event loop between them for what is freed in callbacks. */
export async function collectGarbage(): Promise<void> {
  for (let round = 0; round < 2; round++) {
    gc();
    await nextTurn();
  }
}

export interface Memory {
  /** Bytes that JavaScript can reach: heap, and buffers outside of it. */
  readonly heap: number;
  /** Bytes of physical memory. */
  readonly rss: number;
}

/** After a full garbage collection. */
export async function measureMemory(): Promise<Memory> {
  await collectGarbage();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, rss };
}

/** Most physical memory this process ever had, bytes. */
export function peakRss(): number {
  return process.resourceUsage().maxRSS * 1024;
}

/** In one line, for above the tables. */
export function describeMachine(): string {
  const gigabytes = (totalmem() / 1024 ** 3).toFixed(0);
  const cores = availableParallelism();
  return `${cpuName()}, ${cores} cores, ${gigabytes} GB; ${type()} ${release()}; Node.js ${process.version}`;
}

function cpuName(): string {
  const name = cpus()[0]?.model.trim();
  return name === undefined || name === '' ? process.arch : name;
}
