/** The operator that `make demo KEEP=1` leaves behind: a process of its own, which the next demo or `make cluster-down` ends. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from '../../local-cluster/cache.ts';

const folder = cacheDirectory();
const program = 'dist/atwatch.js';
const pidFile = join(folder, 'demo-operator.pid');

/** Where its log goes. */
export const keptLog = join(folder, 'demo-operator.log');

/** Starts it. It outlives this process. */
export function keepOperator(kubeconfig: string): void {
  mkdirSync(folder, { recursive: true });
  const log = openSync(keptLog, 'a');
  const servers = ['--health-probe-bind-address=0', '--metrics-bind-address=0'];
  const child = spawn(process.execPath, [program, ...servers], {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...process.env, KUBECONFIG: kubeconfig },
  });
  if (child.pid === undefined) throw new Error(`the operator could not be started: see ${keptLog}`);
  writeFileSync(pidFile, `${child.pid}\n`);
  child.unref();
}

/** Ends the one of an earlier demo, if it still runs. */
export function endKeptOperator(): void {
  const pid = keptPid();
  // Another process may have the number by now.
  if (pid !== undefined && commandOf(pid).includes(program)) process.kill(pid, 'SIGTERM');
  rmSync(pidFile, { force: true });
}

function keptPid(): number | undefined {
  try {
    return Number(readFileSync(pidFile, 'utf8'));
  } catch {
    return undefined;
  }
}

function commandOf(pid: number): string {
  try {
    return execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' });
  } catch {
    return '';
  }
}
