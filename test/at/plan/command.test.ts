import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { escapeExpansion, splitCommand } from '../../../src/at/plan/command.ts';
import { fc } from '../../fixtures/property.ts';

/** What /bin/sh makes of the text as arguments, or undefined when it refuses it. */
function shellWords(text: string): string[] | undefined {
  const script = `eval "set -- $1"; printf '%s\\0' "$#" "$@"`;
  const { status, stdout } = spawnSync('/bin/sh', ['-c', script, 'sh', text], { encoding: 'utf8' });
  return status === 0 ? stdout.split('\0').slice(1, -1) : undefined;
}

/** What the kubelet hands to the process: $(NAME) expanded when known, $$ turned into $. */
function kubeletExpand(text: string): string {
  return text.replace(/\$\$|\$\((\w+)\)/g, (found, name?: string) =>
    name === undefined ? '$' : name === 'HOME' ? '/root' : found,
  );
}

describe('splitCommand', () => {
  const rows: { name: string; text: string; words: string[] }[] = [
    { name: 'the sample of the book', text: 'echo YAY', words: ['echo', 'YAY'] },
    { name: 'double spaces', text: '  echo   YAY ', words: ['echo', 'YAY'] },
    { name: 'tabs and line ends', text: 'echo\ta\nb', words: ['echo', 'a', 'b'] },
    { name: 'single quotes', text: `echo 'a  b' 'c"d' 'e\\f'`, words: ['echo', 'a  b', 'c"d', 'e\\f'] },
    { name: 'double quotes', text: `echo "a  b" "it's"`, words: ['echo', 'a  b', "it's"] },
    { name: 'escapes in double quotes', text: '"\\$ \\` \\" \\\\ \\n"', words: ['$ ` " \\ \\n'] },
    { name: 'escapes outside quotes', text: 'a\\ b \\" \\n', words: ['a b', '"', 'n'] },
    { name: 'quotes inside a word', text: `--name='a b'c"d e"`, words: ['--name=a bcd e'] },
    { name: 'empty words', text: `a '' ""`, words: ['a', '', ''] },
    { name: 'a continued line', text: 'echo a\\\nb "c\\\nd"', words: ['echo', 'ab', 'cd'] },
    { name: 'a backslash at the end', text: 'a\\', words: ['a\\'] },
    {
      name: 'variables, untouched',
      text: 'echo $(HOME) $HOME "$(HOME)"',
      words: ['echo', '$(HOME)', '$HOME', '$(HOME)'],
    },
    {
      name: 'globs, tildes and comments, untouched',
      text: 'ls *.ts ~ # x',
      words: ['ls', '*.ts', '~', '#', 'x'],
    },
    { name: 'characters beyond the basic plane', text: 'echo "🚀 " 🚀', words: ['echo', '🚀 ', '🚀'] },
    { name: 'nothing', text: ' \t', words: [] },
  ];
  for (const { name, text, words } of rows) {
    it(`splits ${name}`, () => assert.deepEqual(splitCommand(text)?.words, words));
  }

  for (const text of [`echo 'a`, 'echo "a', 'echo "a\\"', `"'`]) {
    it(`refuses the unclosed quote in ${text}`, () => assert.equal(splitCommand(text), undefined));
  }

  it('gives the words of the book for text without quotes, backslashes and double spaces', () => {
    const word = fc.string({ minLength: 1, unit: fc.constantFrom(...'abcXYZ019-_=./:,@%+#*?[]{}~!^$()&') });
    fc.assert(
      fc.property(fc.array(word, { minLength: 1 }), (words) => {
        const text = words.join(' ');
        assert.deepEqual(splitCommand(text)?.words, text.split(' '));
      }),
    );
  });

  it('gives the words of a real shell for text without operators and expansions (B9)', () => {
    const text = fc.string({ unit: fc.constantFrom(...'ab- \t\'"\\ é=') });
    fc.assert(
      fc.property(text, (generated) => {
        assert.deepEqual(splitCommand(generated)?.words, shellWords(generated));
      }),
      { numRuns: 200, examples: [[`a "b\\'c"`], [`'a'"b"\\ c`], [`''`], [`"\\a\\"`], [`\\`]] },
    );
  });

  const operators = [
    'a | b',
    'a|b',
    'a && b',
    'a&&b',
    'echo a > f',
    'echo a >f',
    'a; b',
    'a 2>&1',
    'a < f',
    'a &',
    'a & b',
    'echo a\necho b',
    'a \n\n\t"b"\n',
    "a\n'b'",
  ];
  for (const text of operators) {
    it(`sees the operator in ${JSON.stringify(text)}`, () =>
      assert.equal(splitCommand(text)?.hasOperator, true));
  }
  for (const text of [
    'echo "a | b"',
    "echo 'a && b'",
    'echo \\> \\;',
    'wget http://x/?a=1&b=2',
    'echo $(HOME)',
    '\n\n echo a\n \n',
    'echo a \\\n  b',
    '"a\nb" \'c\nd\'',
  ]) {
    it(`sees no operator in ${JSON.stringify(text)}`, () =>
      assert.equal(splitCommand(text)?.hasOperator, false));
  }
});

describe('escapeExpansion', () => {
  it('survives the expansion of the kubelet unchanged', () => {
    const text = fc.string({ unit: fc.constantFrom('$', '(', ')', 'HOME', 'a', ' ', '$(HOME)') });
    fc.assert(
      fc.property(text, (generated) => assert.equal(kubeletExpand(escapeExpansion(generated)), generated)),
    );
  });
});
