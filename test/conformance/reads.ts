/**
 * Conformance of reads: lists with pages and selectors, watches, metadata-only forms, discovery.
 */
import assert from 'node:assert/strict';
import { configMaps, type KubernetesObject } from '../../src/kubernetes/objects.ts';
import { findPresence } from '../../src/runtime/cache/presence.ts';
import { ApiError, isNotFound } from '../../src/runtime/client/api-error.ts';
import type { Client, WatchCallOptions, WatchEvent } from '../../src/runtime/client/client.ts';
import { type ConformanceRow, keyOf, newWidget, type Widget, widgets } from './subject.ts';

type Line = readonly [type: string, name: string];

/** Opens a watch and reads it until `enough` says so, at most ten seconds. */
async function watchUntil(
  client: Client,
  options: Omit<WatchCallOptions, 'signal' | 'timeoutSeconds'>,
  enough: (events: readonly WatchEvent<Widget>[]) => boolean,
): Promise<readonly WatchEvent<Widget>[]> {
  const controller = new AbortController();
  const limit = setTimeout(
    () => controller.abort(new Error('the watch did not bring what was expected')),
    10_000,
  );
  try {
    const { signal } = controller;
    const events: WatchEvent<Widget>[] = [];
    for await (const event of await client.watch(widgets, { ...options, timeoutSeconds: 30, signal })) {
      // Of those that ask for metadata only, no more is looked at.
      events.push(event as WatchEvent<Widget>);
      if (enough(events)) break;
    }
    return events;
  } finally {
    clearTimeout(limit);
    controller.abort();
  }
}

function lines(events: readonly WatchEvent<Widget>[]): Line[] {
  return events.map((event) => [
    event.type,
    event.type === 'ERROR' ? '' : (event.object.metadata.name ?? ''),
  ]);
}

function annotation(event: WatchEvent<KubernetesObject> | undefined): string | undefined {
  return event?.type === 'BOOKMARK'
    ? event.object.metadata.annotations?.['k8s.io/initial-events-end']
    : undefined;
}

/** Widgets of one row, told apart from those of others by a label. */
async function labelled(client: Client, namespace: string, label: string, count: number): Promise<Widget[]> {
  const created: Widget[] = [];
  for (let i = 0; i < count; i++) {
    const labels = { row: label, parity: i % 2 === 0 ? 'even' : 'odd' };
    created.push(await client.create(widgets, newWidget(namespace, { labels })));
  }
  return created;
}

