/** OperatorProcess: dist/atwatch.js as a child process that never outlives the one that started it. */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { endingWithParent } from '../local-cluster/death-with-parent.ts';

export interface OperatorProcess {
  readonly process: ChildProcess;
  /** Resolves with exit code and signal once it has ended. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** The end of its log. */
  lastLines(count: number): Promise<string>;
  /** SIGTERM, and SIGKILL if it is still there after 25 s. */
  stop(): Promise<void>;
}

// When the parent dies, however it dies, the pipe that is our standard input ends.
const endWithParent =
  'data:text/javascript,process.stdin.on("end",()=>process.kill(process.pid,"SIGTERM")).resume().unref()';

export interface SpawnOptions {
  /** Of the operator. */
  readonly flags?: readonly string[];
  /** Of Node.js. */
  readonly nodeFlags?: readonly string[];
  /** Added to this process's. */
  readonly env?: NodeJS.ProcessEnv;
}

/** Starts the operator against the cluster of `kubeconfig`, its health server on a free port. */
export function spawnOperator(
  kubeconfig: string,
  { nodeFlags = [], ...options }: SpawnOptions = {},
): ChildProcessWithoutNullStreams {
  const command = [process.execPath, ...nodeFlags, '--import', endWithParent];
  return spawnProgram(kubeconfig, command, options);
}

/**
 * The same with nothing loaded beside the operator, as the image has it: that takes 2 MB less. It ends with its parent on
 * Linux alone.
 */
export function spawnAsInTheImage(
  kubeconfig: string,
  { nodeFlags = [], ...options }: SpawnOptions,
): ChildProcessWithoutNullStreams {
  const command = [process.execPath, ...nodeFlags];
  return spawnProgram(kubeconfig, endingWithParent('KILL', command) ?? command, options);
}

function spawnProgram(
  kubeconfig: string,
  [file = '', ...args]: readonly string[],
  { flags = [], env = {} }: SpawnOptions,
): ChildProcessWithoutNullStreams {
  const servers = ['--health-probe-bind-address=127.0.0.1:0', '--metrics-bind-address=0'];
  return spawn(file, [...args, 'dist/atwatch.js', ...servers, ...flags], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env, KUBECONFIG: kubeconfig },
  });
}

/**
 * Starts the operator against the cluster of `kubeconfig` and resolves once it says it is ready.
 *
 * @param logFile appended to; several starts may share one file.
 * @throws {Error} with its last lines when it ends, or is not ready after 60 s.
 */
export async function startOperator(
  kubeconfig: string,
  logFile: string,
  options?: SpawnOptions,
): Promise<OperatorProcess> {
  const child = spawnOperator(kubeconfig, options);
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
  const log = createWriteStream(logFile, { flags: 'a' });
  const ready = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        log.write(`${line}\n`);
        if (line.includes('"msg":"ready"')) resolve();
      });
    }
  });
  const lastLines = async (count: number) =>
    (await readFile(logFile, 'utf8')).trimEnd().split('\n').slice(-count).join('\n');
  const stop = async () => {
    child.kill('SIGTERM');
    const killer = setTimeout(() => child.kill('SIGKILL'), 25_000);
    await ended;
    clearTimeout(killer);
  };
  const limit = AbortSignal.timeout(60_000);
  const late = new Promise<never>((_, reject) => {
    limit.addEventListener('abort', () => reject(new Error('the operator was not ready after 60 s')));
    void ended.then(({ code, signal }) => reject(new Error(`the operator ended with ${signal ?? code}`)));
  });
  try {
    await Promise.race([ready, late]);
  } catch (error) {
    await stop();
    throw new Error(`${(error as Error).message}; its last lines:\n${await lastLines(10)}`, { cause: error });
  }
  late.catch(() => {});
  return { process: child, ended, lastLines, stop };
}
