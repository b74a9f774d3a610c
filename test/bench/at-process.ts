/** Operator process: the bundle as a child, and what the kernel says of its CPU time and memory. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawnOperator } from '../../hack/operator-process.ts';
import { asInTheImage } from './image.ts';
import { cpuOf, memoryOf } from './process-usage.ts';

/** Sending Events at their own slow rate counts as quiet. */
const quiet = { window: 500, most: 80 };

export class MeasuredOperator {
  /** Epoch milliseconds of the start of the process. */
  readonly startedAt = Date.now();
  /** Resolves when it says that it is ready, with the milliseconds since its start. */
  readonly ready: Promise<number>;
  readonly #process: ChildProcessWithoutNullStreams;

  constructor(kubeconfig: string) {
    this.#process = spawnOperator(kubeconfig, asInTheImage);
    this.#process.stderr.pipe(process.stderr);
    this.ready = this.#waitUntilReady();
    this.ready.catch(() => {});
  }

  async #waitUntilReady(): Promise<number> {
    const lines = createInterface({ input: this.#process.stdout });
    return new Promise((resolve, reject) => {
      lines.on('line', (line) => {
        if (line.includes('"msg":"ready"')) resolve(Date.now() - this.startedAt);
      });
      this.#process.once('exit', (code) => reject(new Error(`the operator ended with ${code}`)));
    });
  }

  /** CPU time so far, milliseconds. */
  cpu(): Promise<number> {
    return cpuOf(this.#process.pid);
  }

  /** Writes down the CPU time every few milliseconds until `end`; tells what it was at an instant. */
  recordCpu(end: AbortSignal): (instant: number) => number {
    const records: { readonly at: number; readonly cpu: number }[] = [];
    const record = async () => {
      while (!end.aborted) {
        records.push({ at: Date.now(), cpu: await this.cpu() });
        await sleep(50);
      }
    };
    void record();
    return (instant) => records.findLast(({ at }) => at <= instant)?.cpu ?? Number.NaN;
  }

  /** Memory in megabytes: now, and the most there ever was. */
  memory(): ReturnType<typeof memoryOf> {
    return memoryOf(this.#process.pid);
  }

  /** Resolves once it has had next to nothing to do for a while, with the instant at which that began. */
  async untilQuiet(): Promise<number> {
    for (;;) {
      const [before, since] = [await this.cpu(), Date.now()];
      await sleep(quiet.window);
      if ((await this.cpu()) - before < quiet.most) return since;
    }
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGTERM');
    const killer = setTimeout(() => this.#process.kill('SIGKILL'), 20_000);
    await ended;
    clearTimeout(killer);
  }
}
