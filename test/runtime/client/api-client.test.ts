import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { inspect } from 'node:util';
import { configMaps, type KubernetesObject, pods } from '../../../src/kubernetes/objects.ts';
import {
  ApiError,
  isExpired,
  isTooManyRequests,
  TransportError,
} from '../../../src/runtime/client/api-error.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import type { Connection } from '../../../src/runtime/client/connect.ts';
import type { JsonPatchOperation } from '../../../src/runtime/client/patch.ts';
import { type Widget, widgets } from '../../conformance/subject.ts';
import { FakeApiServer, type RecordedRequest } from '../../fake/api-server.ts';
import { FakeClock, settle } from '../../fake/clock.ts';
import { connectTo } from '../../fake/connection.ts';
import { until } from '../../fake/until.ts';

const key = { namespace: 'n', name: 'a' };
const widget: Widget = { metadata: key, spec: { size: 1 } };
const base = '/apis/conformance.example.com/v1/namespaces/n/widgets';

let server: FakeApiServer;
let connection: Connection;
let client: Client;
beforeEach(async () => {
  server = await FakeApiServer.start({ resources: [widgets] });
  connection = connectTo(server, { fieldManager: 'me', userAgent: 'tester/1' });
  client = connection.client;
});
afterEach(() => server.stop());

function last(): RecordedRequest {
  const request = server.requests.at(-1);
  assert.ok(request);
  return request;
}

/** `METHOD path?query content-type`, without the time limit that every write has. */
function line(): string {
  const { method, path, query, headers } = last();
  query.delete('timeout');
  const search = query.size > 0 ? `?${query}` : '';
  return `${method} ${path}${search} ${headers['content-type'] ?? ''}`.trim();
}

describe('requests', () => {
  const uid = '3d3c1c33-0d3f-4b0c-8a0e-0a0a0a0a0a0a';
  const json = { type: 'json', operations: [{ op: 'test', path: '/a', value: 1 }] } as const;
  const apply = { type: 'apply', body: { kind: 'Widget' }, fieldManager: 'f' } as const;
  const rows: readonly { call: () => Promise<unknown>; line: string; body?: object }[] = [
    { call: () => client.get(widgets, key), line: `GET ${base}/a` },
    { call: () => client.create(widgets, widget), line: `POST ${base}?fieldManager=me application/json` },
    {
      call: () => client.create(widgets, widget, { fieldManager: 'f', dryRun: true }),
      line: `POST ${base}?dryRun=All&fieldManager=f application/json`,
    },
    {
      call: () => client.patch(widgets, key, apply, { fieldValidation: 'Strict' }),
      line: `PATCH ${base}/a?fieldValidation=Strict&fieldManager=f application/apply-patch+yaml`,
    },
    { call: () => client.update(widgets, widget), line: `PUT ${base}/a?fieldManager=me application/json` },
    {
      call: () => client.updateStatus(widgets, widget),
      line: `PUT ${base}/a/status?fieldManager=me application/json`,
    },
    {
      call: () => client.patch(widgets, key, { type: 'merge', body: { spec: null } }),
      line: `PATCH ${base}/a?fieldManager=me application/merge-patch+json`,
      body: { spec: null },
    },
    {
      call: () => client.patchStatus(widgets, key, json),
      line: `PATCH ${base}/a/status?fieldManager=me application/json-patch+json`,
      body: json.operations,
    },
    {
      call: () => client.patch(widgets, key, apply),
      line: `PATCH ${base}/a?fieldManager=f application/apply-patch+yaml`,
      body: { apiVersion: 'conformance.example.com/v1', kind: 'Widget' },
    },
    {
      call: () => client.patch(widgets, key, { ...apply, force: true }),
      line: `PATCH ${base}/a?fieldManager=f&force=true application/apply-patch+yaml`,
    },
    {
      call: () => client.delete(widgets, key),
      line: `DELETE ${base}/a application/json`,
      body: { apiVersion: 'v1', kind: 'DeleteOptions' },
    },
    {
      call: () =>
        client.delete(widgets, key, {
          uid,
          resourceVersion: '7',
          gracePeriodSeconds: 0,
          propagationPolicy: 'Foreground',
          dryRun: true,
        }),
      line: `DELETE ${base}/a application/json`,
      body: {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: { uid, resourceVersion: '7' },
        gracePeriodSeconds: 0,
        propagationPolicy: 'Foreground',
        dryRun: ['All'],
      },
    },
    {
      call: () => client.evict(key, { uid, gracePeriodSeconds: 5, dryRun: true }),
      line: 'POST /api/v1/namespaces/n/pods/a/eviction?dryRun=All application/json',
      body: {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: key,
        deleteOptions: {
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          preconditions: { uid },
          gracePeriodSeconds: 5,
        },
      },
    },
  ];
  for (const row of rows) {
    test(row.line, async () => {
      await row.call().catch((error) => assert.ok(error instanceof ApiError, String(error)));
      assert.equal(line(), row.line);
      if (row.body !== undefined) assert.deepEqual(JSON.parse(last().body), row.body);
      assert.equal(last().headers['user-agent'], 'tester/1');
      assert.equal(last().headers.accept, 'application/json');
    });
  }

  test('what is sent says its type, whatever the object says', async () => {
    await client.create(widgets, { ...widget, apiVersion: 'other/v1', kind: 'Other' });
    const { apiVersion, kind } = JSON.parse(last().body);
    assert.deepEqual([apiVersion, kind], ['conformance.example.com/v1', 'Widget']);
  });

  test('a server with a path is asked below it', async () => {
    const kubeConfig = server.kubeConfig();
    kubeConfig.clusters = kubeConfig.clusters.map((cluster) => ({
      ...cluster,
      server: `${server.url}/k8s/c-1/`,
    }));
    await assert.rejects(connectTo(server, { kubeConfig }).client.get(widgets, key));
    assert.equal(last().path, `/k8s/c-1${base}/a`);
  });
});

