/**
 * Contents: what each bundle is made of by the account of the bundler, for `make verify-release` to compare licences and
 * SBOMs with.
 */
import { createHash } from 'node:crypto';
import type { Metafile } from 'esbuild';
import { bundledFiles, bundledPackages } from './bundled-packages.ts';
import { npmComponent } from './sbom.ts';

/** Of one bundle, or of one file of a bundle that is split into several. */
export interface BundleContents {
  /** Of the bundle: this account is of no other one. */
  readonly sha256: string;
  /** Package URLs by the folders of the packages. */
  readonly packages: Readonly<Record<string, string>>;
  /** Every file of which code is in the bundle. */
  readonly files: readonly string[];
}

/** By the name of the bundle. */
export type Contents = Readonly<Record<string, BundleContents>>;

/** Of each file of a bundle by its path in `folder`; `read` gives the file at a path. */
export async function contentsOfParts(
  folder: string,
  metafiles: readonly Metafile[],
  read: (path: string) => Promise<Uint8Array>,
): Promise<Contents> {
  const parts = metafiles.flatMap(({ inputs, outputs }) =>
    Object.entries(outputs).map(async ([path, output]) => {
      const part = { inputs, outputs: { [path]: output } };
      return [path.slice(folder.length + 1), contentsOf(await read(path), part)] as const;
    }),
  );
  return Object.fromEntries(await Promise.all(parts));
}

export function contentsOf(bundle: Uint8Array, metafile: Metafile): BundleContents {
  const packages = bundledPackages([metafile]).map(
    ({ folder, name, version, license }) => [folder, npmComponent(name, version, license).purl] as const,
  );
  return {
    sha256: createHash('sha256').update(bundle).digest('hex'),
    packages: Object.fromEntries(packages),
    files: bundledFiles(metafile),
  };
}
