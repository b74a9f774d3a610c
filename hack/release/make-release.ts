/** Makes a release: all parts, their checksums and provenance, signed. */
import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BaseImages, writeImageArchive } from '../image/local-archive.ts';
import { pinnedBases } from '../image/pinned-bases.ts';
import { type Checksums, checksumFile, printChecksums, sha256Of } from './checksums.ts';
import { attest, sign, signatureOf } from './cosign.ts';
import { withImage } from './image-layout.ts';
import {
  type PartOptions,
  partNames,
  writeBundle,
  writeChart,
  writeContents,
  writeManifests,
  writeNpmPackage,
  writePlugins,
  writeRuntimePackage,
} from './parts.ts';
import { provenanceBundle, provenanceFile, provenanceOf } from './provenance.ts';
import { locks, releasableRevision } from './source-tree.ts';

/** In the order of what they need of each other. */
const writers = [
  ...[writeChart, writeNpmPackage, writeRuntimePackage, writeManifests, writeBundle, writePlugins],
  writeContents,
];

/** What a release is called and where it will be. */
export interface ReleaseOptions {
  readonly version: string;
  /** The image's name in its registry, without tag and digest. */
  readonly image: string;
  /** Where the sources are published: an address of a git repository. */
  readonly source: string;
  /** Where the parts will be published. */
  readonly url: string;
  /** Path or address of the private key, as cosign takes it. */
  readonly key: string;
  /** Stand on base images made of this machine's programs instead of those that the Dockerfile pins. */
  readonly localBases: boolean;
}

/**
 * @param directory where the release comes to lie, in place of an earlier one.
 * @throws {ReleaseError} when the tree is not clean or says another version
 */
export async function makeRelease(options: ReleaseOptions, directory: string): Promise<void> {
  const { version, image, source, url, key } = options;
  const revision = releasableRevision(version);
  const bases = options.localBases ? undefined : pinnedBases();
  const scratch = await mkdtemp(join(tmpdir(), 'atwatch-release-'));
  try {
    const made = join(scratch, 'release');
    await mkdir(made);
    const imageDigest = await writeImage(made, version, bases);
    const runbooks = `${source}/blob/v${version}/docs/runbooks.md`;
    const parts: PartOptions = { directory: made, scratch, version, image, imageDigest, url, runbooks };
    for (const write of writers) await write(parts);
    const origin = {
      version,
      source,
      revision,
      image,
      imageDigest,
      bases: names(bases),
      locks: await locks(),
    };
    const statement = provenanceOf(origin, await checksumsOf(made));
    await writeFile(join(made, provenanceFile), `${JSON.stringify(statement, undefined, 2)}\n`);
    await signRelease(made, key);
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { recursive: true });
    // File by file: the temporary folder may be on another file system.
    for (const name of await readdir(made)) await copyFile(join(made, name), join(directory, name));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Signs provenance and checksums; the latter are of all files, the signed provenance included. */
export async function signRelease(directory: string, key: string): Promise<void> {
  const old = [checksumFile, signatureOf(checksumFile), provenanceBundle];
  for (const name of old) await rm(join(directory, name), { force: true });
  const provenance = join(directory, provenanceFile);
  await attest(provenance, key, join(directory, provenanceBundle));
  const sums = join(directory, checksumFile);
  await writeFile(sums, printChecksums(await checksumsOf(directory)));
  await sign(sums, key);
}

/** @returns the digest of its manifest. */
async function writeImage(directory: string, version: string, bases?: BaseImages): Promise<string> {
  const names = partNames(version);
  const archive = join(directory, names.image);
  await writeImageArchive(archive, bases);
  return await withImage(archive, async (image) => {
    for (const name of [names.spdx, names.cycloneDx]) {
      await writeFile(join(directory, name), await image.read(`usr/share/sbom/${name}`));
    }
    return image.digest;
  });
}

function names(bases: BaseImages | undefined): string[] {
  return bases === undefined ? ['local'] : [bases.build, bases.run];
}

async function checksumsOf(directory: string): Promise<Checksums> {
  const files = (await readdir(directory)).sort();
  return new Map(
    await Promise.all(files.map(async (name) => [name, await sha256Of(join(directory, name))] as const)),
  );
}
