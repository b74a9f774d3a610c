/**
 * The image's command line: builds the Dockerfile with docker, podman or buildah, whichever is there.
 *
 *   node hack/image.ts build NAME    an image in the builder's own store, on the base images of the Dockerfile
 *   node hack/image.ts push NAME     that image to the registry that its name says
 *   node hack/image.ts archive       an OCI archive on base images made here, downloading none; prints its path
 *   node hack/image.ts renew         the digests of the Dockerfile's base images, as their registries give them today
 */

import { buildImage, pushImage } from './image/builder.ts';
import { ImageError } from './image/image-error.ts';
import { imageArchive } from './image/local-archive.ts';
import { renewBases } from './image/pinned-bases.ts';

const usage = 'usage: node hack/image.ts build NAME | push NAME | archive | renew';

async function main([command, ...args]: readonly string[]): Promise<void> {
  const [name] = args;
  if (command === 'build' && name !== undefined && args.length === 1) {
    await buildImage(name);
  } else if (command === 'push' && name !== undefined && args.length === 1) {
    await pushImage(name);
  } else if (command === 'archive' && args.length === 0) {
    const { path } = await imageArchive();
    console.log(path);
  } else if (command === 'renew' && args.length === 0) {
    await renewBases();
  } else {
    throw new ImageError(usage);
  }
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof ImageError ? error.message : error);
  process.exitCode = 1;
}
