/**
 * Lock: a file that exists while one process does what two must not do at once.
 *
 * The file holds the owner's process id, so that the lock of a process that was killed is taken over.
 */
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

export interface LockOptions {
  /** Called once when the lock is held by someone else. */
  onWait?: (pid: number) => void;
  signal?: AbortSignal | undefined;
}

/** Waits for the lock without a limit of its own: the owner's work has one. Returns what releases it. */
export async function lock(path: string, options: LockOptions = {}): Promise<() => void> {
  let told = false;
  while (!take(path)) {
    const owner = ownerOf(path);
    if (owner === undefined) {
      continue;
    }
    if (!isAlive(owner)) {
      breakLock(path, owner);
      continue;
    }
    if (!told) {
      options.onWait?.(owner);
      told = true;
    }
    await delay(300, undefined, { signal: options.signal });
  }
  return () => rmSync(path, { force: true });
}

/** The content must be there at once, so the file is written aside and linked: link fails if the name exists. */
function take(path: string): boolean {
  const aside = `${path}.${process.pid}`;
  writeFileSync(aside, `${process.pid}\n`);
  try {
    linkSync(aside, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      return false;
    }
    throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

function ownerOf(path: string): number | undefined {
  try {
    return Number(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Two waiters may find the same dead owner; the second must not remove the lock that the first has just taken.
 * Between the check and the removal some microseconds remain, so what a lock guards must survive a doubled run.
 */
function breakLock(path: string, owner: number): void {
  if (ownerOf(path) === owner) {
    rmSync(path, { force: true });
  }
}

/** Whether a process with this id runs, of any user. One that has ended but is not buried yet does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return !isZombie(pid);
}

/** On Linux: the state follows the command's name, which is in parentheses. */
function isZombie(pid: number): boolean {
  try {
    return /^.*\) Z /s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
