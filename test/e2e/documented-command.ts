/** Commands of docs/operations.md, to be run as they stand there. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { findKubectl } from '../../local-cluster/programs.ts';

/**
 * The block of commands that has this in it.
 *
 * @param installer path of the manifests, in the place of dist/install.yaml.
 */
export async function documentedCommand(part: string, installer: string): Promise<string> {
  const page = await readFile('docs/operations.md', 'utf8');
  const blocks = Array.from(page.matchAll(/^```\w*\n(.*?)^```$/gms), ([, block = '']) => block);
  const command = blocks.find((block) => block.includes(part));
  assert.ok(command, `docs/operations.md has no command with ${part}`);
  return command.replaceAll('dist/install.yaml', installer);
}

/** Runs it in bash, against a cluster. */
export async function runDocumented(command: string, kubeconfig: string): Promise<void> {
  const { path } = await findKubectl();
  const PATH = `${dirname(path)}:${process.env.PATH}`;
  const env = { ...process.env, PATH, KUBECONFIG: kubeconfig };
  await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', command], { env, timeout: 120_000 });
}
