/** docs/kubectl.md: each of its commands, in its order, on a real node. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, it } from 'node:test';
import { runShell } from '../fixtures/kubectl-plugin.ts';
import { installCrds, withNamespace } from './kubectl.ts';
import { type OperatorUnderTest, operatorUnderTest } from './operator.ts';

interface Example {
  readonly command: string;
  readonly output: readonly string[];
  readonly code: number;
}

function examplesOf(page: string): readonly Example[] {
  const blocks = Array.from(page.matchAll(/^```console\n(.*?)^```$/gms), ([, text = '']) => text);
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((example) => {
        const [command = '', ...lines] = example.trimEnd().split('\n');
        const code = /^\(exit code (\d+)\)$/.exec(lines.at(-1) ?? '')?.[1];
        return { command, output: code === undefined ? lines : lines.slice(0, -1), code: Number(code ?? 0) };
      }),
  );
}

/** Without what is another one each time: numbers, and names that the API server makes up. */
function shapeOf(line = ''): string {
  return line
    .replace(/echo-[a-z0-9]{5}/, 'echo')
    .replaceAll(/\d[\dhms]*/g, '0')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** What is said of the cluster itself, and the times of a day to come, depend on where and when it runs. */
const loose = [/configwatcher (wait|why|restart)/, /doctor/, /move/, /rerun/, /tomorrow/, /list/, /show/];

/** The flag goes last, but before the command of an At. */
function inNamespace(command: string, name: string): string {
  const end = command.includes(' -- ') ? command.indexOf(' -- ') : command.length;
  return `${command.slice(0, end)} -n ${name}${command.slice(end)}`;
}

let operator: OperatorUnderTest;
before(async () => {
  await installCrds();
  operator = await operatorUnderTest();
});
after(() => operator?.remove());

it('every command of docs/kubectl.md does what it shows', { timeout: 280_000 }, async (t) => {
  const { name, kubectl } = await withNamespace(t);
  await kubectl('create', 'deployment', 'web', '--image=busybox', '--', 'sleep', '1000000');
  const examples = examplesOf(await readFile('docs/kubectl.md', 'utf8'));
  assert.ok(examples.length >= 20);
  for (const { command, output, code } of examples) {
    const done = await runShell(inNamespace(command, name));
    assert.equal(done.code, code, `${command}: ${done.output}`);
    const [first] = done.output.split('\n');
    const isLoose = loose.some((pattern) => pattern.test(command));
    const expected = isLoose ? (shapeOf(output[0]).split(' ')[0] ?? '') : shapeOf(output[0]);
    assert.ok(shapeOf(first).startsWith(expected), `${command}: ${first}\ninstead of ${output[0]}`);
  }
});
