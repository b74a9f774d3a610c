/**
 * Conformance of resource versions: which state a read sees, where a watch begins, and how either is refused.
 */
import assert from 'node:assert/strict';
import { assertRefused, type ConformanceRow, newName, pathsOf, type Subject, succeeded } from './subject.ts';

async function labelled(
  { api, namespace }: Subject,
  count: number,
): Promise<{ label: string; versions: string[] }> {
  const label = newName('row');
  const versions: string[] = [];
  for (let i = 0; i < count; i++) {
    const body = { metadata: { name: newName('c'), labels: { row: label } }, data: { index: String(i) } };
    const created = succeeded(await api.send('POST', pathsOf(namespace).configMaps, { body }));
    versions.push(created.body.metadata.resourceVersion);
  }
  return { label, versions };
}

const tooLarge = /^Timeout: Too large resource version: 999999999, current: \d+$/;
const listOptions = 'ListOptions.meta.k8s.io "" is invalid: ';

export const versionRows: readonly ConformanceRow[] = [
  {
    title: 'a list at an exact version is the state of that version, and so is each of its pages',
    async run(subject) {
      const { api, namespace } = subject;
      const { configMaps } = pathsOf(namespace);
      const { label, versions } = await labelled(subject, 3);
      const query = `labelSelector=row%3D${label}`;
      const at = `resourceVersion=${versions[1]}&resourceVersionMatch=Exact`;
      const list = succeeded(await api.send('GET', `${configMaps}?${query}&${at}`));
      assert.equal(list.body.items.length, 2);
      assert.equal(list.body.metadata.resourceVersion, versions[1]);
      const first = succeeded(await api.send('GET', `${configMaps}?${query}&limit=2`));
      await api.send('DELETE', `${configMaps}?${query}`);
      const token = encodeURIComponent(first.body.metadata.continue);
      const second = succeeded(await api.send('GET', `${configMaps}?${query}&limit=2&continue=${token}`));
      assert.equal(second.body.items.length, 1, 'what was deleted meanwhile is on its page');
      assert.equal(second.body.metadata.resourceVersion, first.body.metadata.resourceVersion);
      assert.equal(second.body.metadata.continue, undefined);
      assert.equal(first.body.metadata.remainingItemCount, undefined, 'a selection is not counted');
    },
  },
  {
    title: 'a list without a selector counts what remains',
    async run(subject) {
      const { api, namespace } = subject;
      await labelled(subject, 3);
      const { configMaps } = pathsOf(namespace);
      const { body } = succeeded(await api.send('GET', `${configMaps}?limit=1`));
      const all = succeeded(await api.send('GET', configMaps));
      assert.equal(body.metadata.remainingItemCount, all.body.items.length - 1);
    },
  },
  {
    title: 'a list from the cache, and one not older than a version, are of a version that is told',
    async run(subject) {
      const { api, namespace } = subject;
      const { configMaps } = pathsOf(namespace);
      const { label, versions } = await labelled(subject, 2);
      const query = `labelSelector=row%3D${label}`;
      const newest = versions[1] ?? '';
      for (const options of [
        `resourceVersion=${newest}`,
        `resourceVersion=${newest}&resourceVersionMatch=NotOlderThan`,
      ]) {
        const { body } = succeeded(await api.send('GET', `${configMaps}?${query}&${options}`));
        assert.equal(body.items.length, 2, options);
        assert.ok(Number(body.metadata.resourceVersion) >= Number(newest), options);
      }
      const cached = succeeded(await api.send('GET', `${configMaps}?${query}&resourceVersion=0`));
      assert.match(cached.body.metadata.resourceVersion, /^\d+$/);
    },
  },
  {
    title: 'with a limit a list of a version is one of exactly that version; of version 0 it has no pages',
    async run(subject) {
      const { api, namespace } = subject;
      const { configMaps } = pathsOf(namespace);
      const { label, versions } = await labelled(subject, 3);
      const list = async (query: string) => {
        const { body } = succeeded(
          await api.send('GET', `${configMaps}?labelSelector=row%3D${label}&${query}`),
        );
        const { resourceVersion, continue: token } = body.metadata;
        return { count: body.items.length, resourceVersion, hasMore: token !== undefined };
      };
      const version = versions[1] ?? '';
      const exact = { resourceVersion: version, count: 2, hasMore: false };
      assert.deepEqual(await list(`resourceVersion=${version}&limit=9`), exact);
      assert.deepEqual(await list(`resourceVersion=${version}&limit=1`), {
        ...exact,
        count: 1,
        hasMore: true,
      });
      const newer = await list(`resourceVersion=${version}&resourceVersionMatch=NotOlderThan&limit=2`);
      assert.deepEqual([newer.count, newer.hasMore], [2, true]);
      assert.ok(Number(newer.resourceVersion) >= Number(versions[2]));
      // The cache may be behind, and has seen these once it was asked for their version.
      const cached = await list('resourceVersion=0&limit=1');
      assert.deepEqual([cached.count, cached.hasMore], [3, false]);
    },
  },
  {
    title: 'a version from the future is too large for a list, a get and a list in the form of a watch',
    async run({ api, namespace }) {
      const { configMaps } = pathsOf(namespace);
      const future = 'resourceVersion=999999999';
      const refusals = await Promise.all([
        api.send('GET', `${configMaps}?${future}`),
        api.send('GET', `${configMaps}?${future}&resourceVersionMatch=Exact`),
        api.send('GET', `${configMaps}/any?${future}`),
      ]);
      for (const refusal of refusals) {
        const causes = assertRefused(refusal, { code: 504, reason: 'Timeout', message: tooLarge });
        assert.deepEqual(causes, [
          { reason: 'ResourceVersionTooLarge', message: 'Too large resource version' },
        ]);
        assert.equal(refusal.headers['retry-after'], '1');
        assert.equal(refusal.body.details.retryAfterSeconds, 1);
      }
      const initial =
        'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
      const watch = await api.watch(`${configMaps}?${initial}&${future}`);
      assert.equal(watch.code, 200);
      await watch.ended;
      assert.equal(watch.events.length, 1);
      assert.equal(watch.events[0]?.type, 'ERROR');
      assert.match(watch.events[0]?.object.message, tooLarge);
    },
  },
  {
    title: 'a watch from the future begins, and says nothing of the past',
    async run(subject) {
      const { api, namespace } = subject;
      const watch = await api.watch(
        `${pathsOf(namespace).configMaps}?watch=1&resourceVersion=999999999&timeoutSeconds=1`,
      );
      assert.equal(watch.code, 200);
      await labelled(subject, 1);
      await watch.ended;
      assert.deepEqual(watch.events, []);
    },
  },
  {
    title: 'a watch without a version, and one from version 0, begin with what is there',
    async run(subject) {
      const { api, namespace } = subject;
      const { label } = await labelled(subject, 2);
      for (const version of ['', '&resourceVersion=0']) {
        const query = `watch=1&timeoutSeconds=20&labelSelector=row%3D${label}${version}`;
        const watch = await api.watch(`${pathsOf(namespace).configMaps}?${query}`);
        const events = await watch.until(({ length }) => length >= 2);
        watch.close();
        assert.deepEqual(
          events.map(({ type }) => type),
          ['ADDED', 'ADDED'],
        );
      }
    },
  },
  {
    title: 'a watch that loses sight of an object tells its last state under the new version',
    async run(subject) {
      const { api, namespace } = subject;
      const { configMaps } = pathsOf(namespace);
      const { label, versions } = await labelled(subject, 1);
      const query = `labelSelector=row%3D${label}`;
      const { body } = succeeded(await api.send('GET', `${configMaps}?${query}`));
      const { name } = body.items[0].metadata;
      const watch = await api.watch(
        `${configMaps}?watch=1&timeoutSeconds=20&${query}&resourceVersion=${versions[0]}`,
      );
      const change = { metadata: { labels: { row: 'other' } }, data: { index: 'changed' } };
      const changed = succeeded(await api.send('PATCH', `${configMaps}/${name}`, { body: change }));
      const [event] = await watch.until(({ length }) => length >= 1);
      watch.close();
      assert.equal(event?.type, 'DELETED');
      assert.equal(event?.object.data.index, '0');
      assert.equal(event?.object.metadata.labels.row, label);
      assert.equal(event?.object.metadata.resourceVersion, changed.body.metadata.resourceVersion);
    },
  },
  {
    title: 'options that contradict each other are refused',
    async run({ api, namespace }) {
      const { configMaps } = pathsOf(namespace);
      const rows = [
        [
          'resourceVersionMatch=Exact',
          'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
        ],
        [
          'resourceVersionMatch=Exact&resourceVersion=0',
          'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        ],
        [
          'resourceVersionMatch=Foo&resourceVersion=1',
          'resourceVersionMatch: Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""',
        ],
        ['sendInitialEvents=true', 'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list'],
        [
          'watch=1&sendInitialEvents=true',
          'resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
        ],
        [
          'watch=1&resourceVersionMatch=NotOlderThan',
          'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
        ],
      ] as const;
      for (const [query, why] of rows) {
        const answer = await api.send('GET', `${configMaps}?${query}`);
        const message = `${listOptions}${why}`;
        assert.equal(assertRefused(answer, { code: 422, reason: 'Invalid', message }).length, 1, query);
      }
    },
  },
  {
    title: 'a version that is no number ends a watch with 500',
    async run({ api, namespace }) {
      const answer = await api.send('GET', `${pathsOf(namespace).configMaps}?watch=1&resourceVersion=abc`);
      assertRefused(answer, { code: 500, message: /^resourceVersion: Invalid value: "abc"/ });
    },
  },
  {
    title: 'every answer says when it was made, and which request it answers',
    async run({ api, namespace }) {
      const answers = await Promise.all([1, 2].map(() => api.send('GET', pathsOf(namespace).configMaps)));
      for (const { headers } of answers) {
        assert.match(String(headers['audit-id']), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
        assert.ok(Number.isFinite(Date.parse(String(headers.date))));
      }
      assert.notEqual(answers[0]?.headers['audit-id'], answers[1]?.headers['audit-id']);
    },
  },
];
