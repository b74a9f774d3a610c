/** Programs: promtool and the others as a test calls them, and why it cannot where they cannot be made. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { buildChecks, NoProgramsError } from '../../hack/checks/programs.ts';

export interface Answer {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end, for at most four minutes: checkov on a busy machine takes one. */
export async function run(
  program: string,
  args: readonly string[],
  { input = '', env = {} }: { readonly input?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<Answer> {
  const child = spawn(program, args, {
    stdio: 'pipe',
    env: { ...process.env, ...env },
    timeout: 240_000,
    killSignal: 'SIGKILL',
  });
  // A program that ends before it has read everything has said why.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [code, stdout, stderr] = await Promise.all([closed, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}

/** What cannot be made here: a reason to skip, but not in continuous integration, which must check everything. */
export async function unlessMissing<T>(make: () => Promise<T>): Promise<T | { readonly skip: string }> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof NoProgramsError && process.env.CI !== 'true') return { skip: error.message };
    throw error;
  }
}

/** Runs `checks`, `promtool`, `bundle` or `kube-score`. */
export type GoProgram = (name: string, args: readonly string[], input?: string) => Promise<Answer>;

export async function goProgram(): Promise<GoProgram> {
  const directories = await buildChecks();
  return (name, args, input = '') => {
    const path = directories.map((directory) => join(directory, name)).find(existsSync);
    return run(path ?? name, args, { input });
  };
}