export const readRows: readonly ConformanceRow[] = [
  {
    title: 'get of what is missing is NotFound, with the resource and the name',
    async run({ client, namespace }) {
      await assert.rejects(client.get(widgets, { namespace, name: 'missing' }), (error) => {
        assert.ok(isNotFound(error) && error instanceof ApiError);
        assert.equal(error.status.details?.name, 'missing');
        assert.match(error.message, /widgets.* "missing" not found/);
        return true;
      });
    },
  },
  {
    title: 'a list has all pages, types its items, and selects by label',
    async run({ client, namespace }) {
      const created = await labelled(client, namespace, 'pages', 7);
      const options = { namespace, labelSelector: 'row=pages' };
      const { items, resourceVersion } = await client.list(widgets, { ...options, limit: 3 });
      assert.deepEqual(
        items.map(({ metadata }) => metadata.name).sort(),
        created.map(({ metadata }) => metadata.name).sort(),
      );
      assert.ok(
        items.every(
          ({ kind, apiVersion }) => kind === 'Widget' && apiVersion === 'conformance.example.com/v1',
        ),
      );
      assert.ok(Number(resourceVersion) >= Number(created.at(-1)?.metadata.resourceVersion));
      const counts = [
        'row=pages,parity=odd',
        'row in (pages, x),parity!=odd',
        'row=pages,!parity',
        'row=pages,parity',
      ];
      const found = await Promise.all(
        counts.map((labelSelector) => client.list(widgets, { namespace, labelSelector })),
      );
      assert.deepEqual(
        found.map((list) => list.items.length),
        [3, 4, 0, 7],
      );
    },
  },
  {
    title: 'a list selects by the field metadata.name',
    async run({ client, namespace }) {
      const [first] = await labelled(client, namespace, 'fields', 2);
      const fieldSelector = `metadata.name=${first?.metadata.name}`;
      const { items } = await client.list(widgets, { namespace, fieldSelector });
      assert.deepEqual(
        items.map(({ metadata }) => metadata.name),
        [first?.metadata.name],
      );
    },
  },
  {
    title: 'metadata-only forms have no spec, and say the type of the real object',
    async run({ client, namespace }) {
      const [first] = await labelled(client, namespace, 'metadata', 1);
      assert.ok(first);
      const options = { namespace, labelSelector: 'row=metadata', metadataOnly: true } as const;
      const got = await client.get(widgets, keyOf(first), { metadataOnly: true });
      const { items } = await client.list(widgets, options);
      const [event] = await watchUntil(client, options, (events) => events.length === 1);
      assert.ok(event?.type === 'ADDED');
      for (const object of [got, items[0], event.object]) {
        assert.deepEqual([object?.kind, object?.apiVersion], ['Widget', 'conformance.example.com/v1']);
        assert.equal(object?.metadata.uid, first.metadata.uid);
        assert.ok(object && !('spec' in object));
      }
    },
  },
  {
    title: 'a watch goes on from the version of a list, and tells every change in order',
    async run({ client, namespace }) {
      const [first] = await labelled(client, namespace, 'watch', 1);
      assert.ok(first);
      const options = { namespace, labelSelector: 'row=watch' };
      const { resourceVersion } = await client.list(widgets, options);
      const second = await client.create(widgets, newWidget(namespace, { labels: { row: 'watch' } }));
      const key = keyOf(first);
      await client.patch(widgets, key, { type: 'merge', body: { spec: { size: 2 } } });
      await client.patch(widgets, key, { type: 'merge', body: { metadata: { labels: { row: 'other' } } } });
      await client.patch(widgets, key, { type: 'merge', body: { metadata: { labels: { row: 'watch' } } } });
      await client.delete(widgets, key);
      const events = await watchUntil(client, { ...options, resourceVersion }, ({ length }) => length === 5);
      const { name } = first.metadata;
      assert.deepEqual(lines(events), [
        ['ADDED', second.metadata.name],
        ['MODIFIED', name],
        ['DELETED', name],
        ['ADDED', name],
        ['DELETED', name],
      ]);
    },
  },
  {
    title: 'a watch can begin with everything, closed by an annotated bookmark',
    async run({ client, namespace }) {
      const created = await labelled(client, namespace, 'initial', 3);
      const options = { namespace, labelSelector: 'row=initial', sendInitialEvents: true };
      const events = await watchUntil(client, options, (seen) => seen.at(-1)?.type === 'BOOKMARK');
      const last = events.at(-1);
      assert.equal(annotation(last), 'true');
      assert.deepEqual(
        lines(events.slice(0, -1)).sort(),
        created.map(({ metadata }): Line => ['ADDED', metadata.name]).sort(),
      );
      const version = last?.type === 'BOOKMARK' ? last.object.metadata.resourceVersion : undefined;
      assert.ok(Number(version) >= Number(created.at(-1)?.metadata.resourceVersion));
    },
  },
  {
    title: 'a watch ends by itself when its time is over',
    async run({ client, namespace }) {
      const { signal } = new AbortController();
      const options = { namespace, labelSelector: 'row=nothing', timeoutSeconds: 1, signal };
      const startedAt = performance.now();
      for await (const event of await client.watch(widgets, options)) assert.equal(event.type, 'BOOKMARK');
      assert.ok(performance.now() - startedAt < 8000);
    },
  },
  {
    title: 'a version from the future is refused as such, one that is no number as a bad request',
    async run({ client, namespace }) {
      const list = (resourceVersion: string) =>
        client.list(widgets, { namespace, resourceVersion, timeout: 4500 });
      await assert.rejects(list('999999999'), (error) => {
        assert.ok(error instanceof ApiError);
        assert.equal(error.code, 504);
        assert.ok(error.status.details?.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge'));
        return true;
      });
      await assert.rejects(list('abc'), (error) => error instanceof ApiError && error.code === 400);
    },
  },
  {
    title: 'a resource that is not served is NotFound, in every verb',
    async run({ client, namespace }) {
      const gadgets = { ...widgets, plural: 'gadgets', kind: 'Gadget' };
      const { signal } = new AbortController();
      await assert.rejects(client.list(gadgets, { namespace }), isNotFound);
      await assert.rejects(client.get(gadgets, { namespace, name: 'x' }), isNotFound);
      await assert.rejects(client.create(gadgets, newWidget(namespace)), isNotFound);
      await assert.rejects(client.watch(gadgets, { namespace, timeoutSeconds: 5, signal }), isNotFound);
      await assert.rejects(client.getRaw('/apis/none.example.com/v1'), isNotFound);
    },
  },
  {
    title: 'discovery proves which resources are not served',
    async run({ client }) {
      assert.equal(await client.getRaw('/readyz', { text: true }), 'ok');
      const { signal } = new AbortController();
      for (const [resource, presence] of [
        [widgets, 'served'],
        [configMaps, 'served'],
        [{ ...widgets, plural: 'gadgets' }, 'absent'],
        [{ ...configMaps, plural: 'gadgets' }, 'absent'],
        [{ ...widgets, group: 'none.example.com' }, 'absent'],
        [{ ...widgets, version: 'v99' }, 'otherVersion'],
      ] as const) {
        assert.equal(await findPresence(client, resource, signal), presence, JSON.stringify(resource));
      }
    },
  },
  {
    title: 'a resource without a status subresource does not serve it',
    async run({ client, namespace }) {
      const metadata = { name: newWidget(namespace).metadata.name, namespace };
      await client.create(configMaps, { metadata });
      const patch = { type: 'merge', body: { status: {} } } as const;
      await assert.rejects(client.patchStatus(configMaps, metadata, patch), isNotFound);
    },
  },
];
