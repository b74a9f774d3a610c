/**
 * Releases: makes and verifies them.
 *
 *   node hack/release.ts make DIRECTORY     VERSION, IMG, SOURCE, URL, KEY in the environment; BASES=local
 *   node hack/release.ts verify DIRECTORY   KEY in the environment, a public one
 */
import { resolve } from 'node:path';
import { ClusterError } from '../local-cluster/cluster-error.ts';
import { ImageError } from './image/image-error.ts';
import { makeRelease } from './release/make-release.ts';
import { ReleaseError } from './release/release-error.ts';
import { verifyRelease } from './release/verify.ts';

function wanted(name: string, meaning: string): string {
  const value = process.env[name];
  if (!value) throw new ReleaseError(`${name} is missing: ${meaning}`);
  return value;
}

async function make(directory: string): Promise<void> {
  const version = wanted('VERSION', 'the version, as package.json has it');
  const image = wanted('IMG', 'the name of the image in its registry, without tag');
  const source = wanted('SOURCE', 'where the sources are published, an address of a git repository');
  const key = wanted('KEY', 'the private key to sign with: a path, or an address that cosign knows');
  const url = process.env.URL || `${source}/releases/download/v${version}`;
  const localBases = process.env.BASES === 'local';
  await makeRelease({ version, image, source, url, key, localBases }, directory);
  console.log(`wrote ${directory}`);
}

async function verify(directory: string): Promise<void> {
  const key = wanted('KEY', 'the public key that the release is signed under');
  const { version, revision, imageDigest } = await verifyRelease(directory, key);
  console.log(`${directory} is the release ${version} of commit ${revision}, with the image ${imageDigest}`);
}

const commands: Readonly<Record<string, (directory: string) => Promise<void>>> = { make, verify };

try {
  const [command = '', directory, ...more] = process.argv.slice(2);
  const run = commands[command];
  if (run === undefined || directory === undefined || more.length > 0) {
    throw new ReleaseError('usage: node hack/release.ts make | verify DIRECTORY');
  }
  await run(resolve(directory));
} catch (error) {
  const expected = [ReleaseError, ImageError, ClusterError].some((one) => error instanceof one);
  console.error(expected ? (error as Error).message : error);
  process.exitCode = 1;
}
