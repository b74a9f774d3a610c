import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { type Change, Partition } from '../../../src/runtime/cache/partition.ts';
import { Store } from '../../../src/runtime/cache/store.ts';
import { type Widget, type WidgetFields, widget } from './widget.ts';

/** `add a@5`, `update a@5>6`, `delete a@6`. */
function told(changes: readonly Change<Widget>[]): string[] {
  return changes.map((change) => {
    const { name, resourceVersion } = change.object.metadata;
    const from = change.type === 'update' ? `${change.previous.metadata.resourceVersion}>` : '';
    return `${change.type} ${name}@${from}${resourceVersion}`;
  });
}

let store: Store<Widget>;
let partition: Partition<Widget>;

function setUp() {
  store = new Store();
  partition = new Partition(store, undefined);
}

/** `a@5` for everything that readers see. */
function visible(): string[] {
  return store.list().map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`);
}

/** `a@5` for everything that handlers know of. */
function watched(): string[] {
  return [...partition.watched()].map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`);
}

function list(resourceVersion: number, ...items: WidgetFields[]): string[] {
  return told(partition.replace(items.map(widget), String(resourceVersion)));
}

const happens = (type: 'ADDED' | 'MODIFIED' | 'DELETED', fields: WidgetFields) =>
  told(partition.apply(type, widget(fields)));
const adds = (fields: WidgetFields) => happens('ADDED', fields);
const modifies = (fields: WidgetFields) => happens('MODIFIED', fields);
const deletes = (fields: WidgetFields) => happens('DELETED', fields);

describe('Partition following the watch', () => {
  beforeEach(setUp);

  it('tells what changed', () => {
    assert.deepEqual(adds({ rv: 1 }), ['add a@1']);
    assert.deepEqual(modifies({ rv: 2 }), ['update a@1>2']);
    assert.deepEqual(deletes({ rv: 3 }), ['delete a@3']);
    assert.deepEqual(visible(), []);
  });

  it('goes by what it has, not by the name of the event', () => {
    assert.deepEqual(modifies({ rv: 1 }), ['add a@1']);
    assert.deepEqual(adds({ rv: 2 }), ['update a@1>2']);
    assert.deepEqual(deletes({ name: 'never-seen', rv: 3 }), []);
  });

  it('ignores what was shown before', () => {
    list(10, { rv: 8 });
    assert.deepEqual(adds({ rv: 8 }), []);
    assert.deepEqual(deletes({ rv: 9 }), []);
    assert.deepEqual(adds({ name: 'gone-since', rv: 9 }), []);
    assert.deepEqual(visible(), ['a@8']);
  });

  it('tells all deletes and changes that share a revision, each once', () => {
    list(10, { name: 'e1' }, { name: 'e2' }, { name: 'e3' }, { name: 'e4' });
    for (let round = 0; round < 2; round++) {
      const first = round === 0;
      assert.deepEqual(deletes({ name: 'e1', rv: 11 }), first ? ['delete e1@11'] : []);
      assert.deepEqual(deletes({ name: 'e2', rv: 11 }), first ? ['delete e2@11'] : []);
      assert.deepEqual(modifies({ name: 'e3', rv: 11 }), first ? ['update e3@1>11'] : []);
      assert.deepEqual(adds({ name: 'e5', rv: 11 }), first ? ['add e5@11'] : []);
    }
    assert.deepEqual(visible(), ['e3@11', 'e4@1', 'e5@11']);
  });

  it('resumes from a revision of which nothing can be missing', () => {
    list(10, { name: 'e1' }, { name: 'e2' });
    assert.equal(partition.resumeFrom, '10');
    deletes({ name: 'e1', rv: 12 });
    assert.equal(partition.resumeFrom, '10', 'the rest of that revision may have been cut off');
    deletes({ name: 'e2', rv: 12 });
    assert.equal(partition.resumeFrom, '10');
    adds({ name: 'e3', rv: 15 });
    assert.equal(partition.resumeFrom, '12');
    partition.advance('15');
    assert.equal(partition.resumeFrom, '12', 'a bookmark may come in the middle of a revision');
    partition.advance('16');
    assert.equal(partition.resumeFrom, '16');
    partition.apply('ADDED', widget({ name: 'e4', resourceVersion: 'x' }));
    assert.equal(partition.resumeFrom, 'x', 'what cannot be compared cannot be told from a replay');
  });

  it('takes versions that cannot be compared as they come', () => {
    adds({ resourceVersion: 'x' });
    assert.deepEqual(told(partition.apply('MODIFIED', widget({ resourceVersion: 'b' }))), ['update a@x>b']);
    partition.observeWrite(widget({ resourceVersion: 'c' }));
    assert.equal(partition.pendingOwnWrites, 0);
  });

  it('takes an event without a version', () => {
    const object: Widget = { metadata: { name: 'a' } };
    assert.deepEqual(told(partition.apply('ADDED', object)), ['add a@undefined']);
  });

  it('tells of another object under the same name as a delete and an add', () => {
    adds({ uid: 'one', rv: 1 });
    assert.deepEqual(modifies({ uid: 'two', rv: 3 }), ['delete a@1', 'add a@3']);
  });
});

