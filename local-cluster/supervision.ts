/**
 * Supervision: the near end of a cluster's supervisor. Starts programs under it and knows which of them have died.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { ClusterError } from './cluster-error.ts';
import { type ComponentSpec, type FromSupervisor, stopSocket, type ToSupervisor } from './messages.ts';
import { waitFor } from './wait.ts';

/** Begins the name of every cluster's folder. */
export const directoryPrefix = 'atwatch-cluster-';

const limits = { start: 20_000, stop: 30_000, kill: 10_000 };

export interface SupervisionOptions {
  /** What the supervisor is started with, for example to put it into namespaces; gets the cluster's folder. */
  wrapper?: (directory: string) => readonly string[];
  /** Where the cluster's folder is made; default the system's folder for temporary files. */
  parentDirectory?: string;
  /** Called for a program that ended without being stopped. */
  onDeath?: ((error: ClusterError) => void) | undefined;
  signal?: AbortSignal | undefined;
}

export class Supervision {
  /** The cluster's folder; gone when the cluster has stopped. */
  readonly directory: string;
  readonly #janitor: ChildProcess;
  readonly #running = new Set<string>();
  readonly #dead = new Map<string, string>();
  readonly #onDeath: ((error: ClusterError) => void) | undefined;
  #ready = false;
  #detached = false;
  #stopping = false;
  #gone = false;

  private constructor({ wrapper, parentDirectory = temporaryDirectory(), onDeath }: SupervisionOptions) {
    this.directory = mkdtempSync(join(parentDirectory, directoryPrefix));
    this.#onDeath = onDeath;
    mkdirSync(join(this.directory, 'logs'));
    const log = openSync(this.log('supervisor'), 'a');
    const supervisor = [
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      // In the runtime's package both are JavaScript.
      script(`supervisor${extname(import.meta.filename)}`),
      this.directory,
    ];
    const command = [...(wrapper?.(this.directory) ?? []), ...supervisor];
    this.#janitor = spawn('sh', [script('janitor.sh'), this.directory, ...command], {
      cwd: '/',
      detached: true,
      env: environment(),
      stdio: ['ignore', log, log, 'ipc'],
    });
    closeSync(log);
    this.#janitor.on('message', (message) => this.#receive(message as FromSupervisor));
    this.#janitor.once('error', () => this.#end());
    this.#janitor.once('exit', () => this.#end());
    // A program that forgets to stop its cluster can end; the closed channel then stops the cluster.
    this.#janitor.unref();
    this.#janitor.channel?.unref();
  }

  /** @throws {ClusterError} when the supervisor does not come up */
  static async start(options: SupervisionOptions = {}): Promise<Supervision> {
    const supervision = new Supervision(options);
    try {
      await supervision.wait('the supervisor', limits.start, async () => supervision.#ready, options.signal);
    } catch (error) {
      await supervision.stop();
      throw error;
    }
    return supervision;
  }

  /** The path of a program's log. */
  log(name: string): string {
    return join(this.directory, 'logs', `${name}.log`);
  }

  /** Starts a program; whether it stays alive is seen by {@link wait} and told to `onDeath`. */
  run(component: ComponentSpec): void {
    this.#dead.delete(component.name);
    this.#running.add(component.name);
    this.#send({ type: 'start', component });
  }

  /** Kills a program as a crash would (SIGKILL) and returns when it is gone. */
  async kill(name: string): Promise<void> {
    this.#running.delete(name);
    this.#send({ type: 'kill', name });
    await this.wait(`the end of ${name}`, limits.kill, async () => this.#dead.has(name));
  }

  /**
   * {@link waitFor}, given up at once when a program of the cluster has died.
   *
   * @throws {ClusterError} with the last lines of the dead program's log
   */
  wait<T>(
    what: string,
    limit: number,
    probe: () => Promise<T>,
    signal?: AbortSignal | undefined,
  ): Promise<NonNullable<T>> {
    return waitFor({ what, limit, signal, interval: 50, check: () => this.#check() }, probe);
  }

  /** Lets the cluster live on when this process ends; a program that dies is then started again. */
  async detach(): Promise<void> {
    this.#send({ type: 'detach' });
    await this.wait('the supervisor to detach', limits.start, async () => this.#detached);
    this.#janitor.disconnect();
  }

  /** Stops every program, waits until they are gone, and the cluster's folder too. Idempotent. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#send({ type: 'stop' });
    await waitFor({ what: 'the cluster to stop', limit: limits.stop, interval: 20 }, async () => this.#gone);
  }

  #check(): void {
    for (const name of this.#running) {
      const reason = this.#dead.get(name);
      if (reason !== undefined) {
        throw this.#death(name, reason);
      }
    }
    if (this.#gone) {
      throw new ClusterError('the supervisor of the cluster has ended');
    }
  }

  #death(name: string, reason: string): ClusterError {
    return new ClusterError(`${name} died (${reason}); its log ends with:\n${lastLines(this.log(name))}`);
  }

  #receive(message: FromSupervisor): void {
    switch (message.type) {
      case 'ready':
        this.#ready = true;
        return;
      case 'detached':
        this.#detached = true;
        return;
      case 'exited':
        this.#dead.set(message.name, message.reason);
        if (this.#running.has(message.name) && !this.#stopping) {
          this.#onDeath?.(this.#death(message.name, message.reason));
        }
        return;
    }
  }

  #end(): void {
    this.#gone = true;
    if (this.#ready && !this.#stopping && !this.#detached) {
      this.#onDeath?.(new ClusterError('the supervisor of the cluster has ended, and the cluster with it'));
    }
  }

  #send(message: ToSupervisor): void {
    if (this.#janitor.connected) {
      this.#janitor.send(message, () => {});
    }
  }
}

/** Whether the supervisor of the cluster in this folder is there. A client that connects and sends nothing is harmless. */
export function isUp(directory: string): Promise<boolean> {
  return say(directory, '');
}

/** Stops a cluster that lives on its own, and waits until its folder is gone. */
export async function stopDetached(directory: string): Promise<void> {
  await say(directory, 'stop\n');
  const gone = async () => !existsSync(directory);
  await waitFor({ what: `${directory} to be removed`, limit: limits.stop, interval: 20 }, gone);
}

function say(directory: string, word: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(join(directory, stopSocket));
    socket.once('connect', () => {
      socket.end(word);
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/**
 * The system's folder for temporary files; /tmp instead if that lies in one of `unsuitable`, or is so long that the
 * sockets in a cluster's folder would have longer names than the kernel takes (about 100 characters).
 */
export function temporaryDirectory(unsuitable: readonly string[] = [], directory = tmpdir()): string {
  const fits =
    directory.length <= 60 && !unsuitable.some((folder) => `${directory}/`.startsWith(`${folder}/`));
  return fits ? directory : '/tmp';
}

/**
 * Ours, without what is meant for this one Node process (its options, its test runner, its channel), and without a
 * proxy: the members of a cluster talk to each other only.
 */
function environment(): NodeJS.ProcessEnv {
  const foreign =
    /^(NODE_OPTIONS|NODE_TEST_CONTEXT|NODE_V8_COVERAGE|NODE_CHANNEL_FD|(http|https|all)_proxy)$/i;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}

function script(name: string): string {
  return join(import.meta.dirname, name);
}

/** The end of a log, as short as a person wants to read it. */
export function lastLines(path: string, count = 12, width = 300): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return '  (no log)';
  }
  const lines = text.trimEnd().split('\n').slice(-count);
  return lines.map((line) => `  ${line.length > width ? `${line.slice(0, width)}…` : line}`).join('\n');
}