describe('lists', () => {
  test('1200 objects come in three pages of 500', async () => {
    for (let i = 0; i < 1200; i++) server.put(widgets, { ...widget, metadata: { ...key, name: `w${i}` } });
    const { items, resourceVersion } = await client.list(widgets);
    assert.equal(new Set(items.map(({ metadata }) => metadata.name)).size, 1200);
    assert.equal(resourceVersion, String(server.store.revision));
    assert.deepEqual(
      server.requests.map(({ query }) => query.get('limit')),
      ['50', '100', '200', '400', '800'],
    );
  });

  test('a list whose pages expire begins again, and fails as expired when that happens again', async () => {
    for (let i = 0; i < 5; i++) server.put(widgets, { ...widget, metadata: { ...key, name: `w${i}` } });
    const expire = { kind: 'status', code: 410, reason: 'Expired' } as const;
    server.fail({ path: 'continue=' }, expire);
    assert.equal((await client.list(widgets, { limit: 2 })).items.length, 5);
    server.fail({ path: 'continue=', times: 2 }, expire);
    await assert.rejects(client.list(widgets, { limit: 2 }), isExpired);
  });

  test('the time limit is for each page', async () => {
    for (let i = 0; i < 9; i++) server.put(widgets, { ...widget, metadata: { ...key, name: `w${i}` } });
    const clock = new FakeClock();
    const slow = connectTo(server, { clock }).client;
    server.fail({ times: 4, skip: 5 }, { kind: 'hang' });
    const transform = (item: KubernetesObject) => {
      clock.advance(300);
      return item;
    };
    const list = assert.rejects(slow.list(widgets, { limit: 1, timeout: 1000, transform }), /within 1 s/);
    await until(() => server.requests.length === 6);
    clock.advance(999);
    await settle();
    assert.equal(server.requests.length, 6);
    clock.advance(1);
    await list;
  });
});

