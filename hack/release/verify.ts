/** Verifies a release: nothing in it is another than what the holder of the key signed, and it says of itself what is true. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { archiveProblems, readArchive, readContents } from './archives.ts';
import { type Checksums, checksumFile, parseChecksums, sha256, sha256Of } from './checksums.ts';
import {
  licenceProblems,
  sbomProblems,
  sbomPurls,
  startProblems,
  unaccountedPackages,
} from './contents-check.ts';
import { signatureOf, verify, verifyAttestation } from './cosign.ts';
import { type ImageLayout, withImage } from './image-layout.ts';
import { partNames } from './parts.ts';
import { provenanceBundle, provenanceFile } from './provenance.ts';
import { ReleaseError } from './release-error.ts';

/** What was verified. */
export interface Verified {
  readonly version: string;
  readonly revision: string;
  readonly imageDigest: string;
}

/**
 * @param key path of the public key.
 * @throws {ReleaseError} with all that is wrong, a line each; signatures and checksums first, since the rest rests on them
 */
export async function verifyRelease(directory: string, key: string): Promise<Verified> {
  const at = (name: string) => join(directory, name);
  await signed(verify(at(checksumFile), key));
  const checksums = parseChecksums(await readFile(at(checksumFile), 'utf8'));
  refuse(await checksumProblems(directory, checksums));

  const text = await readFile(at(provenanceFile), 'utf8');
  const { dsseEnvelope } = JSON.parse(await readFile(at(provenanceBundle), 'utf8'));
  if (String(Buffer.from(dsseEnvelope.payload, 'base64')) !== text) {
    throw new ReleaseError(`${provenanceFile} is not the statement that is signed`);
  }
  const statement = JSON.parse(text);
  const { version, image } = statement.predicate.buildDefinition.externalParameters;
  const names = partNames(version);
  const missing = Object.values(names).filter((name) => !checksums.has(name));
  refuse(missing.map((name) => `${name} is missing`));
  await signed(verifyAttestation(at(provenanceBundle), key, at(names.image)));

  return await withImage(at(names.image), async (layout) => {
    const reference = `${image}@${layout.digest}`;
    refuse([
      ...subjectProblems(statement.subject, checksums, { image, digest: layout.digest }),
      ...(await imageProblems(directory, names, layout)),
      ...(await archiveProblems(directory, version)),
      ...(await referenceProblems(directory, names, reference)),
    ]);
    const [source] = statement.predicate.buildDefinition.resolvedDependencies;
    return { version, revision: source.digest.gitCommit, imageDigest: layout.digest };
  });
}

async function signed(check: Promise<void>): Promise<void> {
  await check.catch((cause: Error) => {
    throw new ReleaseError(`the release is not signed under this key: ${cause.message}`, { cause });
  });
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new ReleaseError(problems.join('\n'));
}

async function checksumProblems(directory: string, checksums: Checksums): Promise<string[]> {
  const present = new Set(await readdir(directory));
  const problems = await Promise.all(
    [...checksums].map(async ([name, digest]) => {
      if (!present.has(name)) return `${name} is missing`;
      return (await sha256Of(join(directory, name))) === digest ? '' : `${name} is not what was released`;
    }),
  );
  const known = new Set([...checksums.keys(), checksumFile, signatureOf(checksumFile)]);
  const foreign = [...present].filter((name) => !known.has(name));
  return [...problems.filter(Boolean), ...foreign.map((name) => `${name} is no part of the release`)];
}

interface Subject {
  readonly name: string;
  readonly digest: Readonly<Record<string, string>>;
}

/** The provenance speaks of each part, and of this image. */
function subjectProblems(
  subjects: readonly Subject[],
  checksums: Checksums,
  { image, digest }: { readonly image: string; readonly digest: string },
): string[] {
  const spoken = new Map(subjects.map((subject) => [subject.name, subject.digest.sha256]));
  const parts = [...checksums].filter(([name]) => name !== provenanceFile && name !== provenanceBundle);
  const wanted = [...parts, [image, digest.replace('sha256:', '')] as const];
  return wanted
    .filter(([name, sha256]) => spoken.get(name) !== sha256)
    .map(([name]) => `the provenance does not speak of this ${name}`);
}

type PartNames = ReturnType<typeof partNames>;

/** The image holds the bundle of the account, the licences and the SBOMs, and the SBOMs beside it are the same. */
async function imageProblems(directory: string, names: PartNames, image: ImageLayout): Promise<string[]> {
  const contents = await readContents(directory);
  const bundle = contents['atwatch.js'];
  if (bundle === undefined) return ['contents.json has no account of atwatch.js'];
  const problems = startProblems(image.config);
  const text = async (path: string) => String(await image.read(path).catch(() => ''));
  const program = await image.read('atwatch.js');
  problems.push(...unaccountedPackages('the image', bundle, String(program)));
  if (sha256(program) !== bundle.sha256) {
    problems.push('the image holds another atwatch.js than the one that contents.json speaks of');
  }
  for (const file of ['licenses/LICENSE', 'licenses/nodejs.txt']) {
    if ((await text(file)).trim() === '') problems.push(`the image has no /${file}`);
  }
  problems.push(...licenceProblems('the image', bundle, await text('licenses/third-party-licenses.txt')));
  for (const name of [names.spdx, names.cycloneDx]) {
    const beside = await readFile(join(directory, name), 'utf8');
    if ((await text(`usr/share/sbom/${name}`)) !== beside)
      problems.push(`${name} is not the one of the image`);
  }
  const [spdx, cycloneDx] = await Promise.all(
    [names.spdx, names.cycloneDx].map((name) => readFile(join(directory, name), 'utf8')),
  );
  const purls = sbomPurls(spdx ?? '', cycloneDx ?? '');
  problems.push(...sbomProblems('the image', bundle, purls));
  for (const [format, listed] of Object.entries(purls)) {
    if (!listed.some((purl: string) => purl.startsWith('pkg:generic/nodejs@'))) {
      problems.push(`the ${format} SBOM does not list Node.js`);
    }
  }
  return problems;
}

/** What installs the operator names the image by its digest. */
async function referenceProblems(directory: string, names: PartNames, reference: string): Promise<string[]> {
  const manifests = parseAllDocuments(await readFile(join(directory, names.install), 'utf8')).map((one) =>
    one.toJSON(),
  );
  const values = parse(String(await readArchive(join(directory, names.chart), 'atwatch/values.yaml')));
  const csv = 'bundle/manifests/atwatch.clusterserviceversion.yaml';
  const { spec } = parse(String(await readArchive(join(directory, names.bundle), csv)));
  const [deployment] = spec.install.spec.deployments;
  const found = {
    [names.install]: imageOf(manifests.find(({ kind }) => kind === 'Deployment')),
    [names.chart]: `${values.image.repository}@${values.image.digest}`,
    [names.bundle]: imageOf(deployment),
  };
  return Object.entries(found)
    .filter(([, image]) => image !== reference)
    .map(([name, image]) => `${name} installs ${image}, not ${reference}`);
}

interface WithTemplate {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } };
  };
}

const imageOf = (workload: WithTemplate) => workload.spec.template.spec.containers[0]?.image;
