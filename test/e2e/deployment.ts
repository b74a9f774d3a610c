/**
 * The operator as a Deployment: its image, built and made pullable, and the manifests with that image.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { NoBuilderError } from '../../hack/image/image-error.ts';
import { imageArchive } from '../../hack/image/local-archive.ts';
import { previousVersion, writePreviousImage } from './previous-image.ts';

const execute = promisify(execFile);

/** An image that the node can pull, or why there is none. */
export type PullableImage =
  | {
      readonly name: string;
      /**
       * Makes an image of {@link previousVersion} pullable, too, and resolves with its name.
       *
       * @param bundle the path of the operator's bundle in it; that of `make build`, unless given.
       */
      loadPrevious(bundle?: string): Promise<string>;
    }
  | { readonly why: string };

/** Builds the image if the cache does not have it, and makes it pullable. */
export async function pullableImage(): Promise<PullableImage> {
  if (!process.env.ATWATCH_CLUSTER) {
    return { why: 'the image can be loaded only into a cluster that these tests started themselves' };
  }
  try {
    const { path, hash } = await imageArchive();
    const load = async (archive: string, tag: string) => {
      await execute(process.execPath, ['local-cluster/main.ts', 'load', archive, `atwatch:${tag}`]);
      return `atwatch:${tag}`;
    };
    const loadPrevious = async (bundle = 'dist/atwatch.js') => {
      const directory = await mkdtemp(join(tmpdir(), 'atwatch-previous-'));
      try {
        return await load(writePreviousImage(path, bundle, directory), previousVersion);
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    };
    return { name: await load(path, hash), loadPrevious };
  } catch (error) {
    if (error instanceof NoBuilderError) return { why: error.message };
    throw error;
  }
}

/** The manifests of a folder of config/ with the image, as `make deploy` and `make build-installer` take them. */
export async function manifests(folder: string, image: string): Promise<string> {
  // Not the flags of the make that runs these tests.
  const { MAKEFLAGS: _, ...env } = process.env;
  const args = ['--silent', 'manifests', `CONFIG=${folder}`, `IMG=${image}`];
  const { stdout } = await execute('make', args, { env, maxBuffer: 16 << 20 });
  return stdout;
}