describe('Partition being replaced', () => {
  beforeEach(setUp);

  it('tells the difference, by name and uid', () => {
    list(
      10,
      { name: 'same', rv: 1 },
      { name: 'changed', rv: 2 },
      { name: 'gone', rv: 3 },
      { name: 'again', rv: 4 },
    );
    const changes = list(
      20,
      { name: 'same', rv: 1 },
      { name: 'changed', rv: 12 },
      { name: 'again', rv: 14, uid: 'another' },
      { name: 'new', rv: 15 },
    );
    assert.deepEqual(changes, [
      'delete gone@3',
      'update changed@2>12',
      'delete again@4',
      'add again@14',
      'add new@15',
    ]);
  });

  it('has stored all of it before anything is told', () => {
    partition.replace([widget({ name: 'a' }), widget({ name: 'b' })], '10');
    assert.equal(store.size, 2);
  });

  it('keeps the object it has when the list brings the same version', () => {
    list(10, { rv: 1 });
    const kept = store.get('default', 'a');
    list(20, { rv: 1 });
    assert.equal(store.get('default', 'a'), kept);
  });

  it('takes an object once that came on two pages', () => {
    assert.deepEqual(list(10, { rv: 1 }, { rv: 2 }), ['add a@2']);
  });

  it('leaves other namespaces alone', () => {
    const other = new Partition(store, 'other');
    partition = new Partition(store, 'default');
    list(10, { name: 'a' });
    other.replace([widget({ name: 'b', namespace: 'other' })], '10');
    assert.deepEqual(list(20), ['delete a@1']);
    assert.deepEqual(visible(), ['b@1']);
    assert.deepEqual(watched(), []);
  });

  it('loses everything with the resource, and keeps its position', () => {
    list(10, { name: 'a' });
    partition.observeWrite(widget({ name: 'own', rv: 12 }));
    assert.deepEqual(told(partition.replace([], undefined)), ['add own@12', 'delete own@12', 'delete a@1']);
    assert.deepEqual(visible(), []);
    assert.equal(partition.position, '10');
  });
});

