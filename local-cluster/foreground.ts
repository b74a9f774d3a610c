/**
 * Foreground: a command that has our terminal, and the signals that ask us to end.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { ClusterError } from './cluster-error.ts';
import { endingWithParent } from './death-with-parent.ts';

/** How long a command may take to end after it was told to, in milliseconds. */
const patience = 20_000;

/** The command shares our terminal; where possible it is told to end when we are killed. */
export function startCommand(command: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const [program = '', ...args] = endingWithParent('TERM', command) ?? command;
  return spawn(program, args, { env, stdio: 'inherit' });
}

/**
 * The signals that ask us to end. The first one ends a start that is under way, or is passed on to the command; the
 * second one kills the command. Either way the cluster is stopped.
 */
export class Interruption {
  readonly #controller = new AbortController();
  readonly signal = this.#controller.signal;
  exitCode = 0;
  #child: ChildProcess | undefined;

  private constructor() {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(name, () => this.#receive(name));
    }
  }

  /** Does the work; a failure after a signal is what the signal asked for. Returns the exit code. */
  static async during(work: (interruption: Interruption) => Promise<number>): Promise<number> {
    const interruption = new Interruption();
    try {
      return await work(interruption);
    } catch (error) {
      if (interruption.signal.aborted) {
        return interruption.exitCode;
      }
      throw error;
    }
  }

  /** Waits for the end of the command and returns the exit code to end with. */
  attend(child: ChildProcess): Promise<number> {
    this.#child = child;
    return new Promise((resolve, reject) => {
      child.once('error', (cause) =>
        reject(new ClusterError(`cannot run ${child.spawnfile}: ${cause.message}`, { cause })),
      );
      child.once('exit', (code, signal) =>
        resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
      );
    });
  }

  #receive(name: 'SIGINT' | 'SIGTERM' | 'SIGHUP'): void {
    const again = this.signal.aborted;
    this.exitCode = 128 + constants.signals[name];
    this.#controller.abort(new ClusterError(`stopped by ${name}`));
    if (again) {
      this.#child?.kill('SIGKILL');
      return;
    }
    // At a terminal Ctrl-C reaches the command without us; passed on it would count as the second one there.
    if (name !== 'SIGINT' || !hasTerminal()) {
      this.#child?.kill(name);
    }
    setTimeout(() => this.#child?.kill('SIGKILL'), patience).unref();
  }
}

function hasTerminal(): boolean {
  return [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY === true);
}
