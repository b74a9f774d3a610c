/**
 * cosign: built from its Go modules, once, into the cache folder.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { programDirectory } from '../../local-cluster/cache.ts';
import { ClusterError } from '../../local-cluster/cluster-error.ts';
import { buildGoProgram, findGo, requiredVersion } from '../../local-cluster/go-program.ts';

const moduleDirectory = import.meta.dirname;

/** As in v3.1.3. */
export const cosignVersion = requiredVersion(moduleDirectory, 'github.com/sigstore/cosign/v3');

const alternatives = `cosign is built from source here. One of these helps:
  install Go 1.26 or later (https://go.dev/doc/install), or
  set ATWATCH_COSIGN to the path of a cosign 3 that you take the responsibility for.`;

/**
 * The path of cosign: ATWATCH_COSIGN, else the one that was built, else a new build.
 *
 * @throws {ClusterError} when ATWATCH_COSIGN names nothing, without Go, and when the build fails
 */
export async function findCosign(): Promise<string> {
  const chosen = process.env.ATWATCH_COSIGN;
  if (chosen && !existsSync(chosen)) {
    throw new ClusterError(`ATWATCH_COSIGN names ${chosen}, which does not exist: correct or unset it.`);
  }
  return chosen || join(await build(), 'cosign');
}

/** Why there is no cosign and none can be built, as a sentence; undefined if there is or can be. */
export function whyNoCosign(): string | undefined {
  const found = process.env.ATWATCH_COSIGN || existsSync(directory()) || findGo();
  return found ? undefined : `Go is not installed, and ${alternatives}`;
}

function directory(): string {
  return programDirectory(process.env, moduleDirectory, 'cosign');
}

function build(): Promise<string> {
  return buildGoProgram({
    title: `cosign ${cosignVersion}`,
    ...{ moduleDirectory, alternatives, packages: ['github.com/sigstore/cosign/v3/cmd/cosign'] },
    linkerFlags: `-s -w -X sigs.k8s.io/release-utils/version.gitVersion=${cosignVersion}`,
    directory: directory(),
  });
}
