/**
 * Contents: what each bundle is made of by the account of the bundler, for `make verify-release` to compare licences and
 * SBOMs with.
 */
import { createHash } from 'node:crypto';
import type { Metafile } from 'esbuild';
import { bundledFiles, bundledPackages } from './bundled-packages.ts';
import { npmComponent } from './sbom.ts';

/** Of one bundle. */
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
