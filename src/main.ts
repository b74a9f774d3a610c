/**
 * The program: command line in, exit code out. The only file that touches the process; what it starts is put
 * together in operator.ts, loaded only when it runs, so that --help answers on any Node.js.
 */
import packageJson from '../package.json' with { type: 'json' };
import { ConfigError, parseCommandLine } from './config.ts';
import { nodeVersionProblem } from './node-version.ts';

/** Said when the program cannot go on: one sentence on standard error, for people. */
function fail(sentence: string, code: number): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(code);
}

function commandLine() {
  try {
    return parseCommandLine(process.argv.slice(2), process.env);
  } catch (error) {
    if (error instanceof ConfigError) fail(error.message, 2);
    throw error;
  }
}

async function main(): Promise<void> {
  const line = commandLine();
  if (line.command === 'help') {
    process.stdout.write(line.text);
    return;
  }
  if (line.command === 'version') {
    process.stdout.write(`atwatch ${packageJson.version}\n`);
    return;
  }
  const problem = nodeVersionProblem(process.versions.node, packageJson.engines.node);
  if (problem !== undefined) fail(problem, 1);
  if (line.command === 'release-pods') {
    const { runReleasePods } = await import('./release-pods.ts');
    process.exitCode = await runReleasePods(line.config, packageJson.version, process);
    return;
  }
  const { runOperator } = await import('./operator.ts');
  await runOperator(line.config, packageJson.version, process);
}

await main().catch((error: unknown) => fail(error instanceof Error ? error.message : String(error), 1));
