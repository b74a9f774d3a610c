/** Operator process: the bundle as a child, and what the kernel says of its CPU time and memory. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type SpawnOptions, spawnAsInTheImage } from '../../hack/operator-process.ts';
import { asInTheImage } from './image.ts';
import { cpuOf, memoryOf } from './process-usage.ts';

/** Sending Events at their own slow rate counts as quiet. */
const quiet = { window: 500, most: 80 };

export class MeasuredOperator {
  /** Epoch milliseconds of the start of the process. */
  readonly startedAt = Date.now();
  /** Resolves when it says that it is ready, with the milliseconds since its start. */
  readonly ready: Promise<number>;
  /** Resolves when it says that it leads. */
  readonly leads: Promise<number>;
  readonly #process: ChildProcessWithoutNullStreams;

  /** @param options of the process, besides those of the image. */
  constructor(kubeconfig: string, options: Pick<SpawnOptions, 'flags' | 'env'> = {}) {
    const env = { ...asInTheImage.env, ...options.env };
    this.#process = spawnAsInTheImage(kubeconfig, { ...asInTheImage, ...options, env });
    this.#process.stderr.pipe(process.stderr);
    const lines = createInterface({ input: this.#process.stdout });
    this.ready = this.#waitUntil(lines, 'ready');
    this.leads = this.#waitUntil(lines, 'leading');
    for (const message of [this.ready, this.leads]) message.catch(() => {});
  }

  async #waitUntil(lines: Interface, message: string): Promise<number> {
    return new Promise((resolve, reject) => {
      lines.on('line', (line) => {
        if (line.includes(`"msg":"${message}"`)) resolve(Date.now() - this.startedAt);
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

  send(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
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
