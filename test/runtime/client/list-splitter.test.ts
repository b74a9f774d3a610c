import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ListSplitter } from '../../../src/runtime/client/list-splitter.ts';
import { fc } from '../../fixtures/property.ts';

interface Split {
  readonly items: unknown[];
  readonly envelope: unknown;
}

/** Cut at these places, in order; beyond the end they are none. */
function chunksOf(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let start = 0;
  for (const size of cuts) {
    chunks.push(bytes.subarray(start, start + size));
    start += size;
  }
  return [...chunks, bytes.subarray(start)];
}

/** @throws {SyntaxError} when it is no JSON. */
function split(text: string | Buffer, cuts: readonly number[] = []): Split {
  const splitter = new ListSplitter();
  const items: unknown[] = [];
  for (const chunk of chunksOf(Buffer.from(text), cuts)) {
    for (const item of splitter.push(chunk)) items.push(JSON.parse(item));
  }
  return { items, envelope: JSON.parse(splitter.envelope) };
}

const hostileText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({
    unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', 'é', '𝄞', '\u2028'),
    maxLength: 60,
  }),
  fc.constantFrom('"items":[', '\\"items":[', 'items', '\\', '\\\\"', '],"metadata":{}}'),
);
const value = fc.jsonValue({ stringUnit: 'binary' });
const item = fc.oneof(value, fc.dictionary(hostileText, fc.oneof(hostileText, value), { maxKeys: 4 }));
const extras = fc.dictionary(
  hostileText.filter((key) => key !== 'items' && key !== '__proto__'),
  fc.oneof(item, fc.record({ items: fc.array(item) })),
  { maxKeys: 3 },
);
const cuts = fc.array(fc.nat(40), { maxLength: 60 });
const indent = fc.constantFrom(undefined, 1, '\t');

describe('ListSplitter', () => {
  it('finds what the parser finds, whatever the items hold and wherever the chunks end', () => {
    fc.assert(
      fc.property(
        extras,
        fc.array(item, { maxLength: 6 }),
        extras,
        indent,
        cuts,
        (before, items, after, space, at) => {
          const list = { ...before, items, ...after };
          const text = JSON.stringify(list, undefined, space);
          const expected = JSON.parse(text);
          assert.deepEqual(split(text, at), { items: expected.items, envelope: { ...expected, items: [] } });
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('accepts nothing that the parser refuses', () => {
    const json = fc
      .array(item, { maxLength: 3 })
      .map((items) => JSON.stringify({ a: 1, items, metadata: {} }));
    const broken = fc.tuple(
      json,
      fc.nat(),
      fc.constantFrom('', '"', '\\', '{', '}', '[', ']', ',', ':', 'x', '\u00a0'),
    );
    fc.assert(
      fc.property(broken, cuts, ([text, place, by], at) => {
        const position = place % text.length;
        const changed = Buffer.from(text.slice(0, position) + by + text.slice(position + 1));
        let expected: unknown;
        try {
          expected = JSON.parse(changed.toString());
        } catch {
          assert.throws(() => split(changed, at), SyntaxError);
          return;
        }
        const { items, envelope } = split(changed, at);
        // What an escaped or a changed key hides stays in the envelope.
        const kept = items.length > 0 ? { ...(envelope as object), items } : envelope;
        assert.deepEqual(kept, expected);
      }),
      { numRuns: 3000 },
    );
  });

  for (const text of [
    '{"items":[]}',
    '{"items":null}',
    '{"items": [ \n]}',
    '{"kind":"Status"}',
    '{}',
    'null',
    '[[1]]',
  ]) {
    it(`finds no items in ${JSON.stringify(text)}`, () => {
      assert.deepEqual(split(text), { items: [], envelope: JSON.parse(text) });
    });
  }

  for (const text of [
    '',
    '{"items":[',
    '{"items":[{}',
    '{"items":[{}]',
    '{"items":["a',
    '{"items":[,]}',
    '{"items":[1,]}',
  ]) {
    it(`takes ${JSON.stringify(text)} for incomplete`, () => {
      assert.throws(() => split(text), SyntaxError);
    });
  }

  it('finds the end of a long string by its quote, escaped or not', () => {
    for (const tail of ['', '\\', '\\\\', '"', '\\"', '\\\\"']) {
      const items = [
        { data: `${'x'.repeat(100)}${tail}` },
        { data: `${'y'.repeat(50)}"${'z'.repeat(50)}${tail}` },
      ];
      const text = JSON.stringify({ items });
      for (let at = 0; at < text.length; at++) assert.deepEqual(split(text, [at]).items, items);
    }
  });
});
