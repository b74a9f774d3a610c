/**
 * Plants the bugs one by one, and prints after how many CPU-seconds each is found. `BUG=name` checks that one alone,
 * `SECONDS=…` gives up later or sooner than after ten CPU-minutes.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import type { RunReport } from '../figures.ts';
import { workerFlags } from '../main.ts';
import { type PlantedBug, plantedBugs } from './bugs.ts';

const { BUG = '', SECONDS = '600' } = process.env;
const main = new URL('../main.ts', import.meta.url).pathname;
const loader = new URL('./loader.ts', import.meta.url).href;

class Worker {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(bug: string) {
    this.#child = spawn(process.execPath, [...workerFlags, '--import', loader, main, '--worker'], {
      env: { ...process.env, PLANTED_BUG: bug },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream });
    this.#lines = lines[Symbol.asyncIterator]();
  }

  /** Undefined: the process did not survive it. */
  async run(seed: string): Promise<RunReport | undefined> {
    this.#child.stdin?.write(`${seed}\n`);
    const { value, done } = await this.#lines.next();
    return done ? undefined : JSON.parse(value);
  }

  end(): void {
    this.#child.kill();
  }
}

/** Finds the bug: a seed that breaks a promise with it and none without. */
async function find({ name }: PlantedBug): Promise<string> {
  const planted = new Worker(name);
  const clean = new Worker('');
  try {
    let cpu = 0;
    for (let index = 0; cpu < Number(SECONDS) * 1000; index += 1) {
      const seed = `check-${index}`;
      const report = await planted.run(seed);
      cpu += report?.cpu ?? 0;
      const news = report === undefined ? { promise: 'the process', clue: 'ended', text: '' } : report.news;
      const isFound = news !== undefined && (await clean.run(seed))?.news === undefined;
      if (isFound)
        return `found after ${(cpu / 1000).toFixed(1)} CPU-seconds, ${index + 1} seeds: ${news.promise} ${news.clue}`;
    }
    return `NOT FOUND in ${SECONDS} CPU-seconds`;
  } finally {
    planted.end();
    clean.end();
  }
}

const bugs = plantedBugs.filter(({ name }) => BUG === '' || name === BUG)[Symbol.iterator]();
let missed = 0;
const lane = async () => {
  for (const bug of bugs) {
    const outcome = await find(bug);
    if (outcome.startsWith('NOT')) missed += 1;
    console.log(`${bug.name.padEnd(30)} ${outcome}`);
  }
};
await Promise.all(Array.from({ length: availableParallelism() }, lane));
if (missed > 0) process.exitCode = 1;
