/** The packed runtime with each TypeScript that is promised: `make test-types`. `make test` has the oldest and the newest. */
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { checkTypes, moduleSettings, oldestTypeScript, writePrograms } from '../integration/package-types.ts';
import { RuntimePackage } from '../integration/runtime-package.ts';

/** The last release of each minor up to 6, and the one that this repository uses. */
const versions = [oldestTypeScript, '5.5.4', '5.6.3', '5.7.3', '5.8.3', '5.9.3', '6.0.3', '7.0.2'];

suite('the packed runtime type-checks, with the declarations of all libraries', () => {
  let runtime: RuntimePackage;
  let folder = '';

  before(async () => {
    runtime = await RuntimePackage.pack();
    folder = join(runtime.folder, 'types');
    await mkdir(folder);
    await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
    const { devDependencies, dependencies } = JSON.parse(await readFile('package.json', 'utf8'));
    assert.ok(versions.includes(devDependencies.typescript), 'the newest is the one in use here');
    const libraries = { ...devDependencies, ...dependencies };
    const others = ['@types/node', '@marcbachmann/cel-js', 'pino'].map(
      (name) => `${name}@${libraries[name]}`,
    );
    const compilers = versions.map((version) => `typescript-${version}@npm:typescript@${version}`);
    await runtime.install(folder, [...others, ...compilers]);
    await writePrograms(runtime, folder);
  });
  after(() => runtime.remove());

  for (const version of versions) {
    for (const settings of moduleSettings) {
      test(`TypeScript ${version}, ${settings[1]}`, async () => {
        const installed = join(folder, 'node_modules', `typescript-${version}`);
        const found = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
        assert.equal(found.version, version);
        await checkTypes(folder, join(installed, 'bin/tsc'), settings, version);
      });
    }
  }
});
