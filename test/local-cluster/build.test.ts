import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alternatives, kubernetesVersion, linkerFlags } from '../../local-cluster/build.ts';

test('the linker gets the version in the parts that Kubernetes reports', () => {
  const flags = linkerFlags('v1.36.3');
  assert.match(flags, /-X k8s\.io\/component-base\/version\.gitVersion=v1\.36\.3 /);
  assert.match(flags, /-X k8s\.io\/component-base\/version\.gitMajor=1 /);
  assert.match(flags, /-X k8s\.io\/client-go\/pkg\/version\.gitMinor=36 /);
});

test('the version is the one that go.mod requires', () => {
  assert.match(kubernetesVersion(), /^v1\.\d+\.\d+$/);
});

test('without Go the message names all three ways out', () => {
  for (const way of ['install Go 1.26', 'KUBEBUILDER_ASSETS', 'KUBECONFIG', 'kind']) {
    assert.ok(alternatives.includes(way), way);
  }
});