describe('Partition with own writes', () => {
  beforeEach(() => {
    setUp();
    list(10, { rv: 5 });
  });

  it('shows a create to readers at once and to handlers when it arrives', () => {
    partition.observeWrite(widget({ name: 'b', rv: 11 }));
    assert.deepEqual(visible(), ['a@5', 'b@11']);
    assert.deepEqual(watched(), ['a@5']);
    assert.deepEqual(adds({ name: 'b', rv: 11 }), ['add b@11']);
    assert.deepEqual(watched(), ['a@5', 'b@11']);
    assert.equal(partition.pendingOwnWrites, 0);
  });

  it('shows an update over what the watch brings until that has caught up', () => {
    partition.observeWrite(widget({ rv: 13 }));
    assert.deepEqual(modifies({ rv: 12 }), ['update a@5>12']);
    assert.deepEqual(visible(), ['a@13']);
    assert.deepEqual(modifies({ rv: 13 }), ['update a@12>13']);
    assert.deepEqual(modifies({ rv: 14 }), ['update a@13>14']);
    assert.deepEqual(visible(), ['a@14']);
    assert.equal(partition.pendingOwnWrites, 0);
  });

  it('ignores an answer that the watch has overtaken', () => {
    modifies({ rv: 12 });
    deletes({ rv: 13 });
    partition.observeWrite(widget({ rv: 12 }));
    assert.deepEqual(visible(), []);
    assert.equal(partition.pendingOwnWrites, 0);
  });

  it('ignores an answer that a later one has overtaken', () => {
    partition.observeWrite(widget({ rv: 13 }));
    partition.observeWrite(widget({ rv: 12 }));
    assert.deepEqual(visible(), ['a@13']);
  });

  it('lets another client end an object that has an own write', () => {
    partition.observeWrite(widget({ rv: 13 }));
    assert.deepEqual(deletes({ rv: 14 }), ['delete a@14']);
    assert.deepEqual(visible(), []);
    assert.equal(partition.pendingOwnWrites, 0);
  });

  it('shows a successor while the watch still tells of its predecessor', () => {
    partition.observeWrite(widget({ uid: 'successor', rv: 15 }));
    assert.deepEqual(modifies({ rv: 12 }), ['update a@5>12']);
    assert.deepEqual(deletes({ rv: 14 }), ['delete a@14']);
    assert.deepEqual(visible(), ['a@15']);
    assert.deepEqual(adds({ uid: 'successor', rv: 15 }), ['add a@15']);
    assert.equal(partition.pendingOwnWrites, 0);
  });

  it('ends an own write when a bookmark or a list passes it', () => {
    partition.observeWrite(widget({ rv: 11 }));
    partition.advance('10');
    assert.deepEqual(visible(), ['a@11']);
    assert.deepEqual(partition.advance('11'), []);
    assert.deepEqual(visible(), ['a@5']);
    partition.observeWrite(widget({ rv: 12 }));
    assert.deepEqual(list(12, { rv: 5 }), []);
    assert.deepEqual(visible(), ['a@5']);
    assert.equal(partition.pendingOwnWrites, 0);
  });

  it('keeps an own write over a list that is older', () => {
    partition.observeWrite(widget({ name: 'b', rv: 30 }));
    partition.observeWrite(widget({ rv: 31 }));
    assert.deepEqual(list(20, { rv: 15 }), ['update a@5>15']);
    assert.deepEqual(visible().sort(), ['a@31', 'b@30']);
    assert.deepEqual(list(20), ['delete a@15', 'add b@30', 'delete b@30']);
    assert.equal(partition.pendingOwnWrites, 0, 'none outlives a second list');
  });

  it('tells of an own object that is gone before the watch has shown it', () => {
    partition.observeWrite(widget({ name: 'b', rv: 11 }));
    partition.observeWrite(widget({ name: 'b', rv: 12 }));
    assert.deepEqual(list(20, { rv: 5 }), ['add b@12', 'delete b@12']);
    partition.observeWrite(widget({ name: 'c', rv: 21 }));
    assert.deepEqual(told(partition.advance('22')), ['add c@21', 'delete c@21']);
    partition.observeWrite(widget({ uid: 'successor', rv: 23 }));
    assert.deepEqual(list(30), ['delete a@5', 'add a@23', 'delete a@23']);
    assert.deepEqual(visible(), []);
  });

  it('tells once that an object is gone that was written after the watch had shown it', () => {
    partition.observeWrite(widget({ rv: 15 }));
    assert.deepEqual(list(20), ['delete a@5']);
    partition.observeWrite(widget({ uid: 'b', name: 'b', rv: 40 }));
    assert.deepEqual(list(30, { uid: 'b', name: 'b', rv: 25 }), ['add b@25']);
    assert.deepEqual(list(41), ['delete b@25']);
    assert.deepEqual(visible(), []);
  });

  it('tells nothing of an own object that an own write has ended', () => {
    partition.observeWrite(widget({ name: 'b', rv: 11 }));
    partition.observeEnd({ namespace: 'default', name: 'b', uid: 'uid-b' });
    assert.deepEqual(list(20, { rv: 5 }), []);
  });

  it('drops own writes when the storage was restored from a backup', () => {
    partition.observeWrite(widget({ name: 'b', rv: 30 }));
    assert.deepEqual(list(7, { rv: 5 }), ['add b@30', 'delete b@30']);
    assert.deepEqual(visible(), ['a@5']);
  });

  it('hides what left the selection, and shows it again when it comes back', () => {
    partition.observeExit(widget({ rv: 12 }));
    assert.deepEqual(visible(), []);
    assert.deepEqual(watched(), ['a@5']);
    partition.observeWrite(widget({ rv: 13 }));
    assert.deepEqual(visible(), ['a@13']);
    assert.deepEqual(deletes({ rv: 12 }), ['delete a@12']);
    assert.deepEqual(visible(), ['a@13']);
    assert.deepEqual(adds({ rv: 13 }), ['add a@13']);
    assert.equal(partition.pendingOwnWrites, 0);
  });
});

