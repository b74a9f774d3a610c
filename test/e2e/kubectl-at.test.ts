/** `kubectl at` on a real node: output, exit codes, and a terminal. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { type PluginOptions, runKubectl } from '../fixtures/kubectl-plugin.ts';
import { eventually, installCrds, withNamespace } from './kubectl.ts';
import { type OperatorUnderTest, operatorUnderTest } from './operator.ts';

describe('kubectl at on a real node', () => {
  let operator: OperatorUnderTest;
  before(async () => {
    await installCrds();
    operator = await operatorUnderTest();
  });
  after(() => operator?.remove());

  async function commands(t: TestContext) {
    const { name } = await withNamespace(t);
    const at = (words: readonly string[], options?: PluginOptions) => {
      const [first = '', ...others] = words;
      return runKubectl(['at', first, '-n', name, ...others], options);
    };
    return {
      at,
      async ok(...words: string[]) {
        const { code, output, errors } = await at(words);
        assert.equal(code, 0, `${words.join(' ')}: ${errors}`);
        return output;
      },
    };
  }

  it('waits for the start, shows the output while it comes, and ends with it', async (t) => {
    const { ok, at } = await commands(t);
    await ok('now+20s', '--name', 'x', '--', 'sh', '-c', 'for i in 1 2 3; do echo "line $i"; sleep 1; done');
    const { output, errors, code } = await at(['logs', '-f', 'x']);
    assert.deepEqual([output, code], ['line 1\nline 2\nline 3\n', 0]);
    assert.match(errors, /^x is due in \d+s \.\.\.\n/);
    assert.equal(await ok('logs', 'x', '--tail', '1'), 'line 3\n');
    assert.match(await ok('list'), /^x +Succeeded .* line 3$/m);
  });

  it('shows each line of a command that fails and is tried again once', async (t) => {
    const { ok, at } = await commands(t);
    await ok('now', '--name', 'x', '--', 'sh', '-c', 'echo begin; echo end; exit 9');
    const following = at(['logs', '-f', 'x']);
    await eventually('another start in sight of logs', async () =>
      (await ok('show', 'x')).includes('again (restart 2'),
    );
    await ok('cancel', 'x');
    const { output } = await following;
    const lines = output.trimEnd().split('\n');
    assert.ok(lines.length >= 4 && lines.length % 2 === 0, output);
    for (const [index, line] of lines.entries()) assert.equal(line, index % 2 === 0 ? 'begin' : 'end');
  });

  it('ends a script as the command ended, and tells the story', async (t) => {
    const { ok, at } = await commands(t);
    await ok('now', '--name', 'x', '--retries', '0', '--', 'sh', '-c', 'echo out; exit 7');
    const { code, errors } = await at(['wait', 'x', '--timeout', '100s']);
    assert.deepEqual([code, errors], [7, 'x: Failed (exit code 7): out\n']);
    // Events are sent behind the status.
    const story = await eventually('the Event of the launch', async () => {
      const output = await ok('show', 'x');
      return output.includes('Launched: ') && output;
    });
    for (const part of [
      'x-pod runs the command',
      'the command ended with exit code 7',
      'Failed (exit code 7)',
    ]) {
      assert.ok(story.includes(part), story);
    }
    assert.match(story, /^Output \(the last line\)\n {2}out$/m);
  });

  it('has colours in a terminal, lines that fit, and ends at once on Ctrl-C', async (t) => {
    const { ok, at } = await commands(t);
    await ok('now', '--name', 'x', '--', 'sh', '-c', `echo ${'long '.repeat(40)}`);
    await ok('wait', 'x');
    const { output } = await at(['list'], { terminal: true });
    assert.ok(output.includes('\u001b[32mSucceeded\u001b[0m'), output);
    for (const line of stripVTControlCharacters(output).split('\r\n')) assert.ok(line.length <= 100, line);
    const plain = await at(['list'], { terminal: true, env: { NO_COLOR: '1' } });
    assert.ok(!plain.output.includes('\u001b'), plain.output);
    await ok('2099-01-01 9:00', '--name', 'y', '--', 'true');
    const { code } = await at(['logs', '-f', 'y'], { interruptOn: /^y is due / });
    assert.equal(code, 130);
  });
});
