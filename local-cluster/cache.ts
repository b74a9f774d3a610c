/**
 * The cache folder: where the Kubernetes programs are kept once they are built, and what `up` remembers.
 *
 * It lies outside the source tree, so that every clone and every checkout shares it.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The folder of the Go module, which is also this folder. */
export const moduleDirectory = import.meta.dirname;

/** `$ATWATCH_CACHE`, else `$XDG_CACHE_HOME/atwatch`, else `~/.cache/atwatch`. */
export function cacheDirectory(env: NodeJS.ProcessEnv = process.env): string {
  return env.ATWATCH_CACHE || join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'atwatch');
}

/** The folder of the programs built from exactly these sources. */
export function programDirectory(
  env: NodeJS.ProcessEnv = process.env,
  directory = moduleDirectory,
  name = 'kube',
): string {
  return join(cacheDirectory(env), `${name}-${sourceHash(directory)}`);
}

/** Changes when a file that the Go build reads changes. */
function sourceHash(directory: string): string {
  const hash = createHash('sha256');
  const sources = readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.go') || file === 'go.mod' || file === 'go.sum')
    .sort();
  for (const file of sources) {
    const content = readFileSync(join(directory, file));
    hash.update(`${file} ${content.length}\n`).update(content);
  }
  return hash.digest('hex').slice(0, 12);
}