describe('what a write has left behind', () => {
  let seen: unknown[];
  beforeEach(() => {
    seen = [];
    connection.onWrite((resource, written) => {
      const { name } = 'deleted' in written ? written : written.metadata;
      const version = 'deleted' in written ? `gone ${written.uid}` : (written.metadata.resourceVersion ?? '');
      seen.push(`${resource.plural} ${name} ${version}`);
    });
  });

  test('is told before the caller, with each verb', async () => {
    const created = await client.create(widgets, widget);
    assert.equal(seen.length, 1);
    const patched = await client.patchStatus(widgets, key, { type: 'merge', body: { status: { count: 1 } } });
    const updated = await client.update(widgets, { ...patched, spec: { size: 2 } });
    await client.delete(widgets, key);
    const versions = [created, patched, updated].map(
      ({ metadata }) => `widgets a ${metadata.resourceVersion}`,
    );
    assert.deepEqual(seen, [...versions, `widgets a gone ${created.metadata.uid}`]);
  });

  test('is certainly its own after a creation, a deletion, and a conditional write that changed something', async () => {
    const own: boolean[] = [];
    connection.onWrite((_, __, isOwn) => own.push(isOwn));
    let { resourceVersion = '' } = (await client.create(widgets, widget)).metadata;
    const write = async (call: () => Promise<Widget>) => {
      ({ resourceVersion = '' } = (await call()).metadata);
      return own.pop();
    };
    const test = (value = resourceVersion) =>
      ({ op: 'test', path: '/metadata/resourceVersion', value }) as const;
    const size = (value: number) => ({ op: 'replace', path: '/spec/size', value }) as const;
    const json = (...operations: JsonPatchOperation[]) => ({ type: 'json', operations }) as const;
    const merge = <B extends object>(body: B) => ({ type: 'merge', body }) as const;
    const at = () => ({ metadata: { resourceVersion } });
    const rows: readonly { name: string; call: () => Promise<Widget>; isOwn: boolean }[] = [
      {
        name: 'merge patch',
        call: () => client.patch(widgets, key, merge({ ...at(), spec: { size: 2 } })),
        isOwn: true,
      },
      {
        name: 'merge patch without effect',
        call: () => client.patch(widgets, key, merge(at())),
        isOwn: false,
      },
      {
        name: 'merge patch without a version',
        call: () => client.patch(widgets, key, merge({ spec: { size: 3 } })),
        isOwn: false,
      },
      {
        name: 'patch of the status',
        call: () => client.patchStatus(widgets, key, merge({ ...at(), status: { count: 1 } })),
        isOwn: true,
      },
      { name: 'JSON patch', call: () => client.patch(widgets, key, json(test(), size(4))), isOwn: true },
      {
        name: 'JSON patch without effect',
        call: () => client.patch(widgets, key, json(test())),
        isOwn: false,
      },
      {
        name: 'JSON patch without a test',
        call: () => client.patch(widgets, key, json(size(5))),
        isOwn: false,
      },
      {
        name: 'update',
        call: () => client.update(widgets, { metadata: { ...key, ...at().metadata }, spec: { size: 6 } }),
        isOwn: true,
      },
    ];
    assert.deepEqual(own.splice(0), [true], 'creation');
    for (const { name, call, isOwn } of rows) assert.equal(await write(call), isOwn, name);
    await client.delete(widgets, key);
    assert.deepEqual(own, [true], 'deletion');
    await client.create(widgets, { ...widget, metadata: { ...key, finalizers: ['example.com/hold'] } });
    await client.delete(widgets, key);
    await client.delete(widgets, key);
    assert.deepEqual(
      own.slice(2),
      [false, false],
      'a deletion that waits, which another client may have begun',
    );
    await client.patch(widgets, key, json({ op: 'remove', path: '/metadata/finalizers' }));
    assert.equal(own.at(-1), true, 'a patch that ends the object');
  });

  test('of a delete is the object while it is still there', async () => {
    const metadata = { ...key, finalizers: ['example.com/hold'] };
    await client.create(widgets, { ...widget, metadata });
    await client.delete(widgets, key);
    const { resourceVersion } = (await client.get(widgets, key)).metadata;
    assert.equal(seen.at(-1), `widgets a ${resourceVersion}`);
    server.put(pods, { metadata: { ...key }, spec: { containers: [], nodeName: 'x' } });
    await client.delete(pods, key);
    assert.match(String(seen.at(-1)), /^pods a \d+$/);
  });

  test('is not told of dry runs, failures, evictions, nor once the listener is removed', async () => {
    await client.create(widgets, widget, { dryRun: true });
    await assert.rejects(client.delete(widgets, { ...key, name: 'missing' }));
    server.put(pods, { metadata: { ...key }, spec: { containers: [] } });
    await client.delete(pods, key, { dryRun: true });
    await client.evict(key, {});
    assert.deepEqual(seen, []);
    const heard: string[] = [];
    const remove = connection.onWrite((resource) => heard.push(resource.plural));
    remove();
    await client.create(widgets, widget);
    assert.deepEqual(heard, []);
    await connection.leaseClient.delete(widgets, key);
    assert.equal(seen.length, 1, 'the Lease is not reported');
  });
});

