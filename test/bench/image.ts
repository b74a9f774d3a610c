/** Image: the flags of Node.js and the settings of the allocator in a Dockerfile, so that they are measured. */
import { readFile } from 'node:fs/promises';
import type { SpawnOptions } from '../../hack/operator-process.ts';

/** The flags between Node.js and the program, and what tunes the allocator. */
export function settingsOf(dockerfile: string) {
  const program: readonly string[] = JSON.parse(/^(?:ENTRYPOINT|CMD) (.+)$/m.exec(dockerfile)?.[1] ?? '[]');
  const settings = [...dockerfile.matchAll(/(MALLOC_\w+)=(\d+)/g)].map(([, name, value]) => [name, value]);
  return { nodeFlags: program.slice(1, -1), env: Object.fromEntries(settings) } satisfies SpawnOptions;
}

/** Of this project's own image. */
export const asInTheImage = settingsOf(await readFile('Dockerfile', 'utf8'));
