/** Krew manifest: what Krew needs to know of a plugin to install it. Pure. */

export interface KrewPlugin {
  /** As in `kubectl NAME`. */
  readonly name: string;
  /** One line, without a full stop. */
  readonly shortDescription: string;
  readonly description: string;
}

export interface KrewRelease {
  readonly version: string;
  /** Of the archive. */
  readonly uri: string;
  readonly sha256: string;
  /** `>=22.19`, the Node.js that it needs. */
  readonly node: string;
}

/** The SBOMs in the archive of a plugin. */
export const sbomFiles = (name: string) => ['spdx', 'cdx'].map((format) => `kubectl-${name}.${format}.json`);

export function krewManifest(
  { name, shortDescription, description }: KrewPlugin,
  { version, uri, sha256, node }: KrewRelease,
): object {
  const programs = [`kubectl-${name}`, `kubectl_complete-${name}`];
  const from = [...programs, 'third-party-licenses.txt', 'LICENSE', ...sbomFiles(name)];
  return {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name },
    spec: {
      version: `v${version}`,
      shortDescription,
      description,
      caveats:
        `Node.js ${node.replace('>=', '')} or later has to be on the PATH. For completion, link ` +
        `kubectl_complete-${name}, which lies beside the plugin, into a folder of the PATH.`,
      platforms: [
        {
          selector: { matchExpressions: [{ key: 'os', operator: 'In', values: ['darwin', 'linux'] }] },
          uri,
          sha256,
          files: from.map((file) => ({ from: file, to: '.' })),
          bin: `kubectl-${name}`,
        },
      ],
    },
  };
}
