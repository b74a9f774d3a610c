/**
 * The program: command line in, exit code out. The only file that touches the process; what it starts is put
 * together in operator.ts, loaded only when it runs, so that --help answers on any Node.js.
 */
import packageJson from '../package.json' with { type: 'json' };
import { ConfigError, parseCommandLine, usage } from './config.ts';

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

/** Refuses a Node.js that the packages inside would fail on in a less readable way. */
function checkNodeVersion(): void {
  const wanted = packageJson.engines.node.replace('>=', '');
  const [major = 0, minor = 0] = wanted.split('.').map(Number);
  const [ownMajor = 0, ownMinor = 0] = process.versions.node.split('.').map(Number);
  if (ownMajor > major || (ownMajor === major && ownMinor >= minor)) return;
  fail(`Node.js ${wanted} or later is needed, this is ${process.versions.node}`, 1);
}

async function main(): Promise<void> {
  const line = commandLine();
  if (line.command === 'help') {
    process.stdout.write(usage());
    return;
  }
  if (line.command === 'version') {
    process.stdout.write(`atwatch ${packageJson.version}\n`);
    return;
  }
  checkNodeVersion();
  const { runOperator } = await import('./operator.ts');
  await runOperator(line.config, packageJson.version, process);
}

await main().catch((error: unknown) => fail(error instanceof Error ? error.message : String(error), 1));
