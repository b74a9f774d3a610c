import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ReleasePodsOptions, releasePods } from '../../../src/at/act/release-pods.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import { ApiError } from '../../../src/runtime/client/api-error.ts';
import type { ListOptions } from '../../../src/runtime/client/client.ts';
import { accepted, created, succeeded } from '../../fixtures/at.ts';

const gated = { ...created(accepted({ launchGuarantee: 'ExactlyOnce' })) };
const { schedulingGates: _, ...released } = gated.spec;
const running: Pod = { ...gated, metadata: { ...gated.metadata, name: 'running-pod' }, spec: released };
const ordinary = succeeded(created(accepted()));
const unlabelled: Pod = { ...running, metadata: { ...running.metadata, name: 'unlabelled-pod', labels: {} } };
const going: Pod = {
  ...gated,
  metadata: { ...gated.metadata, name: 'going-pod', deletionTimestamp: '2030-01-31T09:00:00Z' },
};

interface World {
  readonly requests: string[];
  readonly lines: string[];
  readonly options: ReleasePodsOptions;
}

function world(items: readonly Pod[], options: Partial<ReleasePodsOptions> = {}, error?: Error): World {
  const requests: string[] = [];
  const lines: string[] = [];
  const answer = () => (error === undefined ? Promise.resolve() : Promise.reject(error));
  const client = {
    list: (_resource: object, { namespace, labelSelector = '', transform }: ListOptions) => {
      requests.push(`list ${namespace} ${labelSelector}`);
      return Promise.resolve({ items: items.flatMap((pod) => transform?.(pod) ?? []) });
    },
    delete: (
      _resource: object,
      { name }: { name: string },
      { uid, resourceVersion }: Record<string, string>,
    ) => {
      requests.push(`delete ${name} ${uid} ${resourceVersion}`);
      return answer();
    },
    patch: (
      _resource: object,
      { name }: { name: string },
      { operations }: { operations: { op: string; path: string }[] },
    ) => {
      requests.push(`patch ${name} ${operations.map(({ op, path }) => `${op} ${path}`).join(', ')}`);
      return answer();
    },
  } as unknown as ReleasePodsOptions['client'];
  const print = (line: string) => void lines.push(line);
  return { requests, lines, options: { client, namespaces: [], dryRun: false, print, ...options } };
}

const untracking = 'test /metadata/uid, test /metadata/finalizers/0, remove /metadata/finalizers/0';
const listing = 'list  ';

test('a gated Pod is deleted as it was seen, and all lose the finalizer', async () => {
  const { requests, lines, options } = world([gated, running, ordinary, going]);
  assert.equal(await releasePods(options), 0);
  assert.deepEqual(requests, [
    listing,
    'delete example-at-pod pod-uid-1 20',
    `patch example-at-pod ${untracking}`,
    `patch running-pod ${untracking}`,
    `patch going-pod ${untracking}`,
  ]);
  assert.deepEqual(lines, [
    'default/example-at-pod: deleted: it was never released to a node, so that its command has not run',
    'default/running-pod: freed of the finalizer',
    'default/going-pod: deleted: it was never released to a node, so that its command has not run',
    '3 Pods freed',
  ]);
});

test('a Pod that has lost its labels is found by what holds it', async () => {
  const { requests, options } = world([ordinary, unlabelled]);
  await releasePods(options);
  assert.deepEqual(requests, [listing, `patch unlabelled-pod ${untracking}`]);
});

test('without a finalizer a gated Pod is deleted only', async () => {
  const { finalizers: __, ...metadata } = gated.metadata;
  const { requests, options } = world([{ ...gated, metadata }]);
  await releasePods(options);
  assert.deepEqual(requests.slice(1), ['delete example-at-pod pod-uid-1 20']);
});

test('a dry run says what would be done, and does nothing', async () => {
  const { requests, lines, options } = world([gated, running], { dryRun: true, namespaces: ['a', 'b'] });
  assert.equal(await releasePods(options), 0);
  assert.deepEqual(
    requests.map((request) => request.split(' ').slice(0, 2)),
    [
      ['list', 'a'],
      ['list', 'b'],
    ],
  );
  assert.match(lines[0] ?? '', /example-at-pod: would be deleted: /);
  assert.match(lines[1] ?? '', /running-pod: would be freed of the finalizer$/);
  assert.equal(lines.at(-1), '4 Pods would be freed');
});

test('what has changed meanwhile or is refused is told, and what is gone is freed', async () => {
  const refusals: [number, string, number, RegExp][] = [
    [409, 'Conflict', 1, /not freed: it has changed meanwhile: run the command again/],
    [403, 'Forbidden', 1, /not freed: no/],
    [404, 'NotFound', 0, /: deleted: /],
    [404, '', 1, /not freed: no/],
  ];
  for (const [code, reason, failed, says] of refusals) {
    const { lines, options } = world([gated], {}, new ApiError('no', code, { code, reason, message: 'no' }));
    assert.equal(await releasePods(options), failed);
    assert.match(lines[0] ?? '', says);
    assert.equal(lines.at(-1), failed === 0 ? '1 Pod freed' : '0 Pods freed, 1 not freed');
  }
});

test('nothing held is said', async () => {
  const { lines, options } = world([ordinary]);
  await releasePods(options);
  assert.deepEqual(lines, ['no Pod is held']);
});
