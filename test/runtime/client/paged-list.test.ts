import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import type { KubernetesObject } from '../../../src/kubernetes/objects.ts';
import { ApiError, isExpired, TransportError } from '../../../src/runtime/client/api-error.ts';
import { DeadlineError } from '../../../src/runtime/client/deadline.ts';
import { listPages, type PageSource, type RawList } from '../../../src/runtime/client/paged-list.ts';
import { FakeClock, settle } from '../../fake/clock.ts';

const gone = () => new ApiError('too old', 410, { reason: 'Expired' });

function page(names: string, next = '', resourceVersion = '7'): RawList<KubernetesObject> {
  return {
    metadata: { resourceVersion, continue: next },
    items: [...names].map((name) => ({ metadata: { name } })),
  };
}

type Answer = RawList<KubernetesObject> | string | Error | AsyncIterable<Buffer>;

/** The bytes of a text in chunks of this size. */
async function* arriving(text: string, size = 10): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

/** Answers the pages in turn, and records the queries. */
function scripted(...answers: Answer[]) {
  const queries: Readonly<Record<string, unknown>>[] = [];
  const clock = new FakeClock();
  const source: PageSource<KubernetesObject> = {
    clock,
    title: 'GET /widgets',
    fetch: async (query) => {
      queries.push(Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)));
      const answer = answers.shift();
      assert.ok(answer !== undefined, 'no more pages were expected');
      if (answer instanceof Error) throw answer;
      if (typeof answer === 'string') return arriving(answer);
      return Symbol.asyncIterator in answer ? answer : arriving(JSON.stringify(answer));
    },
    check: (answer) => answer as RawList<KubernetesObject>,
    complete: (item) => item,
  };
  return { queries, clock, source };
}

function namesOf({ items }: { readonly items: readonly KubernetesObject[] }): string {
  return items.map(({ metadata }) => metadata.name).join('');
}

