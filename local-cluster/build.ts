/**
 * The build: Kubernetes' programs from their Go modules.
 */
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { moduleDirectory, programDirectory } from './cache.ts';
import { buildGoProgram, requiredVersion } from './go-program.ts';

/** The names under which the multi-call program `kube` is called. */
export const components = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
  'kubectl',
] as const;

export const alternatives = `Kubernetes is built from source here. One of these helps:
  install Go 1.26 or later (https://go.dev/doc/install), or
  set KUBEBUILDER_ASSETS to a folder with the programs etcd, kube-apiserver and kubectl
    (and kube-controller-manager, kube-scheduler if you have them), or
  set KUBECONFIG to an existing cluster, for example one of kind or k3d.`;

/**
 * Builds what is not built yet and returns the folder of the programs.
 *
 * @throws {ClusterError} without Go, and when the build fails
 */
export function build(signal?: AbortSignal): Promise<string> {
  const version = kubernetesVersion();
  const program = {
    title: `Kubernetes ${version}`,
    ...{ moduleDirectory, alternatives, packages: ['./...'], linkerFlags: linkerFlags(version) },
    directory: programDirectory(),
    finish: (directory: string) => {
      for (const name of components) {
        symlinkSync('kube', join(directory, name));
      }
    },
  };
  return buildGoProgram(program, signal);
}

/** The version that go.mod asks for, as in v1.36.3. */
export function kubernetesVersion(): string {
  return requiredVersion(moduleDirectory, 'k8s.io/kubernetes');
}

/** Without these a program built from modules says that it is v0.0.0, and kubectl warns of the version skew. */
export function linkerFlags(version: string): string {
  const [major = '', minor = ''] = version.slice(1).split('.');
  const values = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
  const flags = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((library) =>
    Object.entries(values).map(([name, value]) => `-X ${library}.${name}=${value}`),
  );
  return ['-s', '-w', ...flags].join(' ');
}
