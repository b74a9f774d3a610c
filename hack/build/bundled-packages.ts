/**
 * Bundled packages: the npm packages of which a bundle holds code, by what esbuild says went into it. Packages that
 * are installed but not bundled, and those of development, are not among them.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';

export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** SPDX licence expression. */
  readonly license: string;
  /** The texts of its licence and notices, joined. */
  readonly licenseText: string;
  /** Where it was installed, relative to the project. */
  readonly folder: string;
}

const folderPattern = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const licenseFile = /^(licen[cs]e|copying|notice)/i;

/**
 * Sorted by name and version.
 *
 * @throws {Error} naming a package without a licence or its text: it must not be shipped.
 */
export function bundledPackages(metafiles: readonly Metafile[]): BundledPackage[] {
  const folders = metafiles.flatMap(bundledFiles).flatMap((path) => packageFolder(path) ?? []);
  return [...new Set(folders)].map(readPackage).sort((one, other) => compare(one, other));
}

/** The folder of the package that a file belongs to; undefined for the project's own files. */
export function packageFolder(path: string): string | undefined {
  return folderPattern.exec(path)?.[0];
}

/** The files of which something is in the bundle, sorted. */
export function bundledFiles({ outputs }: Metafile): string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  return inputs
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => path)
    .sort();
}

function readPackage(folder: string): BundledPackage {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const texts = readdirSync(folder)
    .filter((file) => licenseFile.test(file))
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8').trim());
  if (typeof license !== 'string' || texts.length === 0) {
    throw new Error(`${folder} is bundled, but has no licence or no text of it`);
  }
  return { name, version, license, licenseText: texts.join('\n\n'), folder };
}

function compare(one: BundledPackage, other: BundledPackage): number {
  const [left, right] = [`${one.name}@${one.version}`, `${other.name}@${other.version}`];
  return left < right ? -1 : Number(left > right);
}
