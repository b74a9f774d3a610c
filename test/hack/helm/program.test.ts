import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { findHelm, helmVersion, whyNoHelm } from '../../../hack/helm/program.ts';

/** For one test: a new environment in which nothing was built yet, and its folder. */
function emptyEnvironment(t: TestContext, more: NodeJS.ProcessEnv = {}): string {
  const before = process.env;
  const directory = mkdtempSync(join(tmpdir(), 'atwatch-test-'));
  process.env = { PATH: directory, ATWATCH_CACHE: directory, ...more };
  t.after(() => {
    process.env = before;
    rmSync(directory, { recursive: true });
  });
  return directory;
}

/** A helm that says that it is of this version. */
function writeHelm(directory: string, version: string): string {
  const path = join(directory, 'helm');
  writeFileSync(path, `#!/bin/sh\necho ${version}\n`);
  chmodSync(path, 0o755);
  return path;
}

test('ATWATCH_HELM is used whatever its version, and must exist', async (t) => {
  const directory = emptyEnvironment(t);
  process.env.ATWATCH_HELM = writeHelm(directory, 'v2.0.0');
  assert.equal(await findHelm(), join(directory, 'helm'));
  process.env.ATWATCH_HELM = join(directory, 'none');
  await assert.rejects(findHelm(), {
    name: 'ClusterError',
    message: /^ATWATCH_HELM names .*none, which does/,
  });
});

test('a helm in PATH is used if its version is the one of go.mod', async (t) => {
  const directory = emptyEnvironment(t);
  const path = writeHelm(directory, helmVersion);
  assert.equal(whyNoHelm(), undefined);
  assert.equal(await findHelm(), path);
});

test('the version is that of a release', () => {
  assert.match(helmVersion, /^v\d+\.\d+\.\d+$/);
});
