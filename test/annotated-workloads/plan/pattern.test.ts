import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parsePattern } from '../../../src/annotated-workloads/plan/pattern.ts';
import { fc } from '../../fixtures/property.ts';

const rows: readonly (readonly [pattern: string, matching: readonly string[], others: readonly string[]])[] =
  [
    ['app', ['app'], ['app2', 'my-app', 'ap']],
    ['app.config', ['app.config', 'app-config'], ['appconfig']],
    ['app-.*', ['app-', 'app-x'], ['app', 'my-app-x']],
    ['app-.+', ['app-x'], ['app-']],
    ['apps?', ['app', 'apps'], ['appss']],
    // As Reloader anchors it, each side of the bar has one anchor only.
    ['a|b', ['a', 'ax', 'b', 'xb'], ['xa', 'bx']],
    ['(a|b)', ['a', 'b'], ['ax', 'xb']],
    ['(?:a|b|)c', ['ac', 'bc', 'c'], ['abc']],
    ['(?P<x>a)(?<y>b)', ['ab'], ['a']],
    ['[a-c]{2}', ['ab'], ['a', 'abc', 'ad']],
    ['a{2,}', ['aa', 'aaaa'], ['a']],
    ['a{1,3}?', ['a', 'aaa'], ['aaaa']],
    ['[^a-c]x', ['dx'], ['ax']],
    ['[[:digit:]]+-[[:alpha:]-]+', ['12-a-b'], ['a-1']],
    ['[]a]+', ['a'], ['b']],
    ['v\\d+\\.\\w\\D', ['v12.ab'], ['v12xab', 'v.ab']],
    ['^app$', ['app'], ['my-app']],
    ['\\Aapp\\z', ['app'], ['apps']],
    ['(?i)APP', ['app'], ['ap']],
    ['(a*)*b', ['b', 'aaab'], ['aaaa']],
    ['a-b/c', [], ['a-b']],
    ['x{', [], ['x']],
    // The anchor is what is repeated or escaped here, in Go as well.
    ['*a', ['a', 'xa'], ['ax']],
    ['a\\', [], ['a']],
  ];

describe('a pattern', () => {
  for (const [pattern, matching, others] of rows) {
    it(`${pattern} matches as in Reloader`, () => {
      const matches = parsePattern(pattern);
      assert.deepEqual(
        matching.filter((name) => !matches(name)),
        [],
      );
      assert.deepEqual(
        others.filter((name) => matches(name)),
        [],
      );
    });
  }

  for (const text of [
    '(a',
    'a)',
    'a**',
    '[a',
    '(?=a)',
    '\\bx',
    '\\1',
    'a{3,2}',
    'a{1001}',
    '[z-a]',
    '(?s)a',
  ]) {
    it(`${text} is refused`, () => {
      assert.throws(() => parsePattern(text), SyntaxError);
    });
  }

  it('that is too large is refused, however it is written', () => {
    for (const text of ['a'.repeat(400), '((a{99}){99}){99}', '('.repeat(1000), '(a|'.repeat(200)]) {
      assert.throws(() => parsePattern(text), SyntaxError);
    }
  });

  it('takes no time that grows faster than the name', () => {
    const matches = parsePattern('(a*)*(a*)*(a|a)*(.*.*.*.*)c');
    const begin = process.cpuUsage();
    assert.equal(matches('a'.repeat(253)), false);
    // A backtracking engine would not come to an end.
    assert.ok(process.cpuUsage(begin).user < 1_000_000);
  });

  it('matches what the regular expressions of JavaScript match', () => {
    const atom = fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\w', '-');
    const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
      pattern: fc.oneof(
        { maxDepth: 4 },
        atom,
        fc.tuple(tie('pattern'), tie('pattern')).map(([one, other]) => `${one}${other}`),
        fc.tuple(tie('pattern'), tie('pattern')).map(([one, other]) => `(${one}|${other})`),
        fc
          .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2}', '{1,}', '{0,2}'))
          .map(([one, sign]) => `(?:${one})${sign}`),
      ),
    }));
    const name = fc.string({ unit: fc.constantFrom('a', 'b', '-', '.'), minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(pattern, name, (text, word) => {
        assert.equal(parsePattern(text)(word), new RegExp(`^${text}$`).test(word));
      }),
      { numRuns: 1000 },
    );
  });
});
