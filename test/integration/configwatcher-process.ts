/** The whole operator as a child process that can be killed, with everything it says. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { TestContext } from 'node:test';
import type { SpawnOptions } from '../../hack/operator-process.ts';
import { eventually } from './support.ts';

const program = new URL('../../src/main.ts', import.meta.url).pathname;

export class OperatorProcess {
  /** Standard output and error. */
  output = '';
  readonly #child: ChildProcess;
  /** Resolves when it has ended, however. */
  readonly ended: Promise<unknown>;

  /** For one namespace, by a flag unless `env` has WATCH_NAMESPACE. Killed at the end of the test at the latest. */
  constructor(
    t: Pick<TestContext, 'after'>,
    namespace: string,
    args: readonly string[] = [],
    { nodeFlags = [], env = {} }: Pick<SpawnOptions, 'nodeFlags' | 'env'> = {},
  ) {
    const own = ['--metrics-bind-address=127.0.0.1:0', '--health-probe-bind-address=0', '--log-level=debug'];
    const child = spawn(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        ...nodeFlags,
        program,
        ...(env.WATCH_NAMESPACE === undefined ? [`--namespaces=${namespace}`] : []),
        ...own,
        ...args,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, POD_NAMESPACE: namespace, ...env } },
    );
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data) => {
        this.output += data;
      });
    }
    this.ended = new Promise((resolve) => child.on('close', resolve));
    t.after(() => this.kill());
  }

  /** Sends one that does not end it. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal);
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#child.kill(signal);
    await this.ended;
  }

  /** Resolves once it has logged this. */
  logged(text: string): Promise<true> {
    return eventually(() => this.output.includes(text), {
      timeout: 40_000,
      message: `the operator logs ${text}; it said: ${this.output.slice(-2000)}`,
    });
  }

  /** The text of `/metrics`. */
  async metrics(): Promise<string> {
    const message = '"msg":"serving metrics"';
    await this.logged(message);
    const line = this.output.split('\n').find((candidate) => candidate.includes(message)) ?? '{}';
    const { address }: { address: string } = JSON.parse(line);
    return (await fetch(`http://${address}/metrics`)).text();
  }
}
