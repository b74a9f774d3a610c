import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isStatic } from '../../local-cluster/elf.ts';
import { describeMissing, find } from '../../local-cluster/packages.ts';

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

/** A 64-bit ELF header with program headers of these types. */
function elf(types: readonly number[]): Buffer {
  const program = Buffer.alloc(64 + 56 * types.length);
  program.set([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
  program.writeBigUInt64LE(64n, 32);
  program.writeUInt16LE(56, 54);
  program.writeUInt16LE(types.length, 56);
  for (const [index, type] of types.entries()) {
    program.writeUInt32LE(type, 64 + 56 * index);
  }
  return program;
}

test('a program that names a dynamic loader is not static', () => {
  const [load, interpreter] = [1, 3];
  assert.equal(isStatic(elf([load, load])), true);
  assert.equal(isStatic(elf([load, interpreter])), false);
  assert.equal(isStatic(Buffer.from('#!/bin/sh\n')), false);
});
