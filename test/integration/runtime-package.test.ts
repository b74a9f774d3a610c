/**
 * The package as others get it: packed, installed into an empty folder beside the example operator,
 * type-checked there against its declarations, and run there on a real API server.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import type { Resource } from '../../src/kubernetes/objects.ts';
import { CronTabProcess, everySecondOf, firingsOf, listAts } from './crontab-process.ts';
import { applyCrds, connectToTestCluster, eventually, withNamespace } from './support.ts';

const run = promisify(execFile);

const cronTabs: Resource = {
  group: 'stable.example.com',
  version: 'v1',
  plural: 'crontabs',
  kind: 'CronTab',
  namespaced: true,
};

/** The TypeScript of a page, in its order: one program. */
function codeOf(page: string): string {
  return Array.from(page.matchAll(/^```ts\n(.*?)^```$/gms), ([, code = '']) => code).join('\n');
}

suite('the packed package', () => {
  let folder = '';
  let packed: readonly string[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'atwatch-package-'));
    // Without scripts: what is packed is what `make build` has built.
    const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
    const [tarball] = JSON.parse((await run('npm', pack)).stdout);
    packed = tarball.files.map(({ path }: { path: string }) => path);
    assert.ok(packed.includes('dist/runtime.js'), 'dist/runtime.js is missing: run `make build` first');
    for (const file of await readdir('examples/crontab')) {
      // What a user has installed there to try it out is no part of the example.
      if (file !== 'node_modules' && file !== 'package-lock.json') {
        await cp(`examples/crontab/${file}`, join(folder, file));
      }
    }
    const quiet = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--omit=dev'];
    await run('npm', ['install', ...quiet, `./${tarball.filename}`], { cwd: folder });
    const guide = await readFile(join(folder, 'node_modules/atwatch/docs/runtime.md'), 'utf8');
    assert.match(codeOf(guide), /createManager.+controllerManagedBy.+runManager/s);
    await writeFile(join(folder, 'guide.ts'), codeOf(guide));
    await applyCrds();
    await applyCrds('examples/crontab');
  });
  after(() => rm(folder, { recursive: true, force: true }));

  test('has what it needs to be used, and no sources or tests', () => {
    for (const path of ['dist/atwatch.js', 'dist/types/runtime.d.ts', 'crds/ats.yaml', 'docs/runtime.md']) {
      assert.ok(packed.includes(path), path);
    }
    const folders = new Set(packed.map((path) => path.split('/', 1)[0]));
    for (const room of ['src', 'test', 'hack', 'examples', 'node_modules']) {
      assert.ok(!folders.has(room), room);
    }
  });

  test('has one entry for programs', async () => {
    const { exports } = JSON.parse((await run('npm', ['pkg', 'get', '--json'])).stdout);
    assert.deepEqual(Object.keys(exports), ['./runtime', './package.json']);
  });

  test('has declarations that the example, and the code of docs/runtime.md, type-check against', async () => {
    // The compiler and the types of Node.js are the repository's, so that nothing more has to be installed.
    const types = ['--typeRoots', resolve('node_modules/@types')];
    const check = ['-p', folder, ...types, '--skipLibCheck', 'false', '--pretty', 'false'];
    const { stdout } = await run(resolve('node_modules/.bin/tsc'), check).catch((error) => error);
    const errors = stdout.split('\n').filter((line: string) => line.includes('error TS'));
    // What is wrong with the declarations of other packages is theirs.
    const ours = errors.filter((line: string) => !/node_modules\/(?!atwatch\/)/.test(line));
    assert.deepEqual(ours, []);
  });

  test('runs the example', async (t) => {
    const { client } = connectToTestCluster();
    const namespace = await withNamespace(t);
    await client.create(cronTabs, {
      metadata: { namespace, name: 'tick' },
      ...{ spec: { cronSpec: '* * * * * *', image: 'busybox' } },
    });
    const operator = new CronTabProcess(t, { namespace, folder });
    const firings = await eventually(
      async () => {
        const found = firingsOf(await listAts(client, namespace));
        return found.length >= 3 && found;
      },
      { timeout: 30_000, message: 'three firings' },
    ).catch((error) => assert.fail(`${error.message}: ${operator.output}`));
    assert.deepEqual(firings, everySecondOf(firings));
    operator.send('SIGTERM');
    assert.deepEqual(await operator.ended, { code: 0, signal: null });
  });
});
