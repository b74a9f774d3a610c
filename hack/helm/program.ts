/**
 * Helm: built from its Go modules, once, unless the version that go.mod names is here already.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { programDirectory } from '../../local-cluster/cache.ts';
import { ClusterError } from '../../local-cluster/cluster-error.ts';
import { buildGoProgram, findGo, requiredVersion } from '../../local-cluster/go-program.ts';

const moduleDirectory = import.meta.dirname;

/** As in v4.3.1. */
export const helmVersion = requiredVersion(moduleDirectory, 'helm.sh/helm/v4');

const alternatives = `Helm is built from source here. One of these helps:
  install Go 1.26 or later (https://go.dev/doc/install), or
  have Helm ${helmVersion} as helm in PATH, or
  set ATWATCH_HELM to the path of a Helm that you take the responsibility for.`;

/**
 * The path of helm: ATWATCH_HELM, else the one that was built, else the one in PATH if its version is the right
 * one, else a new build.
 *
 * @throws {ClusterError} when ATWATCH_HELM names nothing, without Go, and when the build fails
 */
export async function findHelm(signal?: AbortSignal): Promise<string> {
  const chosen = process.env.ATWATCH_HELM;
  if (chosen) {
    if (existsSync(chosen)) return chosen;
    throw new ClusterError(`ATWATCH_HELM names ${chosen}, which does not exist: correct or unset it.`);
  }
  return join(built() ?? installed() ?? (await buildHelm(signal)), 'helm');
}

/** Why there is no helm and none can be built, as a sentence; undefined if there is or can be. */
export function whyNoHelm(): string | undefined {
  const found = process.env.ATWATCH_HELM || built() || findGo() || installed();
  return found ? undefined : `Go is not installed, and ${alternatives}`;
}

function built(): string | undefined {
  const directory = programDirectory(process.env, moduleDirectory, 'helm');
  return existsSync(directory) ? directory : undefined;
}

/** The folder of the first helm in PATH, if it is of the right version. */
function installed(): string | undefined {
  const directory = (process.env.PATH ?? '').split(delimiter).find((one) => existsSync(join(one, 'helm')));
  return directory !== undefined && versionOf(join(directory, 'helm')) === helmVersion
    ? directory
    : undefined;
}

function versionOf(helm: string): string | undefined {
  try {
    const args = ['version', '--template={{.Version}}'];
    return execFileSync(helm, args, { encoding: 'utf8', stdio: 'pipe', timeout: 10_000 }).trim();
  } catch {
    return undefined;
  }
}

function buildHelm(signal: AbortSignal | undefined): Promise<string> {
  return buildGoProgram(
    {
      title: `Helm ${helmVersion}`,
      ...{ moduleDirectory, alternatives, packages: ['helm.sh/helm/v4/cmd/helm'] },
      linkerFlags: `-s -w -X helm.sh/helm/v4/internal/version.version=${helmVersion}`,
      directory: programDirectory(process.env, moduleDirectory, 'helm'),
    },
    signal,
  );
}
