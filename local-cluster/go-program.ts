/**
 * Go programs: what this project needs and builds from Go modules, once, into the cache folder.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { ClusterError } from './cluster-error.ts';
import { makeOnce } from './make-once.ts';
import { type Progress, startProgress } from './progress.ts';

export interface GoProgram {
  /** Its name for people, with the version. */
  readonly title: string;
  /** The folder of the Go module that requires it. */
  readonly moduleDirectory: string;
  /** Patterns as `go build` takes them. */
  readonly packages: readonly string[];
  /** Build tags, separated by commas. */
  readonly tags?: string;
  readonly linkerFlags: string;
  /** The folder that the programs come to lie in; its name changes with the module. */
  readonly directory: string;
  /** Sentences for who has no Go, or too old a one. */
  readonly alternatives: string;
  /** Has the last word on the folder before it gets its name. */
  finish?(directory: string): void;
}

/** A cold build takes minutes on two cores; one that takes this long hangs, most likely on a download. */
const buildLimit = 30 * 60_000;

/**
 * Builds what is not built yet and returns the folder of the programs.
 *
 * @throws {ClusterError} without Go, and when the build fails
 */
export async function buildGoProgram(program: GoProgram, signal?: AbortSignal): Promise<string> {
  const { directory, alternatives } = program;
  if (existsSync(directory)) {
    return directory;
  }
  const go = findGo();
  if (go === undefined) {
    throw new ClusterError(`Go is not installed, and ${alternatives}`);
  }
  await makeOnce(directory, (aside) => build(go, aside, program, signal), {
    onWait: (pid) => console.error(`waiting for the build that process ${pid} is running`),
    signal,
  });
  return directory;
}

/** The go command: in PATH, or where Go's own installer puts it without telling any PATH. */
export function findGo(
  env: NodeJS.ProcessEnv = process.env,
  fallback = '/usr/local/go/bin',
): string | undefined {
  return [...(env.PATH ?? '').split(delimiter), fallback]
    .filter((directory) => directory !== '')
    .map((directory) => join(directory, 'go'))
    .find((path) => existsSync(path));
}

/** The version of a module that go.mod asks for. */
export function requiredVersion(moduleDirectory: string, module: string): string {
  const words = readFileSync(join(moduleDirectory, 'go.mod'), 'utf8').split(/\s+/);
  const version = words.find((word, index) => words[index - 1] === module && /^v\d/.test(word));
  if (version === undefined) {
    throw new Error(`go.mod requires no ${module}`);
  }
  return version;
}

async function build(
  go: string,
  aside: string,
  program: GoProgram,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { title, directory, linkerFlags, packages, tags = '' } = program;
  const progress = startProgress(`building ${title} from source, once`);
  try {
    const args = ['build', '-v', '-trimpath', '-tags', tags, '-ldflags', linkerFlags, '-o', `${aside}/`];
    await runGo(go, [...args, ...packages], { program, progress, signal });
    program.finish?.(aside);
    progress.end(`built ${title} into ${directory}`);
  } catch (error) {
    progress.end();
    throw error;
  }
}

/** Plain settings, whatever the user's own are: no C compiler, no workspace, no vendor folder. */
const goEnvironment = { CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off' };

async function runGo(
  go: string,
  args: readonly string[],
  { program, progress, signal }: { program: GoProgram; progress: Progress; signal: AbortSignal | undefined },
): Promise<void> {
  const { moduleDirectory, packages, alternatives, tags = '' } = program;
  const env = { ...process.env, ...goEnvironment };
  const limit = AbortSignal.timeout(buildLimit);
  const child = spawn(go, args, {
    cwd: moduleDirectory,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
    signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
  });
  const total = countPackages(go, [moduleDirectory, ['-tags', tags, ...packages]], env);
  const { compiled, lines } = follow(child, (done, downloaded) => {
    progress.update(describe(done, total.value, downloaded));
  });
  const code = await exitOf(child, signal);
  if (limit.aborted) {
    throw new ClusterError(`the build was given up after ${buildLimit / 60_000} minutes`);
  }
  if (code !== 0) {
    if (lines.some(isTooOld)) {
      throw new ClusterError(`${go} is too old, and ${alternatives}`);
    }
    const last = lines.slice(-15).join('\n  ');
    throw new ClusterError(
      `the build failed after ${compiled()} packages; the last lines of go build:\n  ${last}`,
    );
  }
}

/** How go refuses a module for newer versions: before 1.21 it does not even understand their names. */
export function isTooOld(line: string): boolean {
  return /invalid go version|requires go >=/.test(line);
}

function describe(compiled: number, total: number | undefined, downloaded: number): string {
  if (compiled === 0 && downloaded > 0) {
    return `${downloaded} modules downloaded`;
  }
  return total === undefined ? `${compiled} packages` : `${compiled} of about ${total} packages`;
}

/** `go build -v` names each package that it compiles, and each module that it downloads, in a line of its own. */
function follow(child: ChildProcess, report: (compiled: number, downloaded: number) => void) {
  const lines: string[] = [];
  let compiled = 0;
  let downloaded = 0;
  if (child.stderr !== null) {
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (line.startsWith('go: downloading')) {
        downloaded++;
      } else if (/^[\w.~/-]+$/.test(line)) {
        compiled++;
      } else {
        lines.push(line);
      }
      report(compiled, downloaded);
    });
  }
  return { compiled: () => compiled, lines };
}

/** How many packages there are in all: known a little later than the build begins, and not at all if go fails. */
function countPackages(
  go: string,
  [cwd, packages]: readonly [string, readonly string[]],
  env: NodeJS.ProcessEnv,
): { value: number | undefined } {
  const total: { value: number | undefined } = { value: undefined };
  promisify(execFile)(go, ['list', '-deps', ...packages], { cwd, env, maxBuffer: 2 ** 24 }).then(
    ({ stdout }) => {
      total.value = stdout.split('\n').length - 1;
    },
    () => {},
  );
  return total;
}

function exitOf(child: ChildProcess, signal: AbortSignal | undefined): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => {
      if (signal?.aborted) {
        reject(signal.reason);
      } else if (error.name === 'AbortError') {
        resolve(null);
      } else {
        reject(new ClusterError(`cannot run ${child.spawnfile}: ${error.message}`, { cause: error }));
      }
    });
    child.once('close', resolve);
  });
}
