/**
 * Local archive: the operator's image as an OCI archive, built from the Dockerfile by buildah without a daemon
 * and without downloading a base image. It is kept in the cache as long as nothing it is built of changes.
 */
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { install } from '../../local-cluster/apt.ts';
import { cacheDirectory } from '../../local-cluster/cache.ts';
import { ImageStore } from '../../local-cluster/images.ts';
import { ensurePackages, find } from '../../local-cluster/packages.ts';
import { reproducibleTar } from '../reproducible-tar.ts';
import { type Materials, writeBuildRoot, writeRunRoot } from './base-images.ts';
import { run, sourceDate, sourceDirectory, versionArguments } from './builder.ts';
import { NoBuilderError } from './image-error.ts';

export interface ImageArchive {
  readonly path: string;
  /** Changes with the content; fit for a tag. */
  readonly hash: string;
}

/** Files that the Dockerfile copies, and those that say how it is built here. */
const sources = [
  ...[
    'Dockerfile',
    '.dockerignore',
    '.npmrc',
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'LICENSE',
  ],
  ...['hack/build.ts', 'hack/image-root.ts', 'hack/reproducible-tar.ts'],
  ...['hack/build/*.ts', 'hack/image/*.ts', 'src/**/*.ts'],
];

const buildah = { program: 'buildah', debianPackage: 'buildah' };

/**
 * The archive from the cache, or a new one.
 *
 * @throws {NoBuilderError} when this machine lacks what it takes. {ImageError} when the build fails.
 */
export async function imageArchive(): Promise<ImageArchive> {
  const reason = whyNoArchive();
  if (reason !== undefined) throw new NoBuilderError(reason);
  const hash = contentHash(projectNode());
  const path = join(cacheDirectory(), `image-${hash}.tar`);
  if (!existsSync(path)) {
    await writeImageArchive(path);
    removeOthers(path);
  }
  return { path, hash };
}

/**
 * Builds the archive, whatever the cache holds: that goes by the sources, while the image also says of which commit it is.
 *
 * @param bases BUILD_IMAGE and RUN_IMAGE; without them base images are made of what is on this machine.
 * @throws {NoBuilderError} when this machine lacks what it takes. {ImageError} when the build fails.
 */
export async function writeImageArchive(path: string, bases?: BaseImages): Promise<void> {
  const reason = whyNoArchive();
  if (reason !== undefined) throw new NoBuilderError(reason);
  await ensureBuildah();
  console.error('building the operator image from the Dockerfile');
  // Modes of folders that the build makes follow from it, and the image's digest from the modes.
  const umask = process.umask(0o022);
  try {
    await build(bases ?? (await localBases()), path);
  } finally {
    process.umask(umask);
  }
}

/** References that FROM takes. */
export interface BaseImages {
  readonly build: string;
  readonly run: string;
}

async function localBases(): Promise<Materials> {
  const node = projectNode();
  const { busybox } = await ensurePackages();
  return { node, nodeLicense: licenseOf(node), busybox };
}

function projectNode(): string {
  return realpathSync(join(sourceDirectory, 'node_modules', '.bin', 'node'));
}

/** Why no archive can be built on this machine, as a sentence; undefined if one can. */
export function whyNoArchive(): string | undefined {
  if (process.platform !== 'linux') return 'base images are made of Linux programs, this is no Linux';
  if (process.getuid?.() !== 0) return 'buildah is used as root here, this is another user';
  return undefined;
}

async function ensureBuildah(): Promise<void> {
  if (find(buildah)) return;
  const hasApt = find({ program: 'apt-get', debianPackage: 'apt' }) !== undefined;
  const said = hasApt ? (await install([buildah.debianPackage])).output : '';
  if (find(buildah)) return;
  const ending = said.trimEnd().split('\n').slice(-5).join('\n');
  throw new NoBuilderError(`buildah is missing and could not be installed${ending && `:\n${ending}`}`);
}

/** The npm package of Node.js brings it beside the program, in the package for this architecture. */
function licenseOf(node: string): string {
  const [license] = globSync(join(dirname(dirname(node)), 'node_modules/node-*/LICENSE'));
  if (license === undefined) throw new NoBuilderError(`there is no licence beside ${node}: run npm ci`);
  return license;
}

function contentHash(node: string): string {
  const hash = createHash('sha256').update(execFileSync(node, ['--version']));
  for (const file of globSync(sources, { cwd: sourceDirectory }).sort()) {
    const content = readFileSync(join(sourceDirectory, file));
    hash.update(`${file} ${content.length}\n`).update(content);
  }
  return hash.digest('hex').slice(0, 12);
}

