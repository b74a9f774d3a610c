import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { describeMissing, find, isStatic } from '../../local-cluster/packages.ts';

const missing = [
  { program: 'containerd', debianPackage: 'containerd' },
  { program: 'containerd-shim-runc-v2', debianPackage: 'containerd' },
  { program: 'ip', debianPackage: 'iproute2' },
];

test('missing programs are named, each package once', () => {
  assert.equal(
    describeMissing(missing, true),
    'a node needs programs that this machine lacks: containerd, containerd-shim-runc-v2, ip. ' +
      'Install them: apt-get install containerd iproute2',
  );
});

test('without apt the packages are a hint', () => {
  assert.match(describeMissing(missing, false), /what Debian has in its packages containerd iproute2$/);
});

test('a program is looked for in its own folders if it has any', () => {
  assert.equal(find({ program: 'sh', debianPackage: 'dash', directories: ['/nowhere'] }), undefined);
  assert.ok(find({ program: 'sh', debianPackage: 'dash' })?.endsWith('/sh'));
});

test('a program that needs shared libraries is not static', (t) => {
  if (process.platform !== 'linux') return t.skip('ldd is a program of Linux');
  assert.equal(isStatic(process.execPath), false);
  const esbuild = createRequire(import.meta.resolve('esbuild')).resolve(
    `@esbuild/linux-${process.arch}/bin/esbuild`,
  );
  assert.equal(isStatic(esbuild), true);
});
