/** Process usage: what the kernel says of a process's CPU time and memory. */
import { readFile } from 'node:fs/promises';

/** Linux counts CPU time in hundredths of a second. */
const tick = 10;

/** CPU time so far, milliseconds. */
export async function cpuOf(pid: number | undefined): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name before it, in parentheses, may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tick;
}

/** Memory in megabytes: now, and the most there ever was. */
export async function memoryOf(
  pid: number | undefined,
): Promise<{ readonly now: number; readonly peak: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const megabytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
  return { now: megabytes('VmRSS'), peak: megabytes('VmHWM') };
}

/** Memory in megabytes: all of it, and with what it shares with other processes in equal parts. */
export async function residentOf(
  pid: number | undefined,
): Promise<{ readonly rss: number; readonly pss: number }> {
  const sums = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const megabytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(sums)?.[1]) / 1024;
  return { rss: megabytes('Rss'), pss: megabytes('Pss') };
}
