/** Compares what a bundle is made of with the licences and SBOMs that are shipped with it. Pure. */
import { packageFolder } from '../build/bundled-packages.ts';
import type { BundleContents } from '../build/contents.ts';
import type { ImageConfig } from './image-layout.ts';

/** The component lists of both SBOM formats, as package URLs. */
export interface SbomPurls {
  readonly spdx: readonly string[];
  readonly cycloneDx: readonly string[];
}

export function sbomPurls(spdx: string, cycloneDx: string): SbomPurls {
  const { packages }: { packages: readonly { externalRefs: readonly { referenceLocator: string }[] }[] } =
    JSON.parse(spdx);
  const { components }: { components: readonly { purl: string }[] } = JSON.parse(cycloneDx);
  return {
    spdx: packages.flatMap(({ externalRefs }) =>
      externalRefs.map(({ referenceLocator }) => referenceLocator),
    ),
    cycloneDx: components.map(({ purl }) => purl),
  };
}

/** What is wrong, as sentences: files of packages that the account does not know, and packages without a licence text. */
export function licenceProblems(name: string, contents: BundleContents, notices: string): string[] {
  const { files, packages } = contents;
  const unknown = new Set(files.flatMap((file) => packageFolder(file) ?? []));
  for (const folder of Object.keys(packages)) unknown.delete(folder);
  const sections = noticeSections(notices);
  const silent = Object.values(packages).filter((purl) => !sections.has(purl));
  return [
    ...[...unknown].map((folder) => `${name} holds code of ${folder}, which its account does not name`),
    ...silent.map((purl) => `${name} holds code of ${purl}, whose licence is missing`),
  ];
}

/**
 * What is wrong, as sentences: packages that the bundle itself names, and its account does not. esbuild keeps the path of
 * each module that it wraps in a function, so this does not rest on the account alone.
 */
export function unaccountedPackages(name: string, { packages }: BundleContents, bundle: string): string[] {
  const paths = Array.from(
    bundle.matchAll(/"((?:\.\.\/)*node_modules\/[^"\s]+)"\s*\(/g),
    ([, path = '']) => path,
  );
  return [...new Set(paths.flatMap((path) => packageFolder(path) ?? []))]
    .filter((folder) => !(folder in packages))
    .map((folder) => `${name} holds code of ${folder}, which its account does not name`);
}

/** Options of Node.js for its memory. Others could have it load a program before the bundle. */
const memoryOption = /^--[\w-]*(size|liftoff|tier|gc)[\w-]*(=\d+)?$/;

/** What is wrong, as sentences: the image starts the bundle, and nothing before it. */
export function startProblems({ Entrypoint, Cmd, Env }: ImageConfig): string[] {
  const command = [...(Entrypoint ?? []), ...(Cmd ?? [])];
  const options = command.slice(1, -1);
  const startsBundle =
    command[0] === '/nodejs/bin/node' &&
    command.at(-1) === '/atwatch.js' &&
    options.every((option) => memoryOption.test(option));
  const loading = (Env ?? []).filter((variable) => /^(NODE_OPTIONS|LD_\w+)=/.test(variable));
  return [
    ...(startsBundle ? [] : [`the image starts ${command.join(' ')}`]),
    ...loading.map((variable) => `the image sets ${variable}`),
  ];
}

/** What is wrong, as sentences: packages that an SBOM does not list. */
export function sbomProblems(name: string, { packages }: BundleContents, purls: SbomPurls): string[] {
  return Object.entries(purls).flatMap(([format, listed]: [string, readonly string[]]) =>
    Object.values(packages)
      .filter((purl) => !listed.includes(purl))
      .map((purl) => `${name} holds code of ${purl}, which the ${format} SBOM does not list`),
  );
}

/** The package URLs of the notices' sections that have a text (hack/build/notices.ts writes them). */
function noticeSections(notices: string): ReadonlySet<string> {
  const sections = notices.split(/\n\n-{80}\n\n/).slice(1);
  return new Set(
    sections.flatMap((section) => {
      const [, name = '', version, text = ''] = /^(\S+) (\S+) \(.+\)\n\n(.+)/s.exec(section) ?? [];
      return text.trim() === '' ? [] : [`pkg:npm/${name.replace('@', '%40')}@${version}`];
    }),
  );
}
