import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadYaml } from '@kubernetes/client-node';
import type { At } from '../../../src/api/at.generated.ts';
import { ats } from '../../../src/api/resources.ts';
import { listDocument, objectDocument } from '../../../src/cli/output/document.ts';
import { styleOf } from '../../../src/cli/output/style.ts';
import { table } from '../../../src/cli/output/table.ts';
import { printable } from '../../../src/kubernetes/printable.ts';

const output = { write() {}, isTerminal: false };
const plain = styleOf(output, {});
const coloured = styleOf({ ...output, isTerminal: true }, {});

describe('a table', () => {
  const rows = [
    ['a', { text: 'Failed', tone: 'bad' }, 'a line'],
    ['longer', 'Ok', ''],
  ] as const;

  it('has columns as wide as what is in them', () => {
    const lines = ['NAME     STATUS   OUTPUT', 'a        Failed   a line', 'longer   Ok', ''];
    assert.equal(table(['NAME', 'STATUS', 'OUTPUT'], rows, plain), lines.join('\n'));
  });

  it('has colours on a terminal, which count for no width', () => {
    const text = table(['NAME', 'STATUS', 'OUTPUT'], rows, coloured);
    assert.ok(text.includes('a        \u001b[31mFailed\u001b[0m   a line\n'), text);
  });

  it('cuts its last column to the terminal', () => {
    const text = table(['A', 'OUTPUT'], [['a', 'x'.repeat(100)]], plain, 30);
    assert.equal(text.split('\n')[1], `a   ${'x'.repeat(25)}\u2026`);
  });
});

it('colours are left out where NO_COLOR says so, and by a terminal that has none', () => {
  const terminal = { ...output, isTerminal: true };
  assert.equal(styleOf(terminal, { NO_COLOR: '1' }).bad('x'), 'x');
  assert.equal(styleOf(terminal, { NO_COLOR: '' }).bad('x'), '\u001b[31mx\u001b[0m');
  assert.equal(styleOf(terminal, { TERM: 'dumb' }).bad('x'), 'x');
});

it('what a command printed cannot change the terminal', () => {
  assert.equal(printable('a\u001b[2Jb\u001b]0;title\u0007c\rd\te\u0008\n'), 'abcd\te\n');
});

describe('a document', () => {
  const at: At = {
    metadata: { name: 'a', managedFields: [{ manager: 'me' }], creationTimestamp: '2026-11-22T09:00:00Z' },
    spec: {
      schedule: '2026-11-22T09:00:00Z',
      argv: ['yes', '0x10', 'null', '1e3', '- a', 'b: c', 'two\nlines', ''],
    },
  };

  it('in YAML says the same to a parser of Kubernetes', () => {
    const { apiVersion, kind, metadata, spec } = loadYaml<Record<string, unknown>>(
      objectDocument(at, ats, 'yaml'),
    );
    assert.deepEqual([apiVersion, kind], ['cnat.programming-kubernetes.info/v1alpha1', 'At']);
    assert.deepEqual(spec, at.spec);
    assert.equal(Object.hasOwn(metadata as object, 'managedFields'), false);
  });

  it('in YAML quotes what kubectl would take for something else', () => {
    const text = objectDocument(at, ats, 'yaml');
    for (const word of ['"2026-11-22T09:00:00Z"', '"yes"', '"0x10"', '"null"', '"1e3"'])
      assert.ok(text.includes(word), word);
  });

  it('in JSON is a List, and by name can be given to kubectl', () => {
    const { kind, items } = JSON.parse(listDocument([at, at], ats, 'json'));
    assert.deepEqual([kind, items.length, items[0].kind], ['List', 2, 'At']);
    assert.equal(listDocument([at], ats, 'name'), 'at.cnat.programming-kubernetes.info/a\n');
  });
});
