/** Provenance: an in-toto statement with a SLSA v1 predicate that says what a release was built of. Pure. */
import type { Checksums } from './checksums.ts';

/** The statement as it is, for people, and signed, with its signature. */
export const provenanceFile = 'provenance.json';
export const provenanceBundle = 'provenance.sigstore.json';

/** What a release was built of. */
export interface Origin {
  readonly version: string;
  /** Where the sources are published: an address of a git repository. */
  readonly source: string;
  /** The commit, in hexadecimal. */
  readonly revision: string;
  /** The name of the image, without tag and digest. */
  readonly image: string;
  /** `sha256:...` of the image's manifest. */
  readonly imageDigest: string;
  /** The images that it stands on: references with digest, or `local` for those made by `hack/image`. */
  readonly bases: readonly string[];
  /** Digests of the files that pin everything else, by their paths in the sources. */
  readonly locks: Checksums;
}

/** A part of the statement, as the specifications of in-toto and SLSA have it. */
export interface ResourceDescriptor {
  readonly name?: string;
  readonly uri?: string;
  readonly digest?: Readonly<Record<string, string>>;
}

/** https://in-toto.io/Statement/v1 */
export interface Statement {
  readonly _type: string;
  readonly subject: readonly ResourceDescriptor[];
  readonly predicateType: string;
  readonly predicate: {
    readonly buildDefinition: {
      readonly buildType: string;
      readonly externalParameters: Readonly<Record<string, string>>;
      readonly internalParameters: Readonly<Record<string, string>>;
      readonly resolvedDependencies: readonly ResourceDescriptor[];
    };
    readonly runDetails: { readonly builder: { readonly id: string } };
  };
}

/** @param files those of the release. The image is a subject, too, by its digest. */
export function provenanceOf(origin: Origin, files: Checksums): Statement {
  const { version, source, revision, image, imageDigest, bases, locks } = origin;
  const subject = [...files].map(([name, sha256]) => ({ name, digest: { sha256 } }));
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [...subject, { name: image, digest: digestOf(imageDigest) }],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: `${source}/blob/${revision}/docs/verify.md#how-a-release-is-built`,
        externalParameters: { version, image },
        internalParameters: { command: `make release VERSION=${version}` },
        resolvedDependencies: [
          { uri: `git+${source}@${revision}`, digest: { gitCommit: revision } },
          ...bases.map(baseDescriptor),
          ...[...locks].map(([name, sha256]) => ({ name, digest: { sha256 } })),
        ],
      },
      // Who signs says who built: no service vouches for this one, and no time is taken, for the same bytes each time.
      runDetails: { builder: { id: `${source}/blob/${revision}/hack/release.ts` } },
    },
  };
}

function baseDescriptor(reference: string): ResourceDescriptor {
  const [uri, digest] = reference.split('@');
  return digest === undefined ? { uri: reference } : { uri: `docker://${uri}`, digest: digestOf(digest) };
}

function digestOf(digest: string): Record<string, string> {
  const [algorithm = '', value = ''] = digest.split(':');
  return { [algorithm]: value };
}