describe('listPages', () => {
  test('reads a part that has arrived when its reader allows it', async () => {
    const { source } = scripted(page('abcdef'));
    const taken: string[] = [];
    const transform = (item: KubernetesObject) => {
      taken.push(item.metadata.name);
      return item;
    };
    let parts = 0;
    const turn = Promise.withResolvers<void>();
    const onPart = () => (++parts === 2 ? turn.promise : undefined);
    const listed = listPages(source, { transform, onPart });
    await settle();
    assert.deepEqual([parts, taken], [2, []]);
    turn.resolve();
    await listed;
    assert.ok(parts > 10, `${parts} parts of 10 bytes`);
    assert.equal(taken.join(''), 'abcdef');
  });

  test('transforms each object after it was completed', async () => {
    const { source } = scripted(page('ab'));
    const complete = (item: KubernetesObject) => ({ ...item, kind: 'Widget' });
    const transform = ({ kind, metadata }: KubernetesObject) => ({
      metadata: { name: `${kind} ${metadata.name}` },
    });
    const { items } = await listPages({ ...source, complete }, { transform });
    assert.deepEqual(items, [{ metadata: { name: 'Widget a' } }, { metadata: { name: 'Widget b' } }]);
  });

  test('joins the pages, and takes the resource version of the last', async () => {
    const { queries, source } = scripted(page('ab', 't1', '5'), page('c', '', '5'));
    const list = await listPages(source, { labelSelector: 'a=b', resourceVersion: '0' });
    assert.deepEqual(list.items.map(({ metadata }) => metadata.name).join(''), 'abc');
    assert.equal(list.resourceVersion, '5');
    assert.deepEqual(queries, [
      { limit: 50, labelSelector: 'a=b', resourceVersion: '0' },
      { limit: 100, labelSelector: 'a=b', continue: 't1' },
    ]);
  });

  test('an empty collection may come as null', async () => {
    const { source } = scripted({ metadata: { resourceVersion: '5' }, items: null });
    assert.deepEqual(await listPages(source, {}), { items: [], resourceVersion: '5' });
  });

  test('begins again, once, when the list expires between two pages', async () => {
    const { source } = scripted(page('ab', 't1'), gone(), page('x', 't2'), page('y'));
    const { items } = await listPages(source, {});
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ['x', 'y'],
    );
  });

  test('fails as expired when that happens again', async () => {
    const { source } = scripted(page('ab', 't1'), gone(), page('x', 't2'), gone());
    await assert.rejects(listPages(source, {}), isExpired);
  });

  test('an expired first page is the callers own', async () => {
    const { queries, source } = scripted(gone());
    await assert.rejects(listPages(source, { resourceVersion: '1' }), isExpired);
    assert.equal(queries.length, 1);
  });

  test('asks for twice as many while pages are small, and for half of them after a huge one', async () => {
    const megabyte = 1024 * 1024;
    const { queries, source } = scripted(
      page('a', 't1'),
      ...[4, 17, 16, 5, 1].map((size) => sized(page('a', 't'), size * megabyte)),
      page('b'),
    );
    await listPages(source, {});
    assert.deepEqual(
      queries.map(({ limit }) => limit),
      [50, 100, 100, 50, 50, 50, 100],
    );
  });

  test('asks for as many as the caller says', async () => {
    const { queries, source } = scripted(page('a', 't1'), page('b'));
    await listPages(source, { limit: 7 });
    assert.deepEqual(
      queries.map(({ limit }) => limit),
      [7, 7],
    );
  });

  test('lets the event loop turn between items, and holds what the transform leaves', async () => {
    const { clock, source } = scripted(page('abcdefghij'));
    let turns = 0;
    clock.turn = async () => {
      turns++;
    };
    const transform = ({ metadata }: KubernetesObject) => {
      clock.advance(4);
      return metadata.name === 'b' ? undefined : { metadata: { name: metadata.name } };
    };
    const list = await listPages(source, { transform });
    assert.equal(namesOf(list), 'acdefghij');
    assert.equal(turns, 3, 'after 12 ms each');
  });

  test('asks again for a page that broke off, a few times, from where it was', async () => {
    const broken = () => breaking(page('cd', 't2'), new TransportError('reset', true));
    const { queries, source } = scripted(page('ab', 't1'), broken(), broken(), page('cd'));
    assert.equal(namesOf(await listPages(source, {})), 'abcd');
    assert.deepEqual(
      queries.map((query) => query.continue),
      [undefined, 't1', 't1', 't1'],
    );
    const { source: unreadable } = scripted(broken(), broken(), broken());
    await assert.rejects(listPages(unreadable, {}), /reset/);
  });

  test('does not ask again when its time was over', async () => {
    const late = new TransportError('late', true, { cause: new DeadlineError('no answer within 120 s') });
    const { queries, source } = scripted(breaking(page('ab'), late));
    await assert.rejects(listPages(source, {}), /late/);
    assert.equal(queries.length, 1);
  });

  for (const [what, text] of [
    ['no JSON', '<html>s3cret</html>'],
    ['cut off', '{"metadata":{},"items":[{"metadata":{"name":"s3cret"}}'],
    ['a list of nothing', '{"metadata":{},"items":[null]}'],
    ['a list with items twice', '{"items":[{}],"\\u0069tems":[{}]}'],
  ] as const) {
    test(`refuses an answer that is ${what}, without its content`, async () => {
      const { queries, source } = scripted(text);
      await assert.rejects(listPages(source, {}), (error) => {
        assert.ok(error instanceof TransportError);
        assert.match(error.message, /^GET \/widgets: /);
        return !inspect(error).includes('s3cret');
      });
      assert.equal(queries.length, 1);
    });
  }

  test('finds items whose key is escaped', async () => {
    const { source } = scripted('{"metadata":{},"\\u0069tems":[{"metadata":{"name":"a"}}]}');
    assert.equal(namesOf(await listPages(source, {})), 'a');
  });
});

/** A page of so many bytes. */
async function* sized(list: RawList<KubernetesObject>, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(JSON.stringify(list));
  yield bytes;
  yield Buffer.alloc(size - bytes.length, ' ');
}

/** The beginning of a page. */
async function* breaking(list: RawList<KubernetesObject>, error: Error): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(JSON.stringify(list));
  yield bytes.subarray(0, bytes.length - 5);
  throw error;
}
