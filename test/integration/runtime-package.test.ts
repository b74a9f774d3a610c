/**
 * The package `@atwatch/runtime` as others get it: packed, installed into an empty folder, resolved and type-checked
 * there by compilers old and new, and run there on a real API server.
 */
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, normalize, resolve } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import type { Resource } from '../../src/kubernetes/objects.ts';
import { CronTabProcess, everySecondOf, firingsOf, listAts } from './crontab-process.ts';
import { checkTypes, moduleSettings, oldestTypeScript, writePrograms } from './package-types.ts';
import { buildAsImage, command, copyExample, RuntimePackage, runAsInImage } from './runtime-package.ts';
import { applyCrds, connectToTestCluster, eventually, withNamespace } from './support.ts';

const cronTabs: Resource = {
  group: 'stable.example.com',
  version: 'v1',
  plural: 'crontabs',
  kind: 'CronTab',
  namespaced: true,
};

suite('the packed runtime', () => {
  let runtime: RuntimePackage;
  /** Where it is installed. */
  let folder = '';

  before(async () => {
    runtime = await RuntimePackage.pack();
    folder = join(runtime.folder, 'crontab');
    await mkdir(folder);
    await copyExample('crontab', folder);
    await runtime.install(folder, [`typescript@${oldestTypeScript}`]);
  });
  after(() => runtime.remove());

  const installed = (path: string) => join(folder, 'node_modules/@atwatch/runtime', path);

  test('has its entries, and nothing of the operator that it was made for', async () => {
    for (const path of ['index.js', 'testing.js', 'types/core.js', 'LICENSE', 'third-party-licenses.txt']) {
      assert.ok(runtime.paths.includes(path), path);
    }
    assert.deepEqual(
      runtime.paths.filter((path) => /ats\.yaml|configwatcher|luxon|croner/i.test(path)),
      [],
    );
    const { dependencies } = JSON.parse(await readFile(installed('package.json'), 'utf8'));
    assert.deepEqual(Object.keys(dependencies), ['@prometheus-io/client', 'undici-types']);
  });

  test('is small: no more than 15 MB with all that it brings', async () => {
    const alone = join(runtime.folder, 'alone');
    await mkdir(alone);
    await runtime.install(alone);
    const size = await command('du', ['-sm', 'node_modules'], { cwd: alone });
    assert.ok(Number.parseInt(size, 10) <= 15, size);
  });

  test('has no dead link in its pages', async () => {
    const pages = runtime.paths.filter((path) => path.endsWith('.md'));
    assert.ok(pages.includes('README.md') && pages.includes('docs/runtime.md'));
    const dead: string[] = [];
    for (const page of pages) {
      const text = await readFile(installed(page), 'utf8');
      for (const [, target = ''] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)) {
        if (!runtime.paths.includes(normalize(join(dirname(page), target)))) dead.push(`${page}: ${target}`);
      }
    }
    assert.deepEqual(dead, []);
  });

  test('is clean for publint', async () => {
    const { messages, pkg } = await publint({ pkgDir: installed('.'), strict: true, pack: false });
    assert.deepEqual(
      messages.map((message) => formatMessage(message, pkg)),
      [],
    );
  });

  test('has types that resolve as its code does, for Node.js and for bundlers', async () => {
    const packed = createPackageFromTarballData(new Uint8Array(await readFile(runtime.file)));
    const entrypoints = ['.', './testing', './types/core', './types/apps', './types/autoscaling-v1'];
    const result = await checkPackage(packed, { entrypoints });
    assert.ok(result.types !== false);
    // It is an ES module: who requires it from CommonJS gets that, which Node.js has been able to load since 22.12. The
    // resolution of TypeScript's `node10` knows no exports.
    const problems = result.problems.filter(
      (problem) =>
        problem.kind !== 'CJSResolvesToESM' &&
        !('resolutionKind' in problem && problem.resolutionKind === 'node10'),
    );
    assert.deepEqual(problems, []);
  });

  suite('type-checks with the declarations of all libraries', () => {
    const compilers = {
      [oldestTypeScript]: () => join(folder, 'node_modules/typescript/bin/tsc'),
      newest: () => resolve('node_modules/typescript/bin/tsc'),
    };
    before(() => writePrograms(runtime, folder));

    for (const [version, compiler] of Object.entries(compilers)) {
      for (const settings of moduleSettings) {
        test(`TypeScript ${version}, ${settings[1]}`, () =>
          checkTypes(folder, compiler(), settings, version));
      }
    }

    test('and so does the example', async () => {
      const check = ['--skipLibCheck', 'false', '--pretty', 'false'];
      const tsc = resolve('node_modules/typescript/bin/tsc');
      const config = JSON.parse(await readFile(join(folder, 'tsconfig.json'), 'utf8'));
      await writeFile(
        join(folder, 'tsconfig.example.json'),
        JSON.stringify({ ...config, include: ['main.ts'] }),
      );
      await command(process.execPath, [tsc, '-p', 'tsconfig.example.json', ...check], { cwd: folder });
    });
  });

  test('prints the types of a CRD', async () => {
    const program = installed('atwatch-runtime.js');
    const printed = await command(process.execPath, [program, 'types', 'crd.yaml'], {
      cwd: resolve('examples/notes'),
    });
    assert.equal(printed, await readFile('examples/notes/types.generated.ts', 'utf8'));
  });

  test('makes a new operator that passes its tests and runs on a real API server', async () => {
    const empty = join(runtime.folder, 'empty');
    await mkdir(empty);
    await runtime.install(empty);
    const program = join(empty, 'node_modules/.bin/atwatch-runtime');
    await command(program, ['new', 'blog-posts'], { cwd: empty });
    const cwd = join(empty, 'blog-posts');
    const crd = await readFile(join(cwd, 'crd.yaml'), 'utf8');
    assert.match(crd, /plural: blogposts/);
    const generated = await readFile(join(cwd, 'types.generated.ts'), 'utf8');
    await command('npm', ['run', '--silent', 'generate'], { cwd });
    assert.equal(await readFile(join(cwd, 'types.generated.ts'), 'utf8'), generated);
    assert.match(await command('npm', ['test'], { cwd }), /pass 3/);
    assert.match(await command('make', ['demo'], { cwd }), /Ready: True/);
    await command('npm', ['run', 'build'], { cwd });
    await assert.rejects(runAsInImage(cwd), /nowhere\) names no file that exists/);
    await buildAsImage(cwd, join(runtime.folder, 'image'));
  });

  test('runs the example on a real API server', async (t) => {
    await applyCrds();
    await applyCrds('examples/crontab');
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
