/** The archives of a release that hold bundles: npm packages and kubectl plugins. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BundleContents, Contents } from '../build/contents.ts';
import { sha256 } from './checksums.ts';
import { licenceProblems, sbomProblems, sbomPurls, unaccountedPackages } from './contents-check.ts';
import { partNames, runtimeFolder } from './parts.ts';

const execute = promisify(execFile);

interface Bundle {
  /** In the account. */
  readonly name: string;
  /** In the archive. */
  readonly path: string;
  /** In the archive, without the ends .spdx.json and .cdx.json. */
  readonly sbom: string;
}

interface Archive {
  readonly file: string;
  /** The folder with the licences, with a slash at the end. */
  readonly folder: string;
  readonly bundles: readonly Bundle[];
}

const pluginNames = ['kubectl-at', 'kubectl-configwatcher'];

function archivesOf(version: string, contents: Contents): Archive[] {
  const { npm, runtime } = partNames(version);
  const parts = Object.keys(contents).filter((name) => name.startsWith(runtimeFolder));
  const plugin = (folder: string, sboms: string) => (name: string) => ({
    ...{ name, path: `${folder}${name}`, sbom: `${sboms}${name}` },
  });
  const operator = { name: 'atwatch.js', path: 'package/dist/atwatch.js', sbom: 'package/dist/atwatch' };
  const inNpm = pluginNames.map(plugin('package/dist/', 'package/dist/sbom/'));
  return [
    { file: npm, folder: 'package/dist/', bundles: [operator, ...inNpm] },
    {
      ...{ file: runtime, folder: 'package/' },
      bundles: parts.map((name) => ({
        ...{ name, path: name.replace(runtimeFolder, 'package/'), sbom: 'package/atwatch-runtime' },
      })),
    },
    ...pluginNames.map((name) => ({
      ...{ file: `${name}-${version}.tar.gz`, folder: '', bundles: [plugin('', '')(name)] },
    })),
  ];
}

/** They hold the bundles of the account and no others, with their licences, and SBOMs that list what is in them. */
export async function archiveProblems(directory: string, version: string): Promise<string[]> {
  const contents = await readContents(directory);
  const archives = archivesOf(version, contents);
  if (archives.some(({ bundles }) => bundles.length === 0)) {
    return ['contents.json has no account of @atwatch/runtime'];
  }
  const problems = archives.map(({ file, folder, bundles }) =>
    problemsOf({ file, folder, bundles }, join(directory, file), contents),
  );
  return (await Promise.all(problems)).flat();
}

async function problemsOf(archive: Archive, path: string, contents: Contents): Promise<string[]> {
  const { file, folder, bundles } = archive;
  const names = await execute('tar', ['-tzf', path]).then(({ stdout }) => stdout.split('\n'));
  const known = new Set(bundles.map((bundle) => bundle.path));
  const strange = names.filter((name) => name.endsWith('.js') && !known.has(name));
  const read = async (name: string) => String(await readArchive(path, name));
  const notices = await read(`${folder}third-party-licenses.txt`);
  const licence = folder === 'package/dist/' ? 'package/LICENSE' : `${folder}LICENSE`;
  const problems = strange.map((name) => `${file} holds ${name}, of which contents.json has no account`);
  if ((await read(licence)).trim() === '') problems.push(`${file} has no ${licence}`);
  const sboms = new Map<string, ReturnType<typeof sbomPurls> | undefined>();
  for (const sbom of new Set(bundles.map((bundle) => bundle.sbom))) {
    const [spdx, cycloneDx] = [await read(`${sbom}.spdx.json`), await read(`${sbom}.cdx.json`)];
    sboms.set(sbom, spdx && cycloneDx ? sbomPurls(spdx, cycloneDx) : undefined);
    if (!sboms.get(sbom)) problems.push(`${file} has no SBOMs ${sbom}.*.json`);
  }
  for (const { name, path: inside, sbom } of bundles) {
    const account: BundleContents | undefined = contents[name];
    if (account === undefined) {
      problems.push(`contents.json has no account of ${name}`);
      continue;
    }
    const text = await readArchive(path, inside);
    if (sha256(text) !== account.sha256) {
      problems.push(`${file} holds another ${name} than the one that contents.json speaks of`);
    }
    problems.push(...unaccountedPackages(file, account, String(text)));
    problems.push(...licenceProblems(file, account, notices));
    const purls = sboms.get(sbom);
    if (purls) problems.push(...sbomProblems(file, account, purls));
  }
  return [...new Set(problems)];
}

export async function readContents(directory: string): Promise<Contents> {
  return JSON.parse(await readFile(join(directory, partNames('').contents), 'utf8'));
}

/** The file at a path of an archive; nothing where it has none. */
export async function readArchive(archive: string, path: string): Promise<Buffer> {
  const options = { encoding: 'buffer', maxBuffer: 64 << 20 } as const;
  return await execute('tar', ['-xzOf', archive, path], options).then(
    ({ stdout }) => stdout,
    () => Buffer.alloc(0),
  );
}
