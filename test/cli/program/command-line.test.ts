import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kubectlAt } from '../../../src/cli/at/program.ts';
import { kubectlConfigWatcher } from '../../../src/cli/configwatcher/program.ts';
import type { Program } from '../../../src/cli/program/command.ts';
import { readCommandLine } from '../../../src/cli/program/command-line.ts';
import { runProgram } from '../../../src/cli/program/run.ts';
import { fakeHost } from '../fake-host.ts';

function call(...args: string[]) {
  const reading = readCommandLine(kubectlAt, fakeHost(args));
  return reading.asks === 'call' ? reading.call : assert.fail(`${args.join(' ')} asks for ${reading.asks}`);
}

async function run(...args: string[]) {
  const host = fakeHost(args, { KUBECONFIG: '/does/not/exist' });
  const code = await runProgram(kubectlAt, host);
  return { code, ...host.printed };
}

describe('the command line', () => {
  it('takes a time, flags anywhere, and the command as it stands', () => {
    const { words, rest, value, command } = call(
      'tomorrow',
      '--tz',
      'UTC',
      '9:00',
      '-n',
      'dev',
      '--',
      'a',
      '--name',
      '--',
    );
    assert.deepEqual(words, ['tomorrow', '9:00']);
    assert.deepEqual(rest, ['a', '--name', '--']);
    assert.deepEqual([value('tz'), value('namespace'), value('name')], ['UTC', 'dev', undefined]);
    assert.equal(command.name, 'create');
  });

  it('takes flags before the command, as those of kubectl', () => {
    const { command, words, value } = call('-n', 'dev', '--context=prod', 'show', 'x');
    assert.deepEqual(
      [command.name, words, value('namespace'), value('context')],
      ['show', ['x'], 'dev', 'prod'],
    );
    assert.equal(call('--name', 'list', '9:00', '--', 'true').command.name, 'create');
  });

  it('takes a command by its first word only', () => {
    assert.deepEqual(call('list', '-A', '--last=10').words, []);
    assert.equal(call('show', 'list').command.name, 'show');
    assert.equal(call('show', 'list').words[0], 'list');
  });

  const refusals: readonly (readonly [args: readonly string[], sentence: RegExp])[] = [
    [
      ['list', '--lst', '3'],
      /^error: there is no flag --lst here, but --last, --failed, .*; see kubectl at list --help\n$/,
    ],
    [['list', '-x'], /^error: there is no flag -x here, but --last/],
    [['list', '--last'], /^error: Option '--last <value>' argument missing; see kubectl at list --help\n$/],
    [['list', '--last', 'few'], /^error: --last is a number such as 10, not "few"\n$/],
    [['list', '-o', 'xml'], /^error: --output is one of json, yaml, name, not "xml"\n$/],
    [['list', 'all'], /^error: "all" is too much: kubectl at list \[-A\]/],
    [['show'], /^error: something is missing: kubectl at show NAME\n$/],
    [['show', 'a', '--', 'b'], /^error: nothing may follow "--" here: kubectl at show NAME\n$/],
    [['help', 'lst'], /^error: "lst" is no command of kubectl at; there are list, show, /],
    [['lst'], /^error: "lst" is neither a time nor one of list, show, .*; see kubectl at --help\n$/],
    [['now', 'echo', 'hi'], /^error: the command is to follow "--": kubectl at now -- echo hi\n$/],
    [['9:00'], /^error: the command is to follow "--": kubectl at 9:00 -- COMMAND\n$/],
    [['9:00', '--'], /^error: the command is to follow "--"/],
    [['--', 'echo'], /^error: the time is missing: say now\+10m/],
    [['now', '--retries', '101', '--', 'true'], /^error: --retries is a number from 0 to 100, not "101"\n$/],
    [['soon', '--', 'echo'], /^error: "soon" is not understood as a time: say now\+10m/],
    [['9:00', '--tz', 'Berlin', '--', 'echo'], /^error: "Berlin" is no time zone/],
    [
      ['wait', 'a', '--timeout', 'long'],
      /^error: --timeout is a length of time such as 90s, 30m or 2h, not "long"\n$/,
    ],
    [['clean'], /^error: --older-than is missing: say for example kubectl at clean --older-than 7d\n$/],
    [['clean', '--older-than', '7'], /^error: --older-than is a length of time, not "7"/],
    [['move', 'a', 'b'], /^error: "b" is not understood as a time/],
    [['rerun', 'a', 'b'], /^error: "b" is not understood as a time/],
    [['logs', 'a', '--tail', '-1'], /^error: .*--tail/],
  ];
  for (const [args, sentence] of refusals) {
    it(`refuses "${args.join(' ')}" in one sentence, before any cluster is asked`, async () => {
      const { code, output, errors } = await run(...args);
      assert.match(errors, sentence);
      assert.deepEqual([code, output], [2, '']);
    });
  }

  it('that is right but names no cluster fails in one sentence, too', async () => {
    const { code, errors } = await run('list');
    assert.equal(errors, 'error: KUBECONFIG (/does/not/exist) names no file that exists\n');
    assert.equal(code, 1);
  });
});

async function helpOf(program: Program, ...args: string[]) {
  const host = fakeHost(args);
  return { code: await runProgram(program, host), ...host.printed };
}

for (const program of [kubectlAt, kubectlConfigWatcher]) {
  describe(`the help of ${program.name}`, () => {
    for (const args of [[], ['--help'], ['-h'], ['help']]) {
      it(`"${args.join(' ')}" names every command, and the exit codes`, async () => {
        const { code, output } = await helpOf(program, ...args);
        for (const { name, isHidden } of program.commands) {
          if (!isHidden) assert.match(output, new RegExp(`^ {2}${program.name} ${name} `, 'm'));
        }
        assert.match(output, /^Exit codes: 0 it is done, 1 it failed, 2 the command line is wrong, /m);
        assert.equal(code, 0);
      });
    }

    for (const command of program.commands) {
      it(`of ${command.name} names every flag, in lines that fit`, async () => {
        const { output } = await helpOf(program, 'help', command.name);
        for (const flag of Object.keys(command.flags)) assert.match(output, new RegExp(`--${flag}\\b`));
        for (const line of output.split('\n')) assert.ok(line.length <= 120, line);
      });
    }

    it('is printed after the name of the command, too', async () => {
      assert.equal(
        (await helpOf(program, 'list', '-h')).output,
        (await helpOf(program, 'help', 'list')).output,
      );
    });

    it('has a version', async () => {
      assert.match((await helpOf(program, '--version')).output, /^kubectl \w+ \d+\.\d+\.\d+\n$/);
    });
  });
}
