/**
 * Programs: where the Kubernetes programs are that this harness runs.
 *
 * `KUBEBUILDER_ASSETS`, as kubebuilder's own test environment reads it, comes first; else they are built.
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { build } from './build.ts';
import { programDirectory } from './cache.ts';
import { ClusterError } from './cluster-error.ts';
import { findGo } from './go-program.ts';

/** The smallest set of programs that makes a cluster. */
const required = ['etcd', 'kube-apiserver', 'kubectl'];

/** Without these a control plane still serves its API: no garbage collection, no ServiceAccounts, no scheduling. */
const optional = ['kube-controller-manager', 'kube-scheduler'];

export interface Programs {
  /** The folder that holds them. */
  directory: string;
  /** The path of a program. */
  path(name: string): string;
  has(name: string): boolean;
}

/** @throws {ClusterError} when KUBEBUILDER_ASSETS lacks a program, or when they cannot be built */
export async function findPrograms(signal?: AbortSignal): Promise<Programs> {
  const assets = process.env.KUBEBUILDER_ASSETS;
  return programsIn(assets ? checkAssets(assets) : await build(signal));
}

function programsIn(directory: string): Programs {
  return {
    directory,
    path: (name) => join(directory, name),
    has: (name) => isProgram(join(directory, name)),
  };
}

/** Says once what the folder lacks. */
export function checkAssets(directory: string): string {
  const lacking = (names: readonly string[]) => names.filter((name) => !isProgram(join(directory, name)));
  const missing = lacking(required);
  if (missing.length > 0) {
    throw new ClusterError(
      `KUBEBUILDER_ASSETS names ${directory}, which has no program ${missing.join(', ')}. ` +
        'Correct it, or unset it to have the programs built from source.',
    );
  }
  return directory;
}

/** What the control plane of these programs cannot do, as a sentence, or undefined when it can do everything. */
export function missingAbilities(programs: Programs): string | undefined {
  const missing = optional.filter((name) => !programs.has(name));
  return missing.length === 0
    ? undefined
    : `no ${missing.join(' and no ')} in ${programs.directory}: the control plane runs without`;
}

/**
 * A kubectl for a cluster that exists already: any version will do, so that Kubernetes is not built just for that.
 * The folder is what a PATH needs.
 */
export async function findKubectl(signal?: AbortSignal): Promise<{ directory: string; path: string }> {
  const candidates = [process.env.KUBEBUILDER_ASSETS ?? '', programDirectory(), ...pathDirectories()];
  const directory =
    candidates.find((candidate) => candidate !== '' && isProgram(join(candidate, 'kubectl'))) ??
    (await buildKubectl(signal));
  return { directory, path: join(directory, 'kubectl') };
}

function buildKubectl(signal: AbortSignal | undefined): Promise<string> {
  if (findGo() === undefined) {
    throw new ClusterError('there is no kubectl in PATH, and no Go to build one: install either.');
  }
  return build(signal);
}

function pathDirectories(): string[] {
  return (process.env.PATH ?? '').split(delimiter);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
