/**
 * The programs that check manifests: promtool, kube-score, `checks` (this folder) and `bundle` (the one below), from
 * Go modules, and checkov, from its Python packages. Each is made once, into the cache folder.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheDirectory, programDirectory } from '../../local-cluster/cache.ts';
import { buildGoProgram, findGo } from '../../local-cluster/go-program.ts';
import { makeOnce } from '../../local-cluster/make-once.ts';
import { startProgress } from '../../local-cluster/progress.ts';

const execute = promisify(execFile);

/** This machine lacks what a program is made with; the message says what to install. */
export class NoProgramsError extends Error {
  override readonly name = 'NoProgramsError';
}

const moduleDirectory = import.meta.dirname;
const requirements = join(moduleDirectory, 'requirements.txt');

const alternatives =
  'promtool, kube-score and OLM’s validators are built from source: install Go 1.26 or later (https://go.dev/doc/install).';

const goPrograms = {
  checks: {
    title: 'promtool',
    moduleDirectory,
    packages: ['.', 'github.com/prometheus/prometheus/cmd/promtool'],
    // Else it could find targets in every cloud there is, which would be most of the build.
    tags: 'remove_all_sd',
  },
  // Apart, because they go with older Kubernetes libraries than promtool.
  bundle: {
    title: 'kube-score and OLM’s validators',
    moduleDirectory: join(moduleDirectory, 'bundle'),
    packages: ['.', 'github.com/zegl/kube-score/cmd/kube-score'],
  },
};

/**
 * The folders of `checks` and `promtool`, and of `bundle` and `kube-score`.
 *
 * @throws {NoProgramsError} without Go
 */
export async function buildChecks(): Promise<readonly string[]> {
  const directories: string[] = [];
  for (const [name, program] of Object.entries(goPrograms)) {
    const directory = programDirectory(process.env, program.moduleDirectory, name);
    if (!existsSync(directory) && findGo() === undefined) throw new NoProgramsError(alternatives);
    directories.push(await buildGoProgram({ ...program, directory, alternatives, linkerFlags: '-s -w' }));
  }
  return directories;
}

export interface PythonProgram {
  /** Program and first arguments. */
  readonly command: readonly [string, ...string[]];
  /** What to add to the environment. */
  readonly env: NodeJS.ProcessEnv;
}

/** Cold it takes a minute; what takes this long hangs. */
const installLimit = 15 * 60_000;
const missingPython = 'checkov needs Python 3.11 or later with pip (python3 -m pip): install it.';

/**
 * checkov, as it is run.
 *
 * @throws {NoProgramsError} without Python, or when pip cannot install it for this Python
 */
export async function installCheckov(): Promise<PythonProgram> {
  const ask = 'import pip, sys; print(sys.version_info[:2], sys.platform)';
  const version = await execute('python3', ['-c', ask]).catch((cause) => {
    throw new NoProgramsError(missingPython, { cause });
  });
  const hash = createHash('sha256').update(readFileSync(requirements)).update(version.stdout).digest('hex');
  const directory = join(cacheDirectory(), `checkov-${hash.slice(0, 12)}`);
  await makeOnce(directory, pipInstall);
  // Not a virtual environment: that knows its own path, and this one is moved when it is complete.
  const env = { PYTHONPATH: directory, PYTHONDONTWRITEBYTECODE: '1' };
  return { command: ['python3', '-m', 'checkov.main'], env };
}

async function pipInstall(aside: string): Promise<void> {
  const progress = startProgress('installing checkov, once');
  const options = ['--disable-pip-version-check', '--no-input', '--quiet', '--retries=5', '--timeout=30'];
  const what = ['--target', aside, '--requirement', requirements];
  try {
    await execute('python3', ['-m', 'pip', 'install', ...options, ...what], { timeout: installLimit });
  } catch (cause) {
    const { stderr = '' } = cause as { stderr?: string };
    const last = stderr.trimEnd().split('\n').slice(-5).join('\n  ');
    throw new NoProgramsError(`checkov could not be installed; the last lines of pip:\n  ${last}`, { cause });
  } finally {
    progress.end();
  }
}
