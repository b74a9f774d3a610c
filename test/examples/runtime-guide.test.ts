/** docs/runtime.md: that the tests it names are there, and that the metrics it names are all there are. */
import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { configMaps } from '../../src/kubernetes/objects.ts';
import { controllerManagedBy, createManager, silentLogger } from '../../src/runtime.ts';

const guide = await readFile('docs/runtime.md', 'utf8');

/** The texts in backticks. */
const codeIn = (text = '') => Array.from(text.matchAll(/`([^`]+)`/g), ([, code = '']) => code);

test('each guarantee names a test that exists', async () => {
  const rows = guide.split('\n').filter((line) => /^\| I\d+ \|/.test(line));
  assert.deepEqual(
    rows.map((row) => row.split('|')[1]?.trim()),
    Array.from({ length: 21 }, (_, index) => `I${index + 1}`),
  );
  const files: string[] = [];
  for await (const file of glob('test/**/*.test.ts')) files.push(file);
  for (const row of rows) {
    const named = codeIn(row.split('|').at(-2));
    assert.ok(named.length > 0, row);
    for (const path of named) {
      const isNamed = (file: string) => file === `test/${path}.test.ts` || file.startsWith(`test/${path}/`);
      assert.ok(files.some(isNamed), path);
    }
  }
});

test('its metrics are those of a manager', () => {
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromClusterAndUser({ name: 'c', server: 'https://c', skipTLSVerify: false }, { name: 'u' });
  const manager = createManager({ name: 'guide', kubeConfig, log: silentLogger, leaderElection: true });
  controllerManagedBy(manager)
    .for(configMaps)
    .complete({ reconcile: async () => ({}) });
  const registered = manager.registry
    .getMetricsAsArray()
    .map(({ name }) => name)
    .filter((name) => !/^(nodejs|process)_/.test(name));

  const table = guide.slice(guide.indexOf('## Metrics'), guide.indexOf('## Diagnostics and traces'));
  const rows = table.split('\n').filter((line) => line.startsWith('| `'));
  const documented = rows
    .flatMap((row) => codeIn(row.split('|')[1]))
    .map((name) => name.replace('…', 'controller_runtime'))
    .filter((name) => name.includes('_'));
  assert.deepEqual(documented.sort(), registered.sort());
});
