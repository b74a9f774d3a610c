/**
 * Sweep: removes what clusters left behind whose supervisor and janitor were both killed, or whose machine went down.
 *
 * Their processes, mounts and networks have ended with them; folders and control groups remain.
 */
import { readdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stopSocket } from './messages.ts';
import { directoryPrefix, isUp } from './supervision.ts';

/** A folder of this age, in milliseconds, whose supervisor has no socket yet will never have one. */
const startLimit = 60_000;

/** @param parents where clusters' folders are */
export async function sweep(
  parents: readonly string[] = [...new Set([tmpdir(), '/tmp'])],
): Promise<string[]> {
  const abandoned: string[] = [];
  for (const directory of parents.flatMap(clusterDirectories)) {
    if (await isAbandoned(directory)) {
      removeCgroups(directory);
      rmSync(directory, { recursive: true, force: true });
      abandoned.push(directory);
    }
  }
  return abandoned;
}

/** Ours only: the folder of another user is that user's affair. */
function clusterDirectories(parent: string): string[] {
  const pattern = new RegExp(`^${directoryPrefix}[A-Za-z0-9]{6}$`);
  return list(parent)
    .filter((name) => pattern.test(name))
    .map((name) => join(parent, name))
    .filter((directory) => stat(directory)?.uid === process.getuid?.());
}

async function isAbandoned(directory: string): Promise<boolean> {
  if (await isUp(directory)) {
    return false;
  }
  const since = stat(directory)?.mtimeMs ?? Date.now();
  return stat(join(directory, stopSocket)) !== undefined || Date.now() - since > startLimit;
}

function removeCgroups(directory: string, root = '/sys/fs/cgroup'): void {
  const name = directory.slice(directory.lastIndexOf('/') + 1);
  for (const group of [join(root, name), ...list(root).map((hierarchy) => join(root, hierarchy, name))]) {
    removeGroup(group);
  }
}

/** A control group goes with rmdir, from the leaves; the files in it are no obstacle. */
function removeGroup(group: string): void {
  for (const name of list(group)) {
    if (stat(join(group, name))?.isDirectory() === true) {
      removeGroup(join(group, name));
    }
  }
  try {
    rmdirSync(group);
  } catch {
    // Not there, or a process is still in it: the next sweep tries again.
  }
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function stat(path: string) {
  return statSync(path, { throwIfNoEntry: false });
}
