import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { parse } from 'yaml';
import { goModOf, programOf } from '../../../hack/versions/module.ts';
import { notBuilt, type VersionResult, versionsPage, withResult } from '../../../hack/versions/results.ts';

const passed = { passed: 900, failed: 0 };
const result = (version: string, more: Partial<VersionResult> = { tests: passed }): VersionResult => ({
  ...{ version, revision: 'a'.repeat(40) },
  ...more,
});

test('a minor has one result, its newest, and the newest minor is the first', () => {
  const known = [result('1.36.2'), result('1.9.1')];
  const results = withResult(withResult(known, result('1.36.3')), result('1.37.0'));
  assert.deepEqual(
    results.map(({ version }) => version),
    ['1.37.0', '1.36.3', '1.9.1'],
  );
});

test('a patch that cannot be built is told of beside an older one that was tested, in either order', () => {
  const why = 'cannot be built: the module proxy has no k8s.io/a v0.31.14';
  const unbuilt = result('1.31.14', { note: why });
  const tested = result('1.31.4');
  const both = [{ ...tested, note: `1.31.14 ${why}` }];
  assert.deepEqual(withResult([tested], unbuilt), both);
  assert.deepEqual(withResult([unbuilt], tested), both);
  assert.deepEqual(withResult(both, tested), both, 'also after another run of it');
  const newest = result('1.31.14');
  assert.deepEqual(withResult(both, newest), [newest]);
  assert.deepEqual(withResult([newest], result('1.31.4', { note: why })), [newest]);
  assert.deepEqual(withResult([unbuilt], newest), [newest]);
});

test('the page says what passed, what failed and what could not be built', () => {
  const note = 'cannot be built with this Go: no module';
  const page = versionsPage([
    result('1.36.3', { tests: { passed: 7, failed: 2 } }),
    result('1.31.14', { note }),
  ]);
  assert.match(page, /^\| 1\.36\.3 \| 7 passed, 2 failed \| +\| `aaaaaaaaaaaa` \|$/m);
  assert.match(page, /^\| 1\.31\.14 \| not built \| cannot be built with this Go: no module \|/m);
});

test('why a version was not built names each missing module once, and no address', () => {
  const missing = (module: string, status: string) =>
    `\t${module}/cel: ${module}@v0.31.14: reading https://proxy.example/${module}: ${status}\n`;
  const said = [
    'go: downloading x\n',
    missing('k8s.io/b', '403 Forbidden'),
    '\tserver response: not available.\n',
    missing('k8s.io/a', '404 Not Found').repeat(2),
  ].join('');
  assert.equal(
    notBuilt(said),
    'cannot be built: the module proxy has no k8s.io/a v0.31.14, k8s.io/b v0.31.14',
  );
  assert.equal(notBuilt('dial https://proxy.example/x failed'), 'cannot be built: dial … failed');
});

test('the program of an older minor makes the kubelet’s command without a context', () => {
  const program = 'import (\n\t"context"\n\t"fmt"\n)\nkubelet.NewKubeletCommand(context.Background())\n';
  assert.equal(programOf('1.34.4', program), program);
  assert.equal(programOf('1.33.13', program), 'import (\n\t"fmt"\n)\nkubelet.NewKubeletCommand()\n');
});

test('the module of another minor has the staging modules of that minor', () => {
  const kubernetes = [
    'require (',
    '\tgithub.com/spf13/cobra v1.9.1',
    '\tgo.etcd.io/etcd/client/v3 v3.5.1',
    ')',
    'replace (',
    '\tk8s.io/api => ./staging/src/k8s.io/api',
    '\tk8s.io/old => ./staging/src/k8s.io/old',
    ')',
  ].join('\n');
  assert.equal(
    goModOf('1.35.4', kubernetes, ''),
    [
      ...['module atwatch.local/kube', 'go 1.26.0', 'godebug default=go1.26'],
      ...['require k8s.io/kubernetes v1.35.4', 'require github.com/spf13/cobra v1.9.1'],
      'require go.etcd.io/etcd/server/v3 v3.5.1',
      ...['replace k8s.io/api => k8s.io/api v0.35.4', 'replace k8s.io/old => k8s.io/old v0.35.4', ''],
    ].join('\n'),
  );
});

test('the chart wants no minor that a recorded run found wanting, and none below those that were run', async () => {
  const results: VersionResult[] = JSON.parse(await readFile('docs/versions/results.json', 'utf8'));
  const good = results.filter(({ tests }) => tests?.failed === 0).map(({ version }) => version.split('.')[1]);
  const lowest = Math.min(...good.map(Number));
  const { kubeVersion } = parse(await readFile('charts/atwatch/Chart.yaml', 'utf8'));
  // Before the first run nothing is known beyond what the admission policies need.
  const minor = Number.isFinite(lowest) ? lowest : 30;
  assert.equal(kubeVersion, `>=1.${minor}.0-0`);
  for (const page of ['docs/operations.md', 'charts/atwatch/README.md']) {
    assert.match(await readFile(page, 'utf8'), new RegExp(`Kubernetes 1\\.${minor} or later`), page);
  }
});
