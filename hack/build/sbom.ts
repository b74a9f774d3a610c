/**
 * SBOM: what a product is made of, as SPDX 2.3 and as CycloneDX 1.6. The documents hold no time of their making and no
 * random id, so that the same parts give the same bytes.
 */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { BundledPackage } from './bundled-packages.ts';

export interface Component {
  readonly name: string;
  readonly version: string;
  /** Package URL: https://github.com/package-url/purl-spec. */
  readonly purl: string;
  /** SPDX licence expression; undefined when it is not known. */
  readonly license?: string;
}

/** An npm package by its package URL. */
export function npmComponent(name: string, version: string, license: string): Component {
  return { name, version, license, purl: `pkg:npm/${name.replace('@', '%40')}@${version}` };
}

/** The two documents of a product that is published as files: `PATH.spdx.json` and `PATH.cdx.json`. */
export async function writeSboms(
  path: string,
  product: Component,
  packages: readonly BundledPackage[],
): Promise<void> {
  const components = packages.map(({ name, version, license }) => npmComponent(name, version, license));
  await writeFile(`${path}.spdx.json`, spdxOf(product, components));
  await writeFile(`${path}.cdx.json`, cycloneDxOf(product, components));
}

/** SPDX wants a time; this one says that none was taken. */
const noTime = '1970-01-01T00:00:00Z';

/** SPDX 2.3, as JSON. */
export function spdxOf(product: Component, components: readonly Component[]): string {
  const packages = [product, ...components].map((component, index) => ({
    SPDXID: `SPDXRef-${index === 0 ? 'Product' : `Package-${index}`}`,
    name: component.name,
    versionInfo: component.version,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    licenseConcluded: 'NOASSERTION',
    licenseDeclared: component.license ?? 'NOASSERTION',
    copyrightText: 'NOASSERTION',
    externalRefs: [
      { referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: component.purl },
    ],
  }));
  const digest = createHash('sha256').update(JSON.stringify(packages)).digest('hex');
  return text({
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `${product.name}-${product.version}`,
    documentNamespace: `https://atwatch.example/spdx/${product.name}-${product.version}-${digest}`,
    creationInfo: { created: noTime, creators: [`Tool: ${product.name}-build`] },
    packages,
    relationships: [
      relationship('SPDXRef-DOCUMENT', 'DESCRIBES', 'SPDXRef-Product'),
      ...packages.slice(1).map(({ SPDXID }) => relationship('SPDXRef-Product', 'CONTAINS', SPDXID)),
    ],
  });
}

function relationship(spdxElementId: string, relationshipType: string, relatedSpdxElement: string): object {
  return { spdxElementId, relationshipType, relatedSpdxElement };
}

/** CycloneDX 1.6, as JSON. */
export function cycloneDxOf(product: Component, components: readonly Component[]): string {
  return text({
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: cycloneDxComponent('application', product) },
    components: components.map((component) => cycloneDxComponent('library', component)),
    dependencies: [{ ref: product.purl, dependsOn: components.map(({ purl }) => purl) }],
  });
}

function cycloneDxComponent(type: string, { name, version, purl, license }: Component): object {
  const licenses = license === undefined ? {} : { licenses: [{ expression: license }] };
  return { type, 'bom-ref': purl, name, version, purl, ...licenses };
}

function text(document: object): string {
  return `${JSON.stringify(document, undefined, 2)}\n`;
}
