import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noticesOf } from '../../../hack/build/notices.ts';
import { cycloneDxOf, npmComponent, spdxOf } from '../../../hack/build/sbom.ts';
import {
  licenceProblems,
  sbomProblems,
  sbomPurls,
  startProblems,
  unaccountedPackages,
} from '../../../hack/release/contents-check.ts';

const product = npmComponent('it', '1.0.0', 'Apache-2.0');
const parts = [npmComponent('a', '1.0.0', 'MIT'), npmComponent('@scope/b', '2.0.0', 'ISC')];
const contents = {
  sha256: '',
  packages: { 'node_modules/a': 'pkg:npm/a@1.0.0', 'node_modules/@scope/b': 'pkg:npm/%40scope/b@2.0.0' },
  files: ['node_modules/@scope/b/y.js', 'node_modules/a/x.js', 'src/main.ts'],
};
const notices = (texts: Readonly<Record<string, string>>) =>
  noticesOf(
    'it',
    Object.entries(texts).map(([named, licenseText]) => {
      const [, name = '', version = ''] = /^(.+)@(.+)$/.exec(named) ?? [];
      return { name, version, license: 'MIT', licenseText, folder: '' };
    }),
  );

test('all is well when each package has its text and is listed', () => {
  assert.deepEqual(licenceProblems('it', contents, notices({ 'a@1.0.0': 'A', '@scope/b@2.0.0': 'B' })), []);
  const purls = sbomPurls(spdxOf(product, parts), cycloneDxOf(product, parts));
  assert.deepEqual(sbomProblems('it', contents, purls), []);
});

test('a licence counts by name, version and text', () => {
  const missing = (texts: Readonly<Record<string, string>>) =>
    licenceProblems('it', contents, notices(texts));
  const sentence = 'it holds code of pkg:npm/a@1.0.0, whose licence is missing';
  assert.deepEqual(missing({ '@scope/b@2.0.0': 'B' }), [sentence]);
  assert.deepEqual(missing({ 'a@1.0.1': 'A', '@scope/b@2.0.0': 'B' }), [sentence]);
  assert.deepEqual(missing({ 'a@1.0.0': ' ', '@scope/b@2.0.0': 'B' }), [sentence]);
});

test('a package that only one SBOM lists is missing in the other', () => {
  const purls = sbomPurls(spdxOf(product, parts.slice(1)), cycloneDxOf(product, parts));
  assert.deepEqual(sbomProblems('it', contents, purls), [
    'it holds code of pkg:npm/a@1.0.0, which the spdx SBOM does not list',
  ]);
});

test('code of a package that the account does not name is told', () => {
  const more = { ...contents, files: [...contents.files, 'node_modules/a/node_modules/c/z.js'] };
  assert.deepEqual(licenceProblems('it', more, notices({ 'a@1.0.0': 'A', '@scope/b@2.0.0': 'B' })), [
    'it holds code of node_modules/a/node_modules/c, which its account does not name',
  ]);
});

test('a package that the bundle names and the account does not is told, though the account is of these bytes', () => {
  const wrapped = (...paths: string[]) => paths.map((path) => `f({"${path}"(e){}});`).join('');
  const known = wrapped('node_modules/a/x.js', 'node_modules/@scope/b/y.js', 'src/main.ts');
  assert.deepEqual(unaccountedPackages('it', contents, known), []);
  const more = known + wrapped('node_modules/@scope/c/z.js', '../node_modules/a/node_modules/d/z.js');
  assert.deepEqual(unaccountedPackages('it', contents, more), [
    'it holds code of node_modules/@scope/c, which its account does not name',
    'it holds code of ../node_modules/a/node_modules/d, which its account does not name',
  ]);
});

test('an image starts Node.js with the bundle, and nothing before it', () => {
  const Entrypoint = ['/nodejs/bin/node', '--max-semi-space-size=8', '--expose-gc', '/atwatch.js'];
  const Env = ['PATH=/usr/bin', 'MALLOC_ARENA_MAX=8'];
  assert.deepEqual(startProblems({ Entrypoint, Env, Cmd: null }), []);
  const starts = (...command: string[]) => startProblems({ Entrypoint: command, Env });
  assert.deepEqual(starts('/nodejs/bin/node', '--import=/evil.js', '/atwatch.js'), [
    'the image starts /nodejs/bin/node --import=/evil.js /atwatch.js',
  ]);
  assert.deepEqual(starts('/nodejs/bin/node', '/evil.js'), ['the image starts /nodejs/bin/node /evil.js']);
  assert.deepEqual(starts('/evil', '/atwatch.js'), ['the image starts /evil /atwatch.js']);
  assert.deepEqual(starts(), ['the image starts ']);
  assert.deepEqual(
    startProblems({ Entrypoint, Env: ['NODE_OPTIONS=--require=/evil.js', 'LD_PRELOAD=/x.so'] }),
    ['the image sets NODE_OPTIONS=--require=/evil.js', 'the image sets LD_PRELOAD=/x.so'],
  );
});
