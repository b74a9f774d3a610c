/** Notices: the licence texts of what is shipped inside a bundle, as one file that people can read. */
import type { BundledPackage } from './bundled-packages.ts';

const rule = `\n\n${'-'.repeat(80)}\n\n`;

/** @param product the name of what the packages are bundled into. */
export function noticesOf(product: string, packages: readonly BundledPackage[]): string {
  const head = `${product} contains code of the packages below, each under the licence that follows its name.`;
  const sections = packages.map(
    ({ name, version, license, licenseText }) => `${name} ${version} (${license})\n\n${licenseText}`,
  );
  return `${[head, ...sections].join(rule)}\n`;
}