describe('Partition with objects that own writes ended', () => {
  const own = { namespace: 'default', name: 'a', uid: 'uid-a' };

  beforeEach(() => {
    setUp();
    list(10, { rv: 5 });
  });

  it('hides the object until the watch confirms', () => {
    partition.observeEnd(own);
    assert.deepEqual(visible(), []);
    assert.deepEqual(modifies({ rv: 11 }), ['update a@5>11']);
    assert.deepEqual(visible(), []);
    assert.deepEqual(deletes({ rv: 12 }), ['delete a@12']);
    assert.equal(partition.pendingOwnWrites, 0);
  });

  it('does not show the object again for what the watch has yet to tell of it', () => {
    partition.observeEnd(own);
    modifies({ rv: 12, deletionTimestamp: '2024-01-01T00:00:00Z' });
    assert.deepEqual(visible(), []);
    assert.deepEqual(deletes({ rv: 13 }), ['delete a@13']);
    assert.equal(partition.pendingOwnWrites, 0);
  });

  it('is not undone by the answer to an earlier write', () => {
    partition.observeEnd(own);
    partition.observeWrite(widget({ rv: 11 }));
    assert.deepEqual(visible(), []);
  });

  it('gives way to a successor, own or not', () => {
    partition.observeEnd(own);
    partition.observeWrite(widget({ uid: 'successor', rv: 13 }));
    assert.deepEqual(visible(), ['a@13']);
    assert.deepEqual(deletes({ rv: 12 }), ['delete a@12']);
    assert.deepEqual(adds({ uid: 'successor', rv: 13 }), ['add a@13']);
    partition.observeEnd({ ...own, uid: 'successor' });
    assert.deepEqual(adds({ uid: 'third', rv: 15 }), ['delete a@13', 'add a@15']);
    assert.deepEqual(visible(), ['a@15']);
    assert.equal(partition.pendingOwnWrites, 0);
  });

  it('hides nothing but the object that was deleted', () => {
    partition.observeEnd({ ...own, uid: 'predecessor' });
    partition.observeEnd({ ...own, name: 'never-seen' });
    assert.deepEqual(visible(), ['a@5']);
    assert.equal(partition.pendingOwnWrites, 0);
  });

  it('does not need the watch to have shown the object', () => {
    partition.observeWrite(widget({ name: 'b', rv: 12 }));
    partition.observeEnd({ ...own, name: 'b', uid: 'uid-b' });
    assert.deepEqual(adds({ name: 'b', rv: 12 }), ['add b@12']);
    assert.deepEqual(visible(), ['a@5']);
    assert.deepEqual(deletes({ name: 'b', rv: 13 }), ['delete b@13']);
    assert.equal(partition.pendingOwnWrites, 0);
  });

  it('survives the end of a predecessor', () => {
    partition.observeWrite(widget({ uid: 'successor', rv: 13 }));
    partition.observeEnd({ ...own, uid: 'successor' });
    assert.deepEqual(deletes({ rv: 12 }), ['delete a@12']);
    assert.deepEqual(adds({ uid: 'successor', rv: 13 }), ['add a@13']);
    assert.deepEqual(visible(), []);
    assert.deepEqual(deletes({ uid: 'successor', rv: 14 }), ['delete a@14']);
    assert.equal(partition.pendingOwnWrites, 0);
  });

  it('does not take a predecessor that the watch has yet to show for a successor', () => {
    for (const [uid, rv] of [
      ['first', 12],
      ['second', 14],
    ] as const) {
      partition.observeWrite(widget({ name: 'b', uid, rv }));
      partition.observeEnd({ ...own, name: 'b', uid });
    }
    assert.deepEqual(adds({ name: 'b', uid: 'first', rv: 12 }), ['add b@12']);
    assert.deepEqual(visible(), ['a@5']);
    partition.observeWrite(widget({ name: 'b', uid: 'first', rv: 13 }));
    assert.deepEqual(visible(), ['a@5'], 'the late answer to a write before the first delete');
    deletes({ name: 'b', uid: 'first', rv: 13 });
    adds({ name: 'b', uid: 'second', rv: 14 });
    assert.deepEqual(visible(), ['a@5']);
    deletes({ name: 'b', uid: 'second', rv: 15 });
    assert.equal(partition.pendingOwnWrites, 0);
  });

  it('is confirmed by a list without the object, and outlives one with it only once', () => {
    partition.observeEnd(own);
    assert.deepEqual(list(11, { rv: 5 }), [], 'may have begun before the delete');
    assert.deepEqual(visible(), []);
    assert.deepEqual(list(12, { rv: 5 }), []);
    assert.deepEqual(visible(), ['a@5']);
    partition.observeEnd(own);
    assert.deepEqual(list(14), ['delete a@5']);
    assert.equal(partition.pendingOwnWrites, 0);
  });

  it('of an object the watch has not shown is confirmed by a list new enough to have known it', () => {
    partition.observeWrite(widget({ name: 'b', rv: 12 }));
    partition.observeEnd({ ...own, name: 'b', uid: 'uid-b' });
    list(11, { rv: 5 });
    assert.equal(partition.pendingOwnWrites, 1);
    assert.deepEqual(visible(), ['a@5']);
    setUp();
    list(10, { rv: 5 });
    partition.observeWrite(widget({ name: 'b', rv: 12 }));
    partition.observeEnd({ ...own, name: 'b', uid: 'uid-b' });
    list(12, { rv: 5 });
    assert.equal(partition.pendingOwnWrites, 0);
    assert.deepEqual(visible(), ['a@5']);
  });
});
