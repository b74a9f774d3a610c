/** The bundle for OLM: its validators find nothing, and what they look at is really ours. */
import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { parse } from 'yaml';
import { goProgram, unlessMissing } from './programs.ts';

const program = await unlessMissing(goProgram);
const csvPath = 'manifests/atwatch.clusterserviceversion.yaml';

/** Warnings that are mistaken, as a part of their text, and why. */
const mistaken = {
  'API(s) for events': 'it sees the resource and not the group, which is events.k8s.io: that is served as v1',
};

/** A copy of the bundle with other text in one of its files. */
async function changed(t: TestContext, file: string, change: (text: string) => string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'atwatch-bundle-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  await cp('bundle', directory, { recursive: true });
  const text = await readFile(join(directory, file), 'utf8');
  assert.notEqual(change(text), text);
  await writeFile(join(directory, file), change(text));
  return directory;
}

describe('the bundle', { skip: 'skip' in program && program.skip }, () => {
  if ('skip' in program) return;

  it('passes validation', async () => {
    const { code, stdout, stderr } = await program('bundle', ['bundle']);
    assert.equal(code, 0, stderr);
    const problems = stdout.split('\n').filter(Boolean);
    const known = Object.keys(mistaken);
    assert.deepEqual(
      problems.filter((problem) => !known.some((words) => problem.includes(words))),
      [],
    );
    assert.ok(known.every((words) => problems.some((problem) => problem.includes(words))));
  });

  const wrong: readonly { it: string; from: string; to: string; says: RegExp }[] = [
    {
      it: 'a field that does not exist',
      from: 'minKubeVersion:',
      to: 'minKubeVersio:',
      says: /minKubeVersio/,
    },
    {
      it: 'a version that its CRD has not',
      from: 'version: v1alpha1',
      to: 'version: v1beta1',
      says: /error: .*v1beta1/,
    },
    { it: 'an example that is no JSON', from: '"kind": "At",', to: '"kind": At,', says: /error: .*invalid/ },
  ];
  for (const { it: what, from, to, says } of wrong) {
    it(`would not pass with ${what}`, async (t) => {
      const directory = await changed(t, csvPath, (text) => text.replace(from, to));
      const { stdout, stderr } = await program('bundle', [directory]);
      assert.match(stdout + stderr, says);
    });
  }
});

describe('the ClusterServiceVersion', async () => {
  const { spec } = parse(await readFile(join('bundle', csvPath), 'utf8'));
  const [deployment] = spec.install.spec.deployments;

  it('watches the namespaces of the OperatorGroup, which may be any', () => {
    const { env } = deployment.spec.template.spec.containers[0];
    assert.deepEqual(
      env.find(({ name }: { name: string }) => name === 'WATCH_NAMESPACE').valueFrom.fieldRef.fieldPath,
      "metadata.annotations['olm.targetNamespaces']",
    );
    assert.ok(spec.installModes.every(({ supported }: { supported: boolean }) => supported));
  });

  it('has rights in these namespaces only', () => {
    assert.equal(spec.install.spec.clusterPermissions, undefined);
    const [{ serviceAccountName }] = spec.install.spec.permissions;
    assert.equal(serviceAccountName, deployment.spec.template.spec.serviceAccountName);
  });

  it('describes every field of both kinds', async () => {
    for (const { kind, specDescriptors, statusDescriptors } of spec.customresourcedefinitions.owned) {
      for (const { path, displayName, description } of [...specDescriptors, ...statusDescriptors]) {
        assert.match(displayName, /^[A-Z][A-Za-z]*( [A-Z][A-Za-z]*)*$/, `${kind} ${path}`);
        assert.notEqual(description, '', `${kind} ${path}`);
      }
    }
  });
});
