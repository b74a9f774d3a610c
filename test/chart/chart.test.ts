/** The chart as a package: what it says of itself is so. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { chart, helm, type Rendered, render, skip } from './helm.ts';

const metadata = parse(await readFile(`${chart}/Chart.yaml`, 'utf8'));
const { version } = JSON.parse(await readFile('package.json', 'utf8'));

describe('Chart.yaml', { skip }, () => {
  it('has the version of the operator', () => {
    assert.deepEqual([metadata.version, metadata.appVersion], [version, version]);
  });

  it('lists the CRDs that are installed', async () => {
    const crds = (await render({})).filter(({ kind }) => kind === 'CustomResourceDefinition');
    const listed: Rendered[] = parse(metadata.annotations['artifacthub.io/crds']);
    assert.deepEqual(
      listed.map(({ kind, name, version: served }) => ({ kind, name, served })),
      crds.map(({ metadata: { name }, spec }) => ({
        kind: spec.names.kind,
        name,
        served: spec.versions[0].name,
      })),
    );
  });

  it('shows the samples as examples', async () => {
    const samples = ['cnat_v1alpha1_at.yaml', 'k8spatterns_v1_configwatcher.yaml'].map(async (file) => {
      const { metadata: meta, ...sample } = parse(await readFile(`config/samples/${file}`, 'utf8'));
      return { ...sample, metadata: { name: meta.name } };
    });
    assert.deepEqual(parse(metadata.annotations['artifacthub.io/crdsExamples']), await Promise.all(samples));
  });
});

describe('the chart', { skip }, () => {
  it('is clean to helm lint --strict, with everything switched on as well', async () => {
    const everything = {
      ...{ replicas: 2, namespaces: ['default'], rolloutRestart: true, secretAccess: true },
      ...{ annotationController: true, secondGroup: true, metrics: { enabled: true } },
    };
    for (const values of [{}, everything]) {
      await helm(['lint', '--strict', '--quiet', chart, '--values=-'], { input: JSON.stringify(values) });
    }
  });

  it('is refused by a cluster that is older than any that was tested', async () => {
    const args = ['template', 'atwatch', chart, '--kube-version=1.30.0'];
    await assert.rejects(helm(args), /chart requires kubeVersion: >=1\.31\.0-0 which is incompatible/);
  });

  it('is packed with all that its templates read', async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'atwatch-chart-'));
    t.after(() => rm(directory, { recursive: true }));
    await helm(['package', chart, `--destination=${directory}`]);
    const archive = join(directory, `atwatch-${version}.tgz`);
    const { stdout } = await promisify(execFile)('tar', ['--list', '--file', archive]);
    const files = stdout.split('\n');
    for (const file of [
      'values.schema.json',
      'README.md',
      'files/crds/ats.yaml',
      'files/policy/operator_pods.yaml',
    ]) {
      assert.ok(files.includes(`atwatch/${file}`), file);
    }
    assert.equal(await helm(['template', 'atwatch', archive]), await helm(['template', 'atwatch', chart]));
  });
});