describe('answers', () => {
  test('that are no JSON are errors of the transport that do not quote them', async () => {
    server.fail({ method: 'POST' }, { kind: 'status', code: 200, text: '{"password":s3cret}' });
    await assert.rejects(client.create(widgets, widget), (error) => {
      assert.ok(error instanceof TransportError && error.sent && /not JSON/.test(error.message));
      return !inspect(error).includes('s3cret');
    });
  });

  test('to what was sent without a name needs none, as that to a review', async () => {
    const review = {
      kind: 'Widget',
      apiVersion: 'conformance.example.com/v1',
      metadata: {},
      spec: { size: 1 },
    };
    server.fail({ method: 'POST' }, { kind: 'status', code: 201, text: JSON.stringify(review) });
    const sent = { metadata: { namespace: 'n' }, spec: { size: 1 } } as unknown as Widget;
    assert.deepEqual(await client.create(widgets, sent), review);
  });

  /** What a server answers 200 with instead of an object, and how the error names it. */
  const strange: readonly (readonly [answer: unknown, name: RegExp])[] = [
    [null, /is null,/],
    ['ok', /is a string,/],
    [[], /is an array,/],
    [{}, /an object without a kind/],
    [{ kind: 'Widget', apiVersion: 'conformance.example.com/v1' }, /a Widget of .* without a name/],
    [{ kind: 'Widget', apiVersion: 'conformance.example.com/v1', metadata: { name: '' } }, /without a name/],
    [{ kind: 'Widget', apiVersion: 'other.example.com/v1', metadata: { name: 'a' } }, /of other\.example/],
    [{ kind: 'Secret', apiVersion: 'v1', metadata: { name: 'a' }, data: { a: 's3cret' } }, /a Secret of v1/],
    [{ metadata: { name: 'a' }, spec: { text: 's3cret' } }, /an object without a kind/],
    [{ kind: 's3cret\n', metadata: { name: 'a' } }, /an object without a kind/],
    [{ kind: 'WidgetList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items: [] }, /a WidgetList/],
  ];
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', message: 's3cret' };
  const merge = { type: 'merge', body: {} } as const;
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    get: () => client.get(widgets, key),
    'get of metadata': () => client.get(widgets, key, { metadataOnly: true }),
    create: () => client.create(widgets, widget),
    'create in a dry run': () => client.create(widgets, widget, { dryRun: true }),
    update: () => client.update(widgets, widget),
    updateStatus: () => client.updateStatus(widgets, widget),
    patch: () => client.patch(widgets, key, merge),
    patchStatus: () => client.patchStatus(widgets, key, { type: 'merge', body: { status: {} } }),
    delete: () => client.delete(widgets, key),
    list: () => client.list(widgets),
    evict: () => client.evict(key, {}),
  };

  for (const [verb, call] of Object.entries(calls)) {
    test(`${verb}: 200 with something else is an error that does not quote it`, async () => {
      const written: unknown[] = [];
      connection.onWrite((_, object) => written.push(object));
      const list = /a WidgetList/;
      const expected = strange.filter(([, name]) => verb !== 'list' || String(name) !== String(list));
      if (verb !== 'delete' && verb !== 'evict')
        expected.push([status, /is a Status of v1 without a name, not/]);
      for (const [answer, name] of expected) {
        const remove = server.fail({}, { kind: 'status', code: 200, text: JSON.stringify(answer) });
        await assert.rejects(call(), (error) => {
          assert.ok(error instanceof TransportError && error.sent, inspect(error));
          assert.match(error.message, name);
          return !inspect(error).includes('s3cret');
        });
        remove();
      }
      assert.deepEqual(written, []);
    });
  }

  test('an eviction that a disruption budget forbids says how long to wait, and is not repeated', async () => {
    server.fail(
      { subresource: 'eviction' },
      { kind: 'status', code: 429, reason: 'TooManyRequests', retryAfter: 10 },
    );
    await assert.rejects(
      client.evict(key, {}),
      (error) => isTooManyRequests(error) && (error as ApiError).retryAfter === 10_000,
    );
    assert.equal(server.requests.length, 1);
  });

  test('a ConfigMap that does not exist is said so by the server', async () => {
    await assert.rejects(client.get(configMaps, key), /configmaps "a" not found/);
  });
});

test('a log is read as text, and while it arrives', async () => {
  const text = 'one\ntwo\n';
  server.fail({ resource: 'pods', times: 2 }, { kind: 'status', code: 200, text });
  const log = client.subresource(pods, key, 'log');
  assert.equal(await log.text({ query: { container: 'main', tailLines: 2, previous: undefined } }), text);
  assert.equal(line(), 'GET /api/v1/namespaces/n/pods/a/log?container=main&tailLines=2');
  const chunks: Buffer[] = [];
  for await (const chunk of await log.stream({ query: { follow: true } })) chunks.push(chunk);
  assert.equal(Buffer.concat(chunks).toString(), text);
  assert.equal(line(), 'GET /api/v1/namespaces/n/pods/a/log?follow=true');
});
