/** The parts of a release, each the same bytes from the same commit. */
import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { Contents } from '../build/contents.ts';
import { findHelm } from '../helm/program.ts';
import { reproducibleTar } from '../reproducible-tar.ts';
import { ReleaseError } from './release-error.ts';

const execute = promisify(execFile);

/** What the parts need to know. */
export interface PartOptions {
  /** Where the parts are written. */
  readonly directory: string;
  /** An empty folder for what is in between. */
  readonly scratch: string;
  readonly version: string;
  /** The image's name, without tag and digest. */
  readonly image: string;
  readonly imageDigest: string;
  /** Under which the parts will be published. */
  readonly url: string;
  /** Where docs/runbooks.md of this version is published. */
  readonly runbooks: string;
}

/** Before the names of the runtime's bundles in contents.json. */
export const runtimeFolder = 'runtime-package/';

/** The files of a release, beside checksums, provenance and signatures. */
export const partNames = (version: string) => ({
  image: `atwatch-image-${version}.tar`,
  chart: `atwatch-${version}.tgz`,
  npm: `atwatch-npm-${version}.tgz`,
  runtime: `atwatch-runtime-${version}.tgz`,
  bundle: `atwatch-bundle-${version}.tar.gz`,
  install: 'install.yaml',
  spdx: 'atwatch.spdx.json',
  cycloneDx: 'atwatch.cdx.json',
  contents: 'contents.json',
});

/** The chart, which names the released image by its digest, and has alerts and dashboard link to this version's runbooks. */
export async function writeChart(options: PartOptions): Promise<void> {
  const { directory, scratch, version } = options;
  const staged = join(scratch, 'staged', 'atwatch');
  await cp('charts/atwatch', staged, { recursive: true });
  const values = join(staged, 'values.yaml');
  await writeFile(values, releasedValues(await readFile(values, 'utf8'), options));
  await execute(await findHelm(), ['package', staged, '--destination', scratch]);
  // Helm leaves out what .helmignore names, and writes the time into the archive.
  const unpacked = join(scratch, 'chart');
  await mkdir(unpacked);
  await execute('tar', ['-C', unpacked, '-xzf', join(scratch, `atwatch-${version}.tgz`)]);
  await packTo(join(directory, partNames(version).chart), unpacked, ['atwatch']);
}

/** @param values the text of the chart's values.yaml. */
function releasedValues(values: string, { image, imageDigest, runbooks }: PartOptions): string {
  const lines: readonly [RegExp, string][] = [
    [/^ {2}repository: atwatch$/m, `  repository: ${image}`],
    [/^ {2}digest: ""$/m, `  digest: ${imageDigest}`],
    [/^ {2}runbooks: \S+$/m, `  runbooks: ${runbooks}`],
  ];
  return lines.reduce((text, [pattern, line]) => {
    if (!pattern.test(text)) throw new ReleaseError(`the chart’s values have no line ${pattern.source}`);
    return text.replace(pattern, line);
  }, values);
}

/** What `make build` built, as npm publishes it. */
export const writeNpmPackage = (options: PartOptions) =>
  packForNpm('.', `atwatch-${options.version}.tgz`, partNames(options.version).npm, options);

/** `@atwatch/runtime`, as npm publishes it. */
export async function writeRuntimePackage(options: PartOptions): Promise<void> {
  await make('package-runtime');
  const { runtime } = partNames(options.version);
  await packForNpm('dist/runtime-package', runtime, runtime, options);
}

async function packForNpm(
  folder: string,
  packed: string,
  part: string,
  { directory, scratch }: PartOptions,
): Promise<void> {
  const pack = ['pack', `./${folder}`, '--ignore-scripts', '--loglevel=error', '--pack-destination', scratch];
  await rm(join(scratch, packed), { force: true });
  await execute('npm', pack);
  // npm keeps modes as the umask of the clone made them.
  const unpacked = join(scratch, `npm-${part}`);
  await mkdir(unpacked);
  await execute('tar', ['-C', unpacked, '-xzf', join(scratch, packed)]);
  await packTo(join(directory, part), unpacked, ['package']);
}

/** The accounts of all bundles; those of the runtime's parts have its folder before their names. */
export async function writeContents({ directory }: PartOptions): Promise<void> {
  const read = async (path: string): Promise<Contents> => JSON.parse(await readFile(path, 'utf8'));
  const runtime = Object.entries(await read('dist/contents/runtime-package.json'));
  const prefixed = runtime.map(([name, contents]) => [`${runtimeFolder}${name}`, contents] as const);
  const all = { ...(await read('dist/contents.json')), ...Object.fromEntries(prefixed) };
  await writeFile(join(directory, partNames('').contents), `${JSON.stringify(all, undefined, 1)}\n`);
}

export async function writeManifests({ directory, image, imageDigest }: PartOptions): Promise<void> {
  const { stdout } = await make('manifests', `IMG=${image}@${imageDigest}`);
  if (!stdout.includes(`image: ${image}@${imageDigest}\n`)) {
    throw new ReleaseError('the manifests do not name an image where that is expected');
  }
  await writeFile(join(directory, partNames('').install), stdout);
}

/** For the Operator Lifecycle Manager. */
export async function writeBundle({ directory, version, image, imageDigest }: PartOptions): Promise<void> {
  await make('bundle', `IMG=${image}@${imageDigest}`);
  await packTo(join(directory, partNames(version).bundle), 'dist', ['bundle']);
}

/** The kubectl plugins. */
export async function writePlugins({ directory, version, url }: PartOptions): Promise<void> {
  await make('krew', `URL=${url}`);
  for (const plugin of ['at', 'configwatcher']) {
    const archive = `kubectl-${plugin}-${version}.tar.gz`;
    await copyFile(join('dist/krew', archive), join(directory, archive));
    await copyFile(join('dist/krew', `${plugin}.yaml`), join(directory, `krew-${plugin}.yaml`));
  }
}

async function packTo(path: string, folder: string, files: readonly string[]): Promise<void> {
  const options = { encoding: 'buffer', maxBuffer: 64 << 20 } as const;
  const { stdout } = await execute('tar', [...reproducibleTar, '-C', folder, '-cf', '-', ...files], options);
  await writeFile(path, gzipSync(stdout, { level: 9 }));
}

function make(...args: string[]) {
  // Not the flags and the variables of the make that runs this.
  const { MAKEFLAGS: _, MAKEOVERRIDES: __, ...env } = process.env;
  return execute('make', ['--silent', ...args], { env, maxBuffer: 16 << 20 });
}
