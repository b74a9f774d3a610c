/** What `make test-versions` found, and what is said of it. Pure. */

/** Of one version of Kubernetes. */
export interface VersionResult {
  /** As in 1.36.3. */
  readonly version: string;
  /** How many tests there were of each result; undefined when it could not be built. */
  readonly tests?: { readonly passed: number; readonly failed: number; readonly skipped?: number };
  /** Why it, or a newer patch of the minor, could not be built. */
  readonly note?: string;
  /** The commit that was tested. */
  readonly revision: string;
}

/**
 * Why a version was not built.
 *
 * @param said by go. Its addresses are those of one machine's module proxy, and are left out.
 */
export function notBuilt(said: string): string {
  const refused = /(\S+)@(v[\w.-]+): .*(?:403|404|410|not found|unknown revision)/gi;
  const missing = new Set(
    Array.from(said.matchAll(refused), ([, module, version]) => `${module} ${version}`),
  );
  if (missing.size > 0) return `cannot be built: the module proxy has no ${[...missing].sort().join(', ')}`;
  const last = said.trim().split('\n').at(-1) ?? '';
  return `cannot be built: ${last
    .replaceAll(/https?:\/\/\S+/g, '…')
    .trim()
    .slice(0, 200)}`;
}

const minorOf = ({ version }: VersionResult) => Number(version.split('.')[1]);
const patchOf = ({ version }: VersionResult) => Number(version.split('.')[2]);

/**
 * With a newer result in the place of an older one of the same minor, the newest minor first. A patch that cannot be built
 * takes no place of one that was tested: a note says so beside that one.
 */
export function withResult(results: readonly VersionResult[], result: VersionResult): VersionResult[] {
  const others = results.filter((other) => minorOf(other) !== minorOf(result));
  const known = results.find((other) => minorOf(other) === minorOf(result));
  const ofMinor = known === undefined ? result : merged(known, result);
  return [...others, ofMinor].sort((one, other) => minorOf(other) - minorOf(one));
}

function merged(known: VersionResult, result: VersionResult): VersionResult {
  if (known.tests === undefined) return result.tests === undefined ? result : withNote(result, known);
  if (result.tests === undefined) return withNote(known, result);
  return result.version === known.version && known.note !== undefined
    ? { ...result, note: known.note }
    : result;
}

/** @param unbuilt tells of a newer patch than that which was tested; of another one there is nothing to say. */
function withNote(tested: VersionResult, unbuilt: VersionResult): VersionResult {
  if (patchOf(unbuilt) <= patchOf(tested)) return tested;
  return { ...tested, note: `${unbuilt.version} ${unbuilt.note}` };
}

/** The page docs/versions.md. */
export function versionsPage(results: readonly VersionResult[]): string {
  const rows = results.map(({ version, tests, note = '', revision }) => {
    const { passed, failed, skipped = 0 } = tests ?? {};
    const left = skipped === 0 ? '' : `, ${skipped} skipped`;
    const found = tests === undefined ? 'not built' : `${passed} passed, ${failed} failed${left}`;
    return `| ${version} | ${found} | ${note} | \`${revision.slice(0, 12)}\` |`;
  });
  return [
    '<!-- Generated from docs/versions/results.json by hack/generate.ts (make generate). Do not edit. -->',
    '# Versions of Kubernetes',
    '',
    'What the integration tests found on the API server of each minor, built from its Go modules:',
    '`make test-versions VERSIONS="1.36.3 1.35.4"` runs them and records what it saw, one minor after the other.',
    'Where the newest patch of a minor cannot be built, an older one was tested, and the note says why.',
    'Skipped is what an older minor does not have: before 1.36 the tests of `config/author-check`, because that is the first to serve',
    'a MutatingAdmissionPolicy in v1, and those that compare each answer with the simulated API server, which speaks like 1.36;',
    'before 1.34 single ones, such as those of what Pod Security judges since then, or of streamed lists.',
    '',
    '| Kubernetes | integration tests | note | commit |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
