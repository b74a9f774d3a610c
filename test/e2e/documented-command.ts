/** Commands about the operator itself, to be run as they stand in the documents. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { findKubectl } from '../../local-cluster/programs.ts';
import { type Block, blocksOf, readDocument } from '../fixtures/document.ts';

/** Where they stand. */
const pages = ['docs/operations.md', 'docs/runbooks.md', 'charts/atwatch/README.md', 'README.md'];

/** The blocks of these documents, in their order. */
export async function administration(): Promise<readonly Block[]> {
  return (await Promise.all(pages.map(readDocument))).flatMap(blocksOf);
}

/**
 * The first block of commands that has this in it.
 *
 * @param installer path of the manifests, in the place of dist/install.yaml.
 */
export async function documentedCommand(part: string, installer: string): Promise<string> {
  const block = (await administration()).find(({ text }) => text.includes(part));
  assert.ok(block, `no document has a command with ${part}`);
  return block.text.replaceAll('dist/install.yaml', installer);
}

/**
 * Runs it in bash, against a cluster.
 *
 * @param env more of its environment.
 * @returns what it printed.
 */
export async function runDocumented(
  command: string,
  kubeconfig: string,
  { PATH = process.env.PATH, ...env }: NodeJS.ProcessEnv = {},
): Promise<string> {
  const { path } = await findKubectl();
  // Not the flags of the make that runs these tests.
  const { MAKEFLAGS: _, NODE_TEST_CONTEXT: __, ...own } = process.env;
  const options = {
    env: { ...own, ...env, PATH: `${dirname(path)}:${PATH}`, KUBECONFIG: kubeconfig },
    timeout: 180_000,
    maxBuffer: 16 << 20,
  };
  return (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', command], options)).stdout;
}
