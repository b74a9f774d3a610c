/**
 * Make once: a folder of the cache that takes long to make. It appears under its name only when it is complete
 * (made aside, then renamed), so one whose making was interrupted leaves nothing that a later start could take
 * for a good one; and only one process at a time makes it.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type LockOptions, lock } from './lock.ts';

/** Has `make` fill a folder that then becomes `directory`, unless that is there already. */
export async function makeOnce(
  directory: string,
  make: (aside: string) => Promise<void>,
  options: LockOptions = {},
): Promise<void> {
  if (existsSync(directory)) return;
  mkdirSync(dirname(directory), { recursive: true });
  const release = await lock(`${directory}.lock`, options);
  try {
    if (!existsSync(directory)) await makeAside(directory, make);
  } finally {
    release();
  }
}

async function makeAside(directory: string, make: (aside: string) => Promise<void>): Promise<void> {
  const prefix = `${directory}.building-`;
  removeAbandoned(prefix);
  const aside = mkdtempSync(prefix);
  try {
    await make(aside);
    // Other users of the machine may use the cache.
    chmodSync(aside, 0o755);
    renameSync(aside, directory);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

/** Only the process that holds the lock is at work, so these are of processes that were killed. */
function removeAbandoned(prefix: string): void {
  for (const name of readdirSync(dirname(prefix))) {
    if (name.startsWith(basename(prefix))) {
      rmSync(join(dirname(prefix), name), { recursive: true, force: true });
    }
  }
}