/** Everything lies in one temporary folder: buildah's storage, too. */
async function build(materials: Materials | BaseImages, path: string): Promise<void> {
  const directory = lowerCaseDirectory();
  try {
    const npm = npmSurroundings();
    const bases = 'run' in materials ? materials : writeBases(directory, materials, npm.env);
    const storage = ['--root', join(directory, 'storage'), '--runroot', join(directory, 'run')];
    const tool = [find(buildah) ?? buildah.program, ...storage, '--storage-driver=vfs'];
    const policy = join(directory, 'policy.json');
    writeFileSync(policy, '{"default":[{"type":"insecureAcceptAnything"}]}');
    const baseArguments = [
      '--build-arg',
      `BUILD_IMAGE=${bases.build}`,
      '--build-arg',
      `RUN_IMAGE=${bases.run}`,
    ];
    const options = [
      ...['--isolation=chroot', '--layers=false', `--signature-policy=${policy}`],
      // The history and the annotation would name the folder of the base image, which is another each time.
      ...[`--timestamp=${sourceDate()}`, '--omit-history', '--identity-label=false'],
      '--annotation=org.opencontainers.image.base.name=atwatch-base',
    ];
    await run(
      [
        ...[...tool, 'build', ...options, ...npm.mounts, ...baseArguments, ...versionArguments()],
        ...['--tag=atwatch', sourceDirectory],
      ],
      'pipe',
    );
    const push = [...tool, 'push', `--signature-policy=${policy}`, '--disable-compression'];
    const layout = join(directory, 'layout');
    await run([...push, 'atwatch', `oci:${layout}`], 'pipe');
    // Aside and renamed, so that an interruption leaves no half of it.
    const aside = `${path}.${process.pid}`;
    await run(['tar', ...reproducibleTar, '-C', layout, '-cf', aside, '.'], 'pipe');
    renameSync(aside, path);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The path becomes the name of an image, which must not have capital letters. */
function lowerCaseDirectory(): string {
  const parent = tmpdir() === tmpdir().toLowerCase() ? tmpdir() : '/tmp';
  const directory = join(parent, `atwatch-image-${randomBytes(5).toString('hex')}`);
  mkdirSync(directory, { mode: 0o700 });
  return directory;
}

function writeBases(directory: string, materials: Materials, npmEnv: readonly string[]): BaseImages {
  return {
    build: writeBase(directory, 'build', (root) => writeBuildRoot(root, materials, npmEnv)),
    run: writeBase(directory, 'run', (root) => writeRunRoot(root, materials)),
  };
}

/** Writes an image in OCI layout and returns what FROM calls it. */
function writeBase(directory: string, name: string, writeRoot: (root: string) => object): string {
  const root = join(directory, `${name}-root`);
  mkdirSync(root);
  const config = writeRoot(root);
  const layout = join(directory, `${name}-image`);
  new ImageStore(layout).create('base', root, config);
  writeFileSync(join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  rmSync(root, { recursive: true });
  return `oci:${layout}:base`;
}

interface NpmSurroundings {
  /** Environment of the build's base image. */
  readonly env: readonly string[];
  /** Arguments for buildah. */
  readonly mounts: readonly string[];
}

/** npm inside uses the cache, the registry and the certificates of npm outside. */
function npmSurroundings(): NpmSurroundings {
  const npm = (name: string) =>
    execFileSync('npm', ['config', 'get', name, '--loglevel=error'], { encoding: 'utf8' }).trim();
  const cache = npm('cache');
  mkdirSync(cache, { recursive: true });
  const env = [`npm_config_registry=${npm('registry')}`, 'npm_config_prefer_offline=true'];
  const mounts = [`--volume=${cache}:/root/.npm`];
  const certificates = process.env.NODE_EXTRA_CA_CERTS;
  if (certificates && existsSync(certificates)) {
    env.push('NODE_EXTRA_CA_CERTS=/etc/extra-ca.pem');
    mounts.push(`--volume=${certificates}:/etc/extra-ca.pem:ro`);
  }
  return { env, mounts };
}

/** Archives are large; one of an older content is not needed again. */
function removeOthers(path: string): void {
  for (const file of readdirSync(cacheDirectory())) {
    if (/^image-[0-9a-f]{12}\.tar/.test(file) && file !== basename(path)) {
      rmSync(join(cacheDirectory(), file), { force: true });
    }
  }
}
