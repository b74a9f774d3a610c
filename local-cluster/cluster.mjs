#!/usr/bin/env node
/**
 * The command line of main.ts for any Node: one that is too old to run TypeScript hands over to the Node that
 * "npm ci" has installed, or says what is needed.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const [major, minor] = process.versions.node.split('.').map(Number);
const program = fileURLToPath(new URL('main.ts', import.meta.url));
const bundled = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url));

if (major > 22 || (major === 22 && minor >= 19)) {
  await import('./main.ts');
} else if (existsSync(bundled)) {
  const child = spawn(bundled, [program, ...process.argv.slice(2)], { stdio: 'inherit' });
  // It gets Ctrl-C from the terminal as we do; we only have to outlive it.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
} else {
  console.error(
    `This needs Node 22.19 or later, and you run ${process.version}. "npm ci" installs one; then it works.`,
  );
  process.exitCode = 1;
}
