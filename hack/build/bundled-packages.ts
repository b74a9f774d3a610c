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
}

const packageFolder = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const licenseFile = /^(licen[cs]e|copying|notice)/i;

/**
 * Sorted by name and version.
 *
 * @throws {Error} naming a package without a licence or its text: it must not be shipped.
 */
export function bundledPackages(metafiles: readonly Metafile[]): BundledPackage[] {
  const inputs = metafiles.flatMap(({ outputs }) =>
    Object.values(outputs).flatMap((output) => Object.entries(output.inputs)),
  );
  const folders = inputs
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .flatMap(([path]) => packageFolder.exec(path)?.[0] ?? []);
  return [...new Set(folders)].map(readPackage).sort((one, other) => compare(one, other));
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
  return { name, version, license, licenseText: texts.join('\n\n') };
}

function compare(one: BundledPackage, other: BundledPackage): number {
  const [left, right] = [`${one.name}@${one.version}`, `${other.name}@${other.version}`];
  return left < right ? -1 : Number(left > right);
}
