/** Death with the parent: the kernel ends a program when the process that started it has ended (Linux). */
import { spawnSync } from 'node:child_process';

/** The same command, which gets that signal then; undefined where the program setpriv cannot arrange that. */
export function endingWithParent(
  signal: 'TERM' | 'KILL',
  command: readonly string[],
): readonly string[] | undefined {
  const guard = ['--pdeathsig', signal];
  const isThere = spawnSync('setpriv', [...guard, 'true']).status === 0;
  return isThere ? ['setpriv', ...guard, '--', ...command] : undefined;
}
