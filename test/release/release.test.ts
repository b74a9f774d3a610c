/**
 * `make release` and `make verify-release`, as docs/verify.md has people use them: two clones of this commit give the same
 * release, it is accepted, and what is forged is refused with a sentence that says so.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { findCosign, whyNoCosign } from '../../hack/cosign/program.ts';
import { whyNoHelm } from '../../hack/helm/program.ts';
import { whyNoArchive } from '../../hack/image/local-archive.ts';
import { readArchive } from '../../hack/release/archives.ts';
import { sha256, sha256Of } from '../../hack/release/checksums.ts';
import { partNames } from '../../hack/release/parts.ts';
import { blocksOf, readDocument } from '../fixtures/document.ts';
import { changeInArchive, copyOf, replaceInImage, signAgain } from './forgery.ts';

const execute = promisify(execFile);
const { version } = JSON.parse(await readFile('package.json', 'utf8'));
const names = partNames(version);
/** Of the make and the test runner that run this, the programs that are run here know nothing. */
const { MAKEFLAGS: _, NODE_TEST_CONTEXT: __, ...ownEnvironment } = process.env;
const skip = whyNoArchive() ?? whyNoHelm() ?? whyNoCosign() ?? false;

describe('a release', { skip }, () => {
  let folder: string;
  let release: string;
  let other: string;
  const key = () => join(folder, 'mine.key');

  /** With the umask of a user who shares nothing, or everything. */
  const make = (directory: string, args: readonly string[], umask = '022') => {
    const command = `umask ${umask}; exec make --silent "$@"`;
    const options = { cwd: directory, env: ownEnvironment, maxBuffer: 16 << 20 };
    return execute('bash', ['-c', command, 'make', ...args], options);
  };

  const makeRelease = (clone: string, umask?: string) =>
    make(
      clone,
      [
        ...['release', `VERSION=${version}`, 'BASES=local', `KEY=${key()}`],
        ...['IMG=registry.example/atwatch', 'SOURCE=https://git.example/atwatch'],
      ],
      umask,
    );

  const verify = (directory: string, publicKey = 'mine.pub') =>
    make('.', ['verify-release', `RELEASE_DIR=${directory}`, `KEY=${join(folder, publicKey)}`]);

  /** A clone as others get it, with the packages that are installed here. */
  async function clone(name: string, umask: string): Promise<string> {
    const path = join(folder, name);
    await execute('bash', ['-c', `umask ${umask}; exec git clone --quiet . "$0"`, path]);
    await execute('cp', ['-a', 'node_modules', path]);
    await utimes(join(path, 'node_modules/.package-lock.json'), new Date(), new Date());
    return path;
  }

  async function refusal(directory: string, publicKey?: string): Promise<string> {
    const error = await verify(directory, publicKey).then(
      () => undefined,
      (refused) => refused,
    );
    assert.ok(error, 'it was accepted');
    return error.stderr;
  }

  async function forged(t: TestContext): Promise<string> {
    const directory = await copyOf(release);
    t.after(() => rm(directory, { recursive: true, force: true }));
    return directory;
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'atwatch-releases-'));
    for (const name of ['mine', 'another']) {
      const env = { ...process.env, COSIGN_PASSWORD: '' };
      const prefix = `--output-key-prefix=${name}`;
      await execute(await findCosign(), ['generate-key-pair', prefix], { cwd: folder, env });
    }
    const one = await clone('one', '022');
    const two = await clone('two-with-a-longer-path', '077');
    await makeRelease(one);
    await makeRelease(two, '077');
    [release, other] = [join(one, 'dist/release'), join(two, 'dist/release')];
  });
  after(async () => {
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  it('is the same from two clones, at two times and with two umasks, but for the signatures', async () => {
    const files = (await readdir(release)).sort();
    assert.deepEqual(files, (await readdir(other)).sort());
    const digests = (directory: string) =>
      Promise.all(files.map(async (name) => [name, await sha256Of(join(directory, name))] as const));
    const [mine, theirs] = [new Map(await digests(release)), new Map(await digests(other))];
    const different = files.filter((name) => mine.get(name) !== theirs.get(name));
    // A signature has a random part, and the checksums are of a signature, too.
    const signatures = ['SHA256SUMS', 'SHA256SUMS.sigstore.json', 'provenance.sigstore.json'];
    assert.deepEqual(different, signatures);
  });

  it('is accepted', async () => {
    const { stdout } = await verify(release);
    const head = (await execute('git', ['-C', join(folder, 'one'), 'rev-parse', 'HEAD'])).stdout.trim();
    assert.match(stdout, new RegExp(`is the release ${version} of commit ${head}, with the image sha256:`));
  });

  it('is accepted by the commands of docs/verify.md', async () => {
    const blocks = blocksOf(await readDocument('docs/verify.md'));
    const commands = blocks.filter(({ runBy }) => runBy === 'test/release/release.test.ts');
    const sources = join(folder, 'one');
    const [theirs, publicKey] = [join(sources, 'path/of/the'), join(folder, 'mine.pub')];
    await mkdir(theirs, { recursive: true });
    await symlink(release, join(theirs, 'release'));
    await symlink(publicKey, join(sources, 'path/of/cosign.pub'));
    const downloaded = await copyOf(release);
    await symlink(publicKey, join(downloaded, 'cosign.pub'));
    const env = { ...ownEnvironment, PATH: `${dirname(await findCosign())}:${process.env.PATH}` };
    const [byHand = '', byMake = ''] = commands.map(({ text }) => text);
    const run = (command: string, cwd: string) =>
      execute('bash', ['-euo', 'pipefail', '-c', command], { cwd, env });
    assert.match((await run(byHand, downloaded)).stdout, /^install\.yaml: OK$/m);
    assert.match((await run(byMake, sources)).stdout, /is the release/);
    await rm(join(sources, 'path'), { recursive: true });
    await rm(downloaded, { recursive: true });
  });

  it('has alerts and dashboard link to the runbooks of its version', async () => {
    const values = String(await readArchive(join(release, names.chart), 'atwatch/values.yaml'));
    assert.match(
      values,
      new RegExp(`^  runbooks: https://git.example/atwatch/blob/v${version}/docs/runbooks.md$`, 'm'),
    );
  });

  it('is refused when a byte is another', async (t) => {
    const directory = await forged(t);
    await appendFile(join(directory, names.install), '\n');
    assert.match(await refusal(directory), /^install\.yaml is not what was released$/m);
  });

  it('is refused under another key', async () => {
    assert.match(await refusal(release, 'another.pub'), /^the release is not signed under this key: /m);
  });

  it('is refused with a file without a signature, and without one of its files', async (t) => {
    const directory = await forged(t);
    await writeFile(join(directory, 'more.sh'), '');
    await rm(join(directory, names.chart));
    const said = await refusal(directory);
    assert.match(said, /^more\.sh is no part of the release$/m);
    assert.match(said, new RegExp(`^${names.chart} is missing$`, 'm'));
  });

  it('is refused when the image lacks a licence, though it is signed', async (t) => {
    const directory = await forged(t);
    const notices = await readFile(join(release, '../third-party-licenses.txt'), 'utf8');
    const without = notices.replace(/\n\nundici \S+ \(MIT\)\n\n.+?(?=\n\n-{80}|$)/s, '');
    assert.notEqual(without, notices);
    await replaceInImage(directory, version, {
      'licenses/third-party-licenses.txt': without,
      'licenses/nodejs.txt': '',
    });
    await signAgain(directory, version, key());
    const said = await refusal(directory);
    assert.match(said, /^the image holds code of pkg:npm\/undici@\S+, whose licence is missing$/m);
    assert.match(said, /^the image has no \/licenses\/nodejs\.txt$/m);
  });

  it('is refused when the bundle holds a package that an SBOM does not list, though it is signed', async (t) => {
    const directory = await forged(t);
    const sbom = JSON.parse(await readFile(join(directory, names.cycloneDx), 'utf8'));
    sbom.components = sbom.components.filter(({ name }: { name: string }) => name !== 'luxon');
    const text = JSON.stringify(sbom);
    await writeFile(join(directory, names.cycloneDx), text);
    await replaceInImage(directory, version, { [`usr/share/sbom/${names.cycloneDx}`]: text });
    await signAgain(directory, version, key());
    const said = await refusal(directory);
    assert.match(said, /holds code of pkg:npm\/luxon@\S+, which the cycloneDx SBOM does not list$/m);
  });

  it('is refused when the bundle holds a package that the account of the bundler does not name, though it is signed', async (t) => {
    const directory = await forged(t);
    const bundle = `${await readFile(join(release, '../atwatch.js'), 'utf8')};({"node_modules/evil/index.js"(){}});`;
    const account = join(directory, names.contents);
    const contents = JSON.parse(await readFile(account, 'utf8'));
    contents['atwatch.js'].sha256 = sha256(Buffer.from(bundle));
    await writeFile(account, JSON.stringify(contents));
    await replaceInImage(directory, version, { 'atwatch.js': bundle });
    await signAgain(directory, version, key());
    const said = await refusal(directory);
    assert.match(said, /^the image holds code of node_modules\/evil, which its account does not name$/m);
  });

  it('is refused when the image starts another program, though it is signed', async (t) => {
    const directory = await forged(t);
    const start = { Entrypoint: ['/nodejs/bin/node', '/more.js'], Env: ['NODE_OPTIONS=--require=/more.js'] };
    await replaceInImage(directory, version, { 'more.js': '' }, start);
    await signAgain(directory, version, key());
    const said = await refusal(directory);
    assert.match(said, /^the image starts \/nodejs\/bin\/node \/more\.js$/m);
    assert.match(said, /^the image sets NODE_OPTIONS=--require=\/more\.js$/m);
  });

  it('is refused when an npm package or a plugin lacks a licence or a line of its SBOM, though it is signed', async (t) => {
    const directory = await forged(t);
    const withoutText = (text: string) => text.replace(/\n\nluxon \S+ \(MIT\)\n\n.+?(?=\n\n-{80}|\n$)/s, '');
    const withoutLine = (text: string) => text.replaceAll('pkg:npm/luxon@', 'pkg:npm/other@');
    const runtime = join(directory, names.runtime);
    await changeInArchive(runtime, 'package/third-party-licenses.txt', (text) =>
      text.replace(/\n\nundici \S+ \(MIT\)\n\n.+?(?=\n\n-{80}|\n$)/s, ''),
    );
    await changeInArchive(runtime, 'package/atwatch-runtime.spdx.json', (text) =>
      text.replaceAll('pkg:npm/undici@', 'pkg:npm/other@'),
    );
    const npm = join(directory, names.npm);
    await changeInArchive(npm, 'package/dist/third-party-licenses.txt', withoutText);
    const plugin = `kubectl-at-${version}.tar.gz`;
    await changeInArchive(join(directory, plugin), 'kubectl-at.cdx.json', withoutLine);
    await signAgain(directory, version, key());
    const said = await refusal(directory);
    for (const sentence of [
      `${names.runtime} holds code of pkg:npm/undici@\\S+, whose licence is missing`,
      `${names.runtime} holds code of pkg:npm/undici@\\S+, which the spdx SBOM does not list`,
      `${names.npm} holds code of pkg:npm/luxon@\\S+, whose licence is missing`,
      `${plugin} holds code of pkg:npm/luxon@\\S+, which the cycloneDx SBOM does not list`,
    ]) {
      assert.match(said, new RegExp(`^${sentence}$`, 'm'));
    }
  });

  it('is refused when the image holds another bundle than the account is of, though it is signed', async (t) => {
    const directory = await forged(t);
    await replaceInImage(directory, version, { 'atwatch.js': 'console.log()' });
    await signAgain(directory, version, key());
    assert.match(await refusal(directory), /^the image holds another atwatch\.js than the one/m);
  });

  it('is not made of a tree with changes, or as another version', async () => {
    const dirty = join(folder, 'one');
    const refused = (pattern: RegExp) => (error: { stderr: string }) => pattern.test(error.stderr);
    const another = [
      'release',
      'VERSION=99.0.0',
      'BASES=local',
      'IMG=i',
      'SOURCE=https://s.example',
      'KEY=k',
    ];
    await assert.rejects(make(dirty, another), refused(/package\.json says version .+, not 99\.0\.0/));
    await writeFile(join(dirty, 'more.txt'), '');
    await assert.rejects(makeRelease(dirty), refused(/the tree is not clean.+more\.txt/s));
  });

  it('is not made on base images without a digest, unless they are made here', async () => {
    const clean = join(folder, 'two-with-a-longer-path');
    await execute('sed', ['-i', 's/@sha256:.*//', 'Dockerfile'], { cwd: clean });
    const author = ['-c', 'user.name=one', '-c', 'user.email=one@example.com'];
    await execute('git', [...author, 'commit', '--quiet', '--all', '--message=Unpin'], { cwd: clean });
    const args = ['release', `VERSION=${version}`, 'IMG=i', 'SOURCE=https://s.example', `KEY=${key()}`];
    await assert.rejects(make(clean, args), ({ stderr }: { stderr: string }) =>
      /without a digest: run make renew-base-images/.test(stderr),
    );
  });
});
