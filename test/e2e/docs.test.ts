/** Each command of the documents, in its order, on a real node: one namespace for each document. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { documentsWithCommands, type Example, examplesOf, readDocument } from '../fixtures/document.ts';
import { runShell } from '../fixtures/kubectl-plugin.ts';
import { configurationFor, installCrds, withNamespace } from './kubectl.ts';
import { type OperatorUnderTest, operatorUnderTest } from './operator.ts';

/** Without what is another one each time: numbers, and names that the API server makes up. */
function shapeOf(line = ''): string {
  return line
    .replace(/echo-[a-z0-9]{5}/, 'echo')
    .replaceAll(/\d[\ddhms]*/g, '0')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** What is said of the cluster itself, and the times of a day to come, depend on where and when it runs. */
const loose = [
  /configwatcher (wait|why|restart)/,
  /doctor/,
  /(move|cancel|suspend|resume)/,
  /rerun/,
  /(tomorrow|noon|midnight|teatime)/,
  /list/,
  /show/,
  /kubectl get/,
  /events/,
];

function check({ command, output, code }: Example, done: Awaited<ReturnType<typeof runShell>>): void {
  assert.equal(done.code, code, `${command}: ${done.output}`);
  const [first] = done.output.split('\n');
  const isLoose = loose.some((pattern) => pattern.test(command));
  const expected = isLoose ? (shapeOf(output[0]).split(' ')[0] ?? '') : shapeOf(output[0]);
  assert.ok(shapeOf(first).startsWith(expected), `${command}: ${first}\ninstead of ${output[0]}`);
}

let operator: OperatorUnderTest;
let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'atwatch-docs-'));
  await installCrds();
  operator = await operatorUnderTest(['--annotated-workloads', '--reloader-annotations', '--leader-elect'], {
    POD_NAMESPACE: 'default',
  });
});
after(async () => {
  await operator?.remove();
  await rm(directory, { recursive: true, force: true });
});

describe('the commands of', { concurrency: 2 }, () => {
  for (const path of documentsWithCommands) {
    it(`${path} do what it shows`, { timeout: 600_000 }, async (t) => {
      const { name, kubectl: inNamespace } = await withNamespace(t);
      const KUBECONFIG = await configurationFor(directory, name);
      await inNamespace('create', 'deployment', 'web', '--image=busybox', '--', 'sleep', '1000000');
      const examples = examplesOf(await readDocument(path));
      assert.ok(examples.length > 0, 'no command is left to run');
      for (const example of examples) check(example, await runShell(example.command, { KUBECONFIG }));
    });
  }
});
