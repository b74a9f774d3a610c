/**
 * TickerProcess: a ticker operator as a child process, and Ticks: every write of the operators that share a
 * ConfigMap, in the order in which the API server accepted them.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { type ConfigMap, configMaps } from '../../src/kubernetes/objects.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { outputOf, type TickerOptions } from '../fixtures/ticker-operator.ts';
import { eventually } from './support.ts';

const program = new URL('../fixtures/ticker-operator.ts', import.meta.url).pathname;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What it wrote to standard error. */
  readonly sentence: string;
  /** When it was gone, by performance.now(). */
  readonly at: number;
}

export class TickerProcess {
  readonly identity: string;
  readonly ended: Promise<Exit>;
  readonly log: { readonly msg: string; readonly address?: string }[] = [];
  readonly #child: ChildProcess;
  #sentence = '';

  /** Killed at the end of the test at the latest. */
  constructor(t: Pick<TestContext, 'after'>, options: TickerOptions, kubeconfig = process.env.KUBECONFIG) {
    this.identity = options.identity;
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', program, JSON.stringify(options)],
      {
        stdio: ['pipe', 'pipe', 'pipe'],
        env: { ...process.env, KUBECONFIG: kubeconfig },
      },
    );
    this.#child = child;
    child.stderr.on('data', (data) => {
      this.#sentence += data;
    });
    createInterface({ input: child.stdout }).on('line', (line) => this.log.push(JSON.parse(line)));
    this.ended = new Promise((resolve) => {
      child.on('close', (code, signal) =>
        resolve({ code, signal, sentence: this.#sentence.trim(), at: performance.now() }),
      );
    });
    t.after(() => {
      child.kill('SIGKILL');
      return this.ended;
    });
  }

  send(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Resolves once it has logged that message, with the line. */
  logged(message: string, timeout = 30_000) {
    return eventually(() => this.log.find(({ msg }) => msg === message), {
      timeout,
      message: `${this.identity} logs "${message}"; its last words: ${this.#sentence}`,
    });
  }

  /** The text of `/metrics`, or of a path of the health server. */
  async get(path: string): Promise<string> {
    const message = path === '/metrics' ? 'serving metrics' : 'serving health checks';
    const { address } = await this.logged(message);
    return (await fetch(`http://${address}${path}`)).text();
  }
}

export interface Tick {
  readonly writer: string;
  /** When it was seen, by performance.now(). */
  readonly at: number;
}

export class Ticks {
  readonly all: Tick[] = [];

  /** Creates the two ConfigMaps and follows the one that is written to, without missing a version. */
  static async follow(
    t: Pick<TestContext, 'after'>,
    client: Client,
    namespace: string,
    name: string,
  ): Promise<Ticks> {
    const output = await client.create(configMaps, { metadata: { namespace, name: outputOf(name) } });
    await client.create(configMaps, { metadata: { namespace, name } });
    const ticks = new Ticks();
    const stop = new AbortController();
    t.after(() => stop.abort());
    const watch = await client.watch<ConfigMap>(configMaps, {
      ...{ namespace, signal: stop.signal, timeoutSeconds: 600 },
      fieldSelector: `metadata.name=${outputOf(name)}`,
      resourceVersion: output.metadata.resourceVersion ?? '',
    });
    void (async () => {
      for await (const event of watch) {
        if (event.type !== 'MODIFIED') continue;
        ticks.all.push({ writer: event.object.data?.writer ?? '', at: performance.now() });
      }
    })().catch(() => {});
    return ticks;
  }

  /** The writers in the order in which they came, each named once per turn. */
  get turns(): string[] {
    return this.all.map(({ writer }) => writer).filter((writer, index, all) => writer !== all[index - 1]);
  }

  /** Resolves with the next tick of a process that comes after now and passes. */
  async next(passes: (writer: string) => boolean, timeout: number, message: string): Promise<Tick> {
    const from = this.all.length;
    return await eventually(() => this.all.slice(from).find(({ writer }) => passes(writer)), {
      ...{ timeout, message, interval: 20 },
    });
  }
}

/**
 * Starts tickers that compete for one Lease, the first one first, so that it leads. Their user agents are
 * `<identity>-<name>`.
 */
export async function compete(
  t: Pick<TestContext, 'after'>,
  client: Client,
  lease: { readonly namespace: string; readonly name: string },
  identities: readonly string[],
  kubeconfig = process.env.KUBECONFIG,
): Promise<{ readonly ticks: Ticks; readonly processes: readonly TickerProcess[] }> {
  const { namespace, name } = lease;
  const ticks = await Ticks.follow(t, client, namespace, name);
  const processes: TickerProcess[] = [];
  for (const identity of identities) {
    const ticker = new TickerProcess(t, { identity: `${identity}-${name}`, namespace, name }, kubeconfig);
    processes.push(ticker);
    if (processes.length === 1) await ticks.next(() => true, 30_000, `${identity} leads and writes`);
    else await ticker.logged('another process leads');
  }
  return { ticks, processes };
}
