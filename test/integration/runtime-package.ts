/** RuntimePackage: `@atwatch/runtime` as others get it: packed, and installed into empty folders. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

/** Ms that one command may take. */
const limit = 240_000;
const run = promisify(execFile);

/** Without what is meant for this one test process; programs are this Node's, and npm runs on it, too. */
const environment = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(NODE_TEST_|npm_|NODE_V8_)/.test(name)),
  ),
  PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
};

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** What the command prints. @throws {Error} with that, when it fails. */
export async function command(
  program: string,
  args: readonly string[],
  { cwd, env = environment }: CommandOptions = {},
): Promise<string> {
  const options = { timeout: limit, maxBuffer: 64 << 20, env, ...(cwd && { cwd }) };
  const { stdout } = await run(program, [...args], options).catch((error) => {
    throw new Error(`${program} ${args.join(' ')}: ${error.message}\n${error.stdout}${error.stderr}`);
  });
  return stdout;
}

/** An example without what a user has installed there to try it out. */
export async function copyExample(name: string, folder: string): Promise<void> {
  for (const file of await readdir(`examples/${name}`)) {
    if (['node_modules', 'dist', 'package-lock.json'].includes(file)) continue;
    await cp(`examples/${name}/${file}`, join(folder, file), { recursive: true });
  }
}

/** The first stage of an operator's Dockerfile, in a folder that has only what it copies. */
export async function buildAsImage(folder: string, image: string): Promise<void> {
  const [stage = ''] = (await readFile(join(folder, 'Dockerfile'), 'utf8')).split(/^FROM (?!.* AS build$)/m);
  await mkdir(image);
  for (const [, name, rest = ''] of stage.matchAll(/^(COPY|RUN) (.+)$/gm)) {
    if (name === 'RUN') await command('sh', ['-c', rest], { cwd: image });
    else {
      await command('sh', ['-c', `cp ${rest.replace(/\S+$/, image)}`], { cwd: folder });
      await hasPackedFiles(image);
    }
  }
  assert.ok(existsSync(join(image, 'dist/main.js')) && existsSync(join(image, 'node_modules')));
}

/** npm would find a file that is missing in its own cache, by the hash in the lock file. */
async function hasPackedFiles(folder: string): Promise<void> {
  const { dependencies } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const files = Object.values<string>(dependencies).filter((origin) => origin.startsWith('file:'));
  assert.ok(files.length > 0);
  for (const file of files) assert.ok(existsSync(join(folder, file.slice('file:'.length))), file);
}

/** The command of an operator's Dockerfile, without a cluster: it rejects when all that it imports has been loaded. */
export async function runAsInImage(folder: string): Promise<string> {
  const dockerfile = await readFile(join(folder, 'Dockerfile'), 'utf8');
  const [program, ...args]: readonly string[] = JSON.parse(/^CMD (.+)$/m.exec(dockerfile)?.[1] ?? '[]');
  assert.equal(program, 'node');
  return command(process.execPath, args, { cwd: folder, env: { ...environment, KUBECONFIG: '/nowhere' } });
}

export class RuntimePackage {
  /** An empty folder with the packed file alone. */
  readonly folder: string;
  /** The packed file. */
  readonly file: string;
  /** Paths in it. */
  readonly paths: readonly string[];

  private constructor(folder: string, file: string, paths: readonly string[]) {
    this.folder = folder;
    this.file = file;
    this.paths = paths;
  }

  static async pack(): Promise<RuntimePackage> {
    const built = resolve('dist/runtime-package');
    assert.ok(existsSync(join(built, 'package.json')), 'run `make package-runtime` first');
    const folder = await mkdtemp(join(tmpdir(), 'atwatch-package-'));
    const printed = await command('npm', ['pack', '--json', '--pack-destination', folder], { cwd: built });
    const [tarball] = JSON.parse(printed);
    const paths = tarball.files.map(({ path }: { path: string }) => path);
    return new RuntimePackage(folder, join(folder, tarball.filename), paths);
  }

  /** Installs it, with other packages, where a package.json may be already. */
  async install(folder: string, others: readonly string[] = []): Promise<void> {
    const quiet = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
    await command('npm', ['install', ...quiet, this.file, ...others], { cwd: folder });
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }
}
