/** The plugins in a terminal, through kubectl itself, on a real node. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { type Finished, type PluginOptions, runKubectl, runShell } from '../fixtures/kubectl-plugin.ts';
import { installCrds, withNamespace } from './kubectl.ts';
import { type OperatorUnderTest, operatorUnderTest } from './operator.ts';

const esc = '\u001b';
const linesOf = (output: string) => stripVTControlCharacters(output).trimEnd().split('\r\n');

interface Terminal {
  readonly namespace: string;
  /** In a terminal. */
  shows(words: readonly string[], options?: PluginOptions): Promise<Finished>;
  /** Without one; fails when it fails. */
  ok(...words: string[]): Promise<string>;
}

describe('kubectl at and kubectl configwatcher in a terminal', () => {
  let operator: OperatorUnderTest;
  before(async () => {
    await installCrds();
    operator = await operatorUnderTest();
  });
  after(() => operator?.remove());

  async function terminal(t: TestContext): Promise<Terminal> {
    const { name: namespace } = await withNamespace(t);
    const run = ([plugin = '', command = '', ...words]: readonly string[], options?: PluginOptions) =>
      runKubectl([plugin, command, '--namespace', namespace, ...words], options);
    return {
      namespace,
      shows: (words, options) => run(words, { terminal: true, ...options }),
      async ok(...words) {
        const { code, output, errors } = await run(words);
        assert.equal(code, 0, `${words.join(' ')}: ${errors}`);
        return output;
      },
    };
  }

  it('Ctrl-C ends logs -f of a command that goes on, and leaves that alone', async (t) => {
    const { shows, ok } = await terminal(t);
    const command = ['sh', '-c', 'while true; do echo tick; sleep 1; done'];
    await ok('at', 'now', '--name', 'clock', '--', ...command);
    const { code, output } = await shows(['at', 'logs', '-f', 'clock'], {
      types: { on: /tick\r\ntick/, keys: '\u0003' },
    });
    assert.equal(code, 130, output);
    assert.ok(!output.includes('error'), output);
    assert.match(await ok('at', 'list'), /^clock +Running /m);
  });

  it('wait ends with 0, the exit code of the command, 124 or 125', async (t) => {
    const { shows, ok } = await terminal(t);
    await ok('at', 'now', '--name', 'good', '--', 'true');
    await ok('at', 'now', '--name', 'bad', '--retries', '0', '--', 'sh', '-c', 'exit 7');
    await ok('at', 'now+1h', '--name', 'later', '--', 'true');
    assert.equal((await shows(['at', 'wait', 'good'])).code, 0);
    assert.equal((await shows(['at', 'wait', 'bad'])).code, 7);
    assert.equal((await shows(['at', 'wait', 'later', '--timeout', '1s'])).code, 124);
    await ok('at', 'cancel', 'later');
    assert.equal((await shows(['at', 'wait', 'later'])).code, 125);
    const missing = await shows(['at', 'wait', 'nothing']);
    assert.deepEqual([missing.code, linesOf(missing.output).length], [1, 1]);
  });

  it('colours are for terminals, and NO_COLOR and TERM=dumb switch them off', async (t) => {
    const { shows, ok } = await terminal(t);
    await ok('at', 'now+1h', '--name', 'held', '--', 'true');
    await ok('at', 'suspend', 'held');
    const coloured = await shows(['at', 'list']);
    assert.ok(coloured.output.includes(`${esc}[33mSuspended${esc}[0m`), coloured.output);
    for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
      const { output } = await shows(['at', 'list'], { env });
      assert.ok(!output.includes(esc), output);
      assert.equal(linesOf(output).length, 2);
    }
    assert.ok(!(await ok('at', 'list')).includes(esc));
    for (const format of ['json', 'yaml', 'name']) {
      const { output } = await shows(['at', 'list', '-o', format]);
      assert.ok(!output.includes(esc), output);
    }
  });

  it('lines fit where the terminal is narrow, and are whole where there is none', async (t) => {
    const { shows, ok } = await terminal(t);
    await ok('at', 'now', '--name', 'talks', '--', 'echo', 'long '.repeat(40).trim());
    await ok('at', 'wait', 'talks');
    for (const columns of [60, 100]) {
      const { output } = await shows(['at', 'list'], { columns });
      const lines = linesOf(output);
      assert.match(lines.at(-1) ?? '', /^talks +Succeeded .*long.*…$/);
      for (const line of lines) assert.ok(line.length <= columns, `${columns}: ${line}`);
    }
    assert.match(await ok('at', 'list'), /(?:long ){39}long$/m);
  });

  it('configwatcher list and why have colours, too', async (t) => {
    const { shows, ok, namespace } = await terminal(t);
    const watcher = {
      ...{ apiVersion: 'k8spatterns.io/v1', kind: 'ConfigWatcher', metadata: { name: 'web', namespace } },
      spec: { configMap: 'absent', podSelector: { app: 'web' } },
    };
    const { code } = await runShell(`kubectl apply --filename=- <<< '${JSON.stringify(watcher)}'
      kubectl wait --namespace ${namespace} --for=condition=Ready=False --timeout=60s configwatcher/web`);
    assert.equal(code, 0);
    const { output } = await shows(['configwatcher', 'list']);
    assert.ok(output.includes(`${esc}[31mSourceMissing${esc}[0m`), output);
    assert.ok(!(await ok('configwatcher', 'list')).includes(esc));
  });

  it('bash completes commands, flags and names', async (t) => {
    const { ok, namespace } = await terminal(t);
    await ok('at', 'now+1h', '--name', 'nightly', '--', 'true');
    // What the package bash-completion has, as far as kubectl's completion calls it.
    const completed = (...words: string[]) =>
      runShell(`_get_comp_words_by_ref() { words=("\${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=\${words[cword]}; prev=\${words[cword-1]}; }
        compopt() { :; }
        source <(kubectl at completion bash)
        COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
        COMP_LINE="\${COMP_WORDS[*]}"; COMP_POINT=\${#COMP_LINE}; COMP_TYPE=9
        __start_kubectl; printf '%s\\n' "\${COMPREPLY[@]}"`);
    const first = async (...words: string[]) => (await completed(...words)).output.trim().split(/\s/)[0];
    assert.equal(await first('kubectl', 'at', 'canc'), 'cancel');
    assert.equal(await first('kubectl', 'at', 'list', '--fai'), '--failed');
    assert.equal(await first('kubectl', 'at', 'cancel', '-n', namespace, 'nigh'), 'nightly');
    assert.equal(await first('kubectl', 'configwatcher', 'impo'), 'import');
  });
});
