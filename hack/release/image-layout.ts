/** What an OCI archive of one image holds: its digest, and single files of its layers. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** What an image starts, and with which environment, as the OCI image specification has it. */
export interface ImageConfig {
  readonly Entrypoint?: readonly string[] | null;
  readonly Cmd?: readonly string[] | null;
  readonly Env?: readonly string[] | null;
}

export interface ImageLayout {
  /** `sha256:...` of the manifest, which is what a registry knows the image by. */
  readonly digest: string;
  readonly config: ImageConfig;
  /** The content of a file, by its path without the leading slash; of the topmost layer that has it. */
  read(path: string): Promise<Buffer>;
}

/**
 * Calls `use` with an unpacked image, each of whose blobs has the digest that it is called by.
 *
 * @throws {Error} for an archive that is none, or has more than one image.
 */
export async function withImage<T>(archive: string, use: (image: ImageLayout) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'atwatch-layout-'));
  try {
    await execute('tar', ['-xf', archive, '-C', directory]);
    return await use(await open(directory));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function open(directory: string): Promise<ImageLayout> {
  const { manifests } = JSON.parse(await readFile(join(directory, 'index.json'), 'utf8'));
  if (manifests.length !== 1) throw new Error(`the archive has ${manifests.length} images, not one`);
  const digest: string = manifests[0].digest;
  const { config, layers } = JSON.parse(String(await blob(directory, digest)));
  const { config: start } = JSON.parse(String(await blob(directory, config.digest)));
  const paths: string[] = [];
  for (const layer of layers) {
    await blob(directory, layer.digest);
    paths.unshift(blobPath(directory, layer.digest));
  }
  return { digest, config: start, read: (path) => readLayers(paths, path) };
}

const blobPath = (directory: string, digest: string) => join(directory, 'blobs', digest.replace(':', '/'));

async function blob(directory: string, digest: string): Promise<Buffer> {
  const content = await readFile(blobPath(directory, digest));
  const actual = `sha256:${createHash('sha256').update(content).digest('hex')}`;
  if (actual !== digest) throw new Error(`the blob ${digest} of the image has the digest ${actual}`);
  return content;
}

/** A path may be written in several ways, and a layer may take away what lies below it: both would hide a file from here. */
async function readLayers(layers: readonly string[], path: string): Promise<Buffer> {
  const options = { encoding: 'buffer', maxBuffer: 64 << 20 } as const;
  for (const layer of layers) {
    const names = (await execute('tar', ['-tf', layer], { maxBuffer: 64 << 20 })).stdout.split('\n');
    if (names.some((name) => /(^|\/)\.wh\./.test(name)))
      throw new Error('a layer of the image removes files');
    const written = names.filter((name) => name.replace(/^(\.?\/)+/, '') === path);
    if (written.length > 0) return (await execute('tar', ['-xPOf', layer, ...written], options)).stdout;
  }
  throw new Error(`the image has no /${path}`);
}
