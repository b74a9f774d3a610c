import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { findGo, isTooOld, requiredVersion } from '../../local-cluster/go-program.ts';

test('go is found in PATH, and where its installer puts it, and may be missing', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'atwatch-test-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const go = join(directory, 'go');
  writeFileSync(go, '');
  assert.equal(findGo({ PATH: `/nowhere:${directory}` }, '/nowhere'), go);
  assert.equal(findGo({ PATH: '/nowhere' }, directory), go);
  assert.equal(findGo({}, '/nowhere'), undefined);
});

test('the version that is required is read from the list and from the single line', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'atwatch-test-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const lines = [
    'module x',
    'require a.example/one v1.2.3',
    'require (',
    '\tb.example/two v4.5.6 // indirect',
    ')',
  ];
  writeFileSync(join(directory, 'go.mod'), lines.join('\n'));
  assert.equal(requiredVersion(directory, 'a.example/one'), 'v1.2.3');
  assert.equal(requiredVersion(directory, 'b.example/two'), 'v4.5.6');
  assert.throws(() => requiredVersion(directory, 'c.example/three'), /requires no c\.example\/three/);
});

const refusals = [
  {
    line: "go: errors parsing go.mod: go.mod:3: invalid go version '1.26.0': must match format 1.23",
    tooOld: true,
  },
  { line: 'go: go.mod requires go >= 1.26.0 (running go 1.24.4; GOTOOLCHAIN=local)', tooOld: true },
  { line: 'main.go:3:1: syntax error', tooOld: false },
];

for (const { line, tooOld } of refusals) {
  test(`${line} ${tooOld ? 'means' : 'does not mean'} that go is too old`, () => {
    assert.equal(isTooOld(line), tooOld);
  });
}
