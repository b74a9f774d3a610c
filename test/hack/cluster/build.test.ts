import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { findGo, isTooOld, kubernetesVersion, linkerFlags, missingGo } from '../../../hack/cluster/build.ts';

test('the linker gets the version in the parts that Kubernetes reports', () => {
  const flags = linkerFlags('v1.36.3');
  assert.match(flags, /-X k8s\.io\/component-base\/version\.gitVersion=v1\.36\.3 /);
  assert.match(flags, /-X k8s\.io\/component-base\/version\.gitMajor=1 /);
  assert.match(flags, /-X k8s\.io\/client-go\/pkg\/version\.gitMinor=36 /);
});

test('the version is the one that go.mod requires', () => {
  assert.match(kubernetesVersion(), /^v1\.\d+\.\d+$/);
});

test('go is found in PATH, and where its installer puts it, and may be missing', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'atwatch-test-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const go = join(directory, 'go');
  writeFileSync(go, '');
  assert.equal(findGo({ PATH: `/nowhere:${directory}` }, '/nowhere'), go);
  assert.equal(findGo({ PATH: '/nowhere' }, directory), go);
  assert.equal(findGo({}, '/nowhere'), undefined);
});

test('without Go the message names all three ways out', () => {
  for (const way of ['install Go 1.26', 'KUBEBUILDER_ASSETS', 'KUBECONFIG', 'kind']) {
    assert.ok(missingGo.includes(way), way);
  }
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
