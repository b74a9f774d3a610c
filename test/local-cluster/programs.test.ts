import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { checkAssets, findKubectl, findPrograms, missingAbilities } from '../../local-cluster/programs.ts';

function assets(t: TestContext, programs: readonly string[]): string {
  const directory = mkdtempSync(join(tmpdir(), 'atwatch-test-'));
  t.after(() => rmSync(directory, { recursive: true }));
  for (const program of programs) {
    writeFileSync(join(directory, program), '');
    chmodSync(join(directory, program), 0o755);
  }
  return directory;
}

function withEnvironment(t: TestContext, name: string, value: string): void {
  const before = process.env[name];
  process.env[name] = value;
  t.after(() => {
    if (before === undefined) {
      delete process.env[name];
    } else {
      process.env[name] = before;
    }
  });
}

test('KUBEBUILDER_ASSETS without a program that is needed is refused by name', (t) => {
  const directory = assets(t, ['etcd']);
  assert.throws(() => checkAssets(directory), {
    name: 'ClusterError',
    message: new RegExp(
      `^KUBEBUILDER_ASSETS names ${directory}, which has no program kube-apiserver, kubectl\\.`,
    ),
  });
});

test('a file that cannot be run is no program', (t) => {
  const directory = assets(t, ['etcd', 'kube-apiserver', 'kubectl']);
  chmodSync(join(directory, 'etcd'), 0o644);
  assert.throws(() => checkAssets(directory), /no program etcd\./);
});

test('KUBEBUILDER_ASSETS is used as it is; what it lacks is said', async (t) => {
  const directory = assets(t, ['etcd', 'kube-apiserver', 'kubectl', 'kube-scheduler']);
  withEnvironment(t, 'KUBEBUILDER_ASSETS', directory);
  const programs = await findPrograms();
  assert.equal(programs.path('etcd'), join(directory, 'etcd'));
  assert.equal(
    missingAbilities(programs),
    `no kube-controller-manager in ${directory}: the control plane runs without`,
  );
  assert.deepEqual(await findKubectl(), { directory, path: join(directory, 'kubectl') });
});
