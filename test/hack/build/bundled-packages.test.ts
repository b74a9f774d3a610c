import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Metafile } from 'esbuild';
import { bundledPackages } from '../../../hack/build/bundled-packages.ts';
import { noticesOf } from '../../../hack/build/notices.ts';

/** Packages in a folder of their own, by their paths under node_modules; each with its licence unless it is undefined. */
function packagesOnDisk(t: TestContext, packages: Readonly<Record<string, string | undefined>>): string {
  const root = mkdtempSync(join(tmpdir(), 'bundled-'));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [path, licenseText] of Object.entries(packages)) {
    const folder = join(root, 'node_modules', path);
    mkdirSync(folder, { recursive: true });
    const name = path.replace(/^.*node_modules\//, '');
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version: '1.2.3', license: 'MIT' }));
    if (licenseText !== undefined) writeFileSync(join(folder, 'LICENSE.md'), licenseText);
  }
  return root;
}

function metafileOf(inputs: Readonly<Record<string, number>>): Metafile {
  const entries = Object.entries(inputs).map(([path, bytesInOutput]) => [path, { bytesInOutput }]);
  const output = { bytes: 1, inputs: Object.fromEntries(entries), imports: [], exports: [] };
  return { inputs: {}, outputs: { 'out.js': output } };
}

test('the packages are those of which a bundle holds code, each once, nested and scoped ones too', (t) => {
  const root = packagesOnDisk(t, {
    'b-lib': 'B text',
    '@scope/a-lib': 'A text',
    'b-lib/node_modules/c-lib': 'C text',
    unused: 'U text',
  });
  const metafile = metafileOf({
    'src/main.ts': 10,
    [`${root}/node_modules/b-lib/index.js`]: 10,
    [`${root}/node_modules/b-lib/lib/more.js`]: 10,
    [`${root}/node_modules/b-lib/node_modules/c-lib/index.js`]: 10,
    [`${root}/node_modules/@scope/a-lib/x/y.js`]: 10,
    [`${root}/node_modules/unused/index.js`]: 0,
  });
  const packages = bundledPackages([metafile, metafile]);
  assert.deepEqual(
    packages.map(({ name, licenseText }) => [name, licenseText]),
    [
      ['@scope/a-lib', 'A text'],
      ['b-lib', 'B text'],
      ['c-lib', 'C text'],
    ],
  );
  assert.match(noticesOf('it', packages), /\n\nb-lib 1\.2\.3 \(MIT\)\n\nB text\n\n/);
});

test('a package without the text of its licence is refused by name', (t) => {
  const root = packagesOnDisk(t, { bare: undefined });
  const metafile = metafileOf({ [`${root}/node_modules/bare/index.js`]: 1 });
  assert.throws(() => bundledPackages([metafile]), /bare is bundled, but has no licence or no text of it/);
});
