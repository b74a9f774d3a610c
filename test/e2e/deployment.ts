/**
 * The operator as a Deployment: its image, built and made pullable, and the manifests with that image.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { NoBuilderError } from '../../hack/image/image-error.ts';
import { imageArchive } from '../../hack/image/local-archive.ts';
import { kubectl } from './kubectl.ts';

const execute = promisify(execFile);

/** An image that the node can pull, or why there is none. */
export type PullableImage =
  | {
      readonly name: string;
      /** Makes the same image pullable with another tag, and resolves with its name. */
      loadAs(tag: string): Promise<string>;
    }
  | { readonly why: string };

/** Builds the image if the cache does not have it, and makes it pullable. */
export async function pullableImage(): Promise<PullableImage> {
  if (!process.env.ATWATCH_CLUSTER) {
    return { why: 'the image can be loaded only into a cluster that these tests started themselves' };
  }
  try {
    const { path, hash } = await imageArchive();
    const loadAs = async (tag: string) => {
      await execute(process.execPath, ['hack/cluster/main.ts', 'load', path, `atwatch:${tag}`]);
      return `atwatch:${tag}`;
    };
    return { name: await loadAs(hash), loadAs };
  } catch (error) {
    if (error instanceof NoBuilderError) return { why: error.message };
    throw error;
  }
}

/** The manifests of a folder of config/ with the image, as `make deploy` writes them. */
export async function manifests(folder: string, image: string): Promise<string> {
  const text = await kubectl(['kustomize', folder]);
  return text.replaceAll('image: atwatch:latest', `image: ${image}`);
}
