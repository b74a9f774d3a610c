/** The programs of docs/runtime.md as they stand: the one of its concepts on a real API server, and the test of it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { isConditionTrue } from '../../src/kubernetes/conditions.ts';
import {
  type Condition,
  configMaps,
  type KubernetesObject,
  type Resource,
} from '../../src/kubernetes/objects.ts';
import { command, RuntimePackage } from './runtime-package.ts';
import { applyCrds, connectToTestCluster, eventually, withNamespace } from './support.ts';

interface Note extends KubernetesObject {
  readonly spec: { readonly text: string };
  readonly status?: { readonly conditions?: readonly Condition[] };
}
const notes: Resource<Note> = {
  ...{ group: 'example.com', version: 'v1', plural: 'notes', kind: 'Note', namespaced: true },
};

/** Its blocks in a language, in their order. */
function blocksOf(page: string, language: string): readonly string[] {
  const blocks = page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'));
  return Array.from(blocks, ([, code = '']) => code);
}

suite('the programs of the guide', () => {
  let runtime: RuntimePackage;
  let folder = '';

  before(async () => {
    runtime = await RuntimePackage.pack();
    folder = join(runtime.folder, 'guide');
    await mkdir(folder);
    await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'guide', type: 'module' }));
    await runtime.install(folder, ['pino@10.4.0', '@marcbachmann/cel-js@8.0.0']);
    const page = await readFile(join(folder, 'node_modules/@atwatch/runtime/docs/runtime.md'), 'utf8');
    const [concepts = '', rest = ''] = page.split('\n## What a reconcile may end with\n');
    const [crd = '', ...others] = blocksOf(concepts, 'yaml');
    assert.match(crd, /^kind: CustomResourceDefinition$/m);
    assert.deepEqual(others, []);
    await writeFile(join(folder, 'crd.yaml'), crd);
    const program = blocksOf(concepts, 'ts');
    await writeFile(join(folder, 'main.ts'), program.join('\n'));
    const withoutManager = program.filter((block) => !/^const manager = |^await runManager/m.test(block));
    assert.equal(withoutManager.length, program.length - 2);
    const tests = blocksOf(rest, 'ts');
    assert.equal(tests.length, 1);
    await writeFile(join(folder, 'simulated.ts'), [...withoutManager, ...tests].join('\n'));
  });
  after(() => runtime.remove());

  test('the test passes in the simulated cluster', async () => {
    await command(process.execPath, ['simulated.ts'], { cwd: folder });
  });

  test('the operator does its work on a real API server, and ends when it is told to', async (t) => {
    await applyCrds(folder);
    const { client } = connectToTestCluster();
    const namespace = await withNamespace(t);
    const key = { namespace, name: 'hello' };
    await client.create(notes, { metadata: key, spec: { text: 'Hello' } });
    const operator = spawn(process.execPath, ['main.ts'], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, METRICS_BIND_ADDRESS: '0', HEALTH_BIND_ADDRESS: '0' },
    });
    t.after(() => operator.kill('SIGKILL'));
    let output = '';
    for (const stream of [operator.stdout, operator.stderr]) {
      stream.on('data', (data) => {
        output += data;
      });
    }
    const isDone = async (text: string) => {
      const { data } = await client.get(configMaps, key);
      const { status } = await client.get(notes, key);
      return data?.text === text && isConditionTrue(status?.conditions, 'Ready');
    };
    const done = (text: string) =>
      eventually(() => isDone(text), { timeout: 60_000, message: `the ConfigMap says ${text}` }).catch(
        (error) => assert.fail(`${error.message}: ${output}`),
      );
    await done('Hello');
    await client.patch(notes, key, { type: 'merge', body: { spec: { text: 'Good bye' } } });
    await done('Good bye');
    operator.kill('SIGTERM');
    assert.deepEqual(await once(operator, 'close'), [0, null]);
  });
});
