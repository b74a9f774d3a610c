/**
 * CronTabProcess: the example operator as a child process on one namespace; and what it is judged by, the
 * Ats of that namespace.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { TestContext } from 'node:test';
import type { At } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { eventually } from './support.ts';

/** The example in this repository, on the runtime's sources. */
const fromSources = ['--import', './test/fixtures/atwatch-runtime.ts', 'examples/crontab/main.ts'];

export interface CronTabProcessOptions {
  /** Watched; also that of the Lease. */
  readonly namespace: string;
  /** Where the example is installed as a package. Default: it is run from this repository. */
  readonly folder?: string;
}

export class CronTabProcess {
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly #child: ChildProcess;
  #output = '';

  /** Killed at the end of the test at the latest. */
  constructor(t: Pick<TestContext, 'after'>, { namespace, folder }: CronTabProcessOptions) {
    const child = spawn(process.execPath, folder === undefined ? fromSources : ['main.ts'], {
      ...(folder !== undefined && { cwd: folder }),
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, WATCH_NAMESPACE: namespace, POD_NAMESPACE: namespace },
    });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data) => {
        this.#output += data;
      });
    }
    this.ended = new Promise((resolve) => {
      child.on('close', (code, signal) => resolve({ code, signal }));
    });
    t.after(() => {
      child.kill('SIGKILL');
      return this.ended;
    });
  }

  /** What it wrote. */
  get output(): string {
    return this.#output;
  }

  send(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Resolves once it writes that. */
  async wrote(text: string, timeout = 30_000): Promise<void> {
    const probe = () => {
      if (!this.#output.includes(text)) throw new Error(this.#output.slice(-2000));
      return true;
    };
    await eventually(probe, { timeout, message: `the operator writes ${JSON.stringify(text)}` });
  }
}

/** The Ats there are, the earliest schedule first. */
export async function listAts(client: Client, namespace: string): Promise<At[]> {
  const { items } = await client.list(ats, { namespace });
  return items.sort((one, other) => one.spec.schedule.localeCompare(other.spec.schedule));
}

/** The schedules of these Ats, epoch seconds. */
export function firingsOf(all: readonly At[]): number[] {
  return all.map(({ spec }) => Date.parse(spec.schedule) / 1000);
}

/** Each second from the first to the last. */
export function everySecondOf(firings: readonly number[]): number[] {
  const [first = 0] = firings;
  const last = firings.at(-1) ?? first;
  return Array.from({ length: last - first + 1 }, (_, second) => first + second);
}
