import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { ApiError, isExpired } from '../../../src/runtime/client/api-error.ts';
import { listPages, type RawList } from '../../../src/runtime/client/paged-list.ts';

const gone = () => new ApiError('too old', 410, { reason: 'Expired' });

function page(names: string, next = '', resourceVersion = '7'): RawList<KubernetesObject> {
  return {
    metadata: { resourceVersion, continue: next },
    items: [...names].map((name) => ({ metadata: { name } })),
  };
}

/** Answers the pages in turn, and records the queries. */
function scripted(...answers: (RawList<KubernetesObject> | Error)[]) {
  const queries: Readonly<Record<string, unknown>>[] = [];
  const fetch = async (query: Readonly<Record<string, unknown>>) => {
    queries.push(Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)));
    const answer = answers.shift();
    assert.ok(answer, 'no more pages were expected');
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { queries, fetch };
}

const asItIs = (item: KubernetesObject) => item;

describe('listPages', () => {
  test('slims each object after it was completed', async () => {
    const { fetch } = scripted(page('ab'));
    const complete = (item: KubernetesObject) => ({ ...item, kind: 'Widget' });
    const transform = ({ kind, metadata }: KubernetesObject) => ({
      metadata: { name: `${kind} ${metadata.name}` },
    });
    const { items } = await listPages(fetch, complete, { transform });
    assert.deepEqual(items, [{ metadata: { name: 'Widget a' } }, { metadata: { name: 'Widget b' } }]);
  });

  test('joins the pages, and takes the resource version of the last', async () => {
    const { queries, fetch } = scripted(page('ab', 't1', '5'), page('c', '', '5'));
    const list = await listPages(fetch, asItIs, { labelSelector: 'a=b', resourceVersion: '0' });
    assert.deepEqual(list.items.map(({ metadata }) => metadata.name).join(''), 'abc');
    assert.equal(list.resourceVersion, '5');
    assert.deepEqual(queries, [
      { limit: 500, labelSelector: 'a=b', resourceVersion: '0' },
      { limit: 500, labelSelector: 'a=b', continue: 't1' },
    ]);
  });

  test('an empty collection may come as null', async () => {
    const { fetch } = scripted({ metadata: { resourceVersion: '5' }, items: null });
    assert.deepEqual(await listPages(fetch, asItIs, {}), { items: [], resourceVersion: '5' });
  });

  test('begins again, once, when the list expires between two pages', async () => {
    const { fetch } = scripted(page('ab', 't1'), gone(), page('x', 't2'), page('y'));
    const { items } = await listPages(fetch, asItIs, {});
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ['x', 'y'],
    );
  });

  test('fails as expired when that happens again', async () => {
    const { fetch } = scripted(page('ab', 't1'), gone(), page('x', 't2'), gone());
    await assert.rejects(listPages(fetch, asItIs, {}), isExpired);
  });

  test('an expired first page is the callers own', async () => {
    const { queries, fetch } = scripted(gone());
    await assert.rejects(listPages(fetch, asItIs, { resourceVersion: '1' }), isExpired);
    assert.equal(queries.length, 1);
  });
});
