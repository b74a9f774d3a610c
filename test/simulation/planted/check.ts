/**
 * Plants the bugs one by one, and prints after how many CPU-seconds each is found. `BUG=name,name` checks those alone,
 * `SECONDS=…` gives up later or sooner than after ten CPU-minutes, `JOBS=…` looks for so many at a time.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import type { RunReport } from '../figures.ts';
import { workerFlags } from '../main.ts';
import { seedsOf } from '../plan/draw-plan.ts';
import { plantedBugs } from './bugs.ts';
import type { PlantedBug } from './planted-bug.ts';

const { BUG = '', SECONDS = '600', JOBS = String(availableParallelism()) } = process.env;
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

/** Whether the unchanged code keeps every promise, by seed: all bugs are looked for with the same seeds. */
class Clean {
  readonly #known = new Map<string, Promise<boolean>>();
  #worker: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();

  keeps(seed: string): Promise<boolean> {
    let answer = this.#known.get(seed);
    if (answer === undefined) {
      answer = this.#last.then(() => this.#run(seed));
      this.#last = answer;
      this.#known.set(seed, answer);
    }
    return answer;
  }

  async #run(seed: string): Promise<boolean> {
    this.#worker ??= new Worker('');
    const report = await this.#worker.run(seed);
    return report !== undefined && report.news === undefined;
  }

  end(): void {
    this.#worker?.end();
  }
}

const clean = new Clean();

/** Finds the bug: a seed that breaks a promise with it and none without. */
async function find({ name }: PlantedBug): Promise<string> {
  const planted = new Worker(name);
  try {
    let cpu = 0;
    let count = 0;
    for (const seed of seedsOf('check')) {
      if (cpu >= Number(SECONDS) * 1000) break;
      count += 1;
      const report = await planted.run(seed);
      cpu += report?.cpu ?? 0;
      const news = report === undefined ? { promise: 'the process', clue: 'ended', text: '' } : report.news;
      const isFound = news !== undefined && (await clean.keeps(seed));
      if (isFound)
        return `found after ${(cpu / 1000).toFixed(1)} CPU-seconds, ${count} seeds: ${news.promise} ${news.clue}`;
    }
    return `NOT FOUND in ${SECONDS} CPU-seconds`;
  } finally {
    planted.end();
  }
}

const bugs = plantedBugs.filter(({ name }) => BUG === '' || BUG.split(',').includes(name))[Symbol.iterator]();
let missed = 0;
const lane = async () => {
  for (const bug of bugs) {
    const outcome = await find(bug);
    if (outcome.startsWith('NOT')) missed += 1;
    console.log(`${bug.name.padEnd(30)} ${outcome}`);
  }
};
await Promise.all(Array.from({ length: Number(JOBS) }, lane));
clean.end();
if (missed > 0) process.exitCode = 1;
