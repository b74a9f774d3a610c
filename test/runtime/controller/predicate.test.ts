import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ObjectMeta } from '../../../src/kubernetes/objects.ts';
import {
  and,
  annotationChanged,
  generationChanged,
  labelsChanged,
  not,
  or,
  type Predicate,
  resourceVersionChanged,
} from '../../../src/runtime/controller/predicate.ts';
import { type Widget, widget } from './fixtures.ts';

interface Row {
  readonly name: string;
  readonly predicate: Predicate<Widget>;
  readonly previous: Partial<ObjectMeta>;
  readonly current: Partial<ObjectMeta>;
  readonly passes: boolean;
}

const rows: readonly Row[] = [
  {
    name: 'spec edit',
    predicate: generationChanged,
    previous: { generation: 1 },
    current: { generation: 2 },
    passes: true,
  },
  {
    name: 'I16: status write',
    predicate: generationChanged,
    previous: { generation: 1, resourceVersion: '1' },
    current: { generation: 1, resourceVersion: '2' },
    passes: false,
  },
  {
    name: 'mark for deletion of a kind without generation',
    predicate: generationChanged,
    previous: {},
    current: { deletionTimestamp: '2024-01-01T00:00:00Z' },
    passes: true,
  },
  { name: 'kind without generation', predicate: generationChanged, previous: {}, current: {}, passes: false },
  {
    name: 'write',
    predicate: resourceVersionChanged,
    previous: { resourceVersion: '1' },
    current: { resourceVersion: '2' },
    passes: true,
  },
  { name: 'redelivery', predicate: resourceVersionChanged, previous: {}, current: {}, passes: false },
  {
    name: 'label added',
    predicate: labelsChanged,
    previous: {},
    current: { labels: { a: '' } },
    passes: true,
  },
  {
    name: 'label removed',
    predicate: labelsChanged,
    previous: { labels: { a: '' } },
    current: {},
    passes: true,
  },
  {
    name: 'label edited',
    predicate: labelsChanged,
    previous: { labels: { a: '1' } },
    current: { labels: { a: '2' } },
    passes: true,
  },
  {
    name: 'label renamed',
    predicate: labelsChanged,
    previous: { labels: { a: '' } },
    current: { labels: { b: '' } },
    passes: true,
  },
  {
    name: 'labels in another order',
    predicate: labelsChanged,
    previous: { labels: { a: '1', b: '2' } },
    current: { labels: { b: '2', a: '1' } },
    passes: false,
  },
  {
    name: 'label named like a method',
    predicate: labelsChanged,
    previous: { labels: { a: '' } },
    current: { labels: { toString: '' } },
    passes: true,
  },
  {
    name: 'no labels and empty labels',
    predicate: labelsChanged,
    previous: {},
    current: { labels: {} },
    passes: false,
  },
  {
    name: 'any annotation',
    predicate: annotationChanged(),
    previous: {},
    current: { annotations: { a: '' } },
    passes: true,
  },
  {
    name: 'no annotation',
    predicate: annotationChanged(),
    previous: {},
    current: { generation: 2 },
    passes: false,
  },
  {
    name: 'that annotation',
    predicate: annotationChanged('a'),
    previous: { annotations: { a: '1' } },
    current: { annotations: { a: '2' } },
    passes: true,
  },
  {
    name: 'another annotation',
    predicate: annotationChanged('a'),
    previous: { annotations: { a: '1', b: '1' } },
    current: { annotations: { a: '1', b: '2' } },
    passes: false,
  },
];

describe('Predicates', () => {
  for (const { name, predicate, previous, current, passes } of rows) {
    it(`${name}: ${passes ? 'passes' : 'does not pass'}`, () => {
      const event = {
        type: 'update',
        previous: widget('a', previous),
        object: widget('a', current),
      } as const;
      assert.equal(predicate(event), passes);
    });
  }

  it('creates and deletes always pass', () => {
    for (const { predicate } of rows) {
      assert.equal(predicate({ type: 'create', object: widget('a'), initial: true }), true);
      assert.equal(predicate({ type: 'delete', object: widget('a') }), true);
    }
  });

  it('and, or, not', () => {
    const event = { type: 'delete', object: widget('a') } as const;
    const yes: Predicate<Widget> = () => true;
    const no: Predicate<Widget> = () => false;
    assert.deepEqual(
      [and(yes, yes), and(yes, no), and()].map((predicate) => predicate(event)),
      [true, false, true],
    );
    assert.deepEqual(
      [or(no, yes), or(no, no), or()].map((predicate) => predicate(event)),
      [true, false, false],
    );
    assert.deepEqual(
      [not(yes), not(no)].map((predicate) => predicate(event)),
      [false, true],
    );
  });
});
