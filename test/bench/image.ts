/** Image: the flags of Node.js and the settings of the allocator in the Dockerfile, so that they are measured. */
import { readFile } from 'node:fs/promises';
import type { SpawnOptions } from '../../hack/operator-process.ts';

const dockerfile = await readFile('Dockerfile', 'utf8');
const entryPoint: readonly string[] = JSON.parse(/^ENTRYPOINT (.+)$/m.exec(dockerfile)?.[1] ?? '[]');

/** The flags between Node.js and the program, and what tunes the allocator. */
export const asInTheImage: SpawnOptions = {
  nodeFlags: entryPoint.slice(1, -1),
  env: Object.fromEntries(
    [...dockerfile.matchAll(/(MALLOC_\w+)=(\d+)/g)].map(([, name, value]) => [name, value]),
  ),
};
