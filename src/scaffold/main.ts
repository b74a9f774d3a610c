#!/usr/bin/env node
/** The program atwatch-runtime: types for CRDs, and a new operator. */
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { crdsIn } from './crd.ts';
import { newOperator } from './new-operator.ts';
import { printKinds } from './types.ts';

const usage = `usage:
  atwatch-runtime types <crd.yaml>...   print TypeScript types and a Resource constant for each kind
  atwatch-runtime new <folder>          write an operator that runs, with tests, and install its packages
options of new:
  --kind <Kind>       default: after the folder, notes gives Note
  --group <group>     default: example.com
  --no-install        leave npm install to you
`;

async function types(paths: readonly string[]): Promise<void> {
  const crds = [];
  for (const path of paths) crds.push(...crdsIn(path, await textOf(path)));
  process.stdout.write(printKinds(paths, crds));
}

async function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${path} cannot be read: ${error.code === 'ENOENT' ? 'no such file' : error.message}`);
  });
}

async function create(
  folder: string,
  options: { group: string; kind?: string },
  install: boolean,
): Promise<void> {
  const { plural, group } = await newOperator({ folder, ...options });
  process.stdout.write(`wrote ${folder}: an operator for ${plural}.${group}\n`);
  if (!install) return;
  const { status } = spawnSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) throw new Error(`npm install failed in ${folder}`);
  process.stdout.write(`next: cd ${folder} && npm test && make demo\n`);
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      ...{ help: { type: 'boolean', short: 'h' }, 'no-install': { type: 'boolean', default: false } },
      ...{ kind: { type: 'string' }, group: { type: 'string', default: 'example.com' } },
    },
  });
  const [command, ...args] = positionals;
  const [folder] = args;
  const { kind, group } = values;
  if (values.help) process.stdout.write(usage);
  else if (command === 'types' && folder !== undefined) await types(args);
  else if (command === 'new' && folder !== undefined && args.length === 1) {
    await create(folder, { group, ...(kind && { kind }) }, !values['no-install']);
  } else throw new Error(`${mistakeIn(command)}\n${usage}`);
}

function mistakeIn(command: string | undefined): string {
  if (command === undefined) return 'a command is missing';
  if (command === 'types') return 'types needs files with CustomResourceDefinitions';
  return command === 'new' ? 'new needs one folder' : `"${command}" is no command`;
}

await main().catch((error: unknown) => {
  process.stderr.write(`atwatch-runtime: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
