import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { configMaps } from '../../../src/kubernetes/objects.ts';
import { ApiError, TransportError } from '../../../src/runtime/client/api-error.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import { discover, findServed, NotServedError, resourceFor } from '../../../src/runtime/client/discovery.ts';
import { widgets } from '../../conformance/subject.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { connectTo } from '../../fake/connection.ts';

let server: FakeApiServer;
let client: Client;
beforeEach(async () => {
  server = await FakeApiServer.start();
  client = connectTo(server).client;
});
afterEach(() => server.stop());

test('finds a resource, and whether it has a status subresource', async () => {
  server.register(widgets);
  const served = await findServed(client, widgets);
  assert.deepEqual([served?.kind, served?.namespaced, served?.status], ['Widget', true, true]);
  assert.ok(served?.verbs.includes('watch'));
  assert.equal((await findServed(client, configMaps))?.status, false);
});

test('a group that is not served has no resources, and a resource of a served group may be missing', async () => {
  assert.equal((await discover(client, widgets)).size, 0);
  server.register(widgets);
  assert.equal(await findServed(client, { ...widgets, plural: 'gadgets' }), undefined);
  assert.equal(await findServed(client, { ...widgets, version: 'v2' }), undefined);
});

test('no answer, another error and a strange answer are not taken for "not served"', async () => {
  server.fail({}, { kind: 'status', code: 403, reason: 'Forbidden' });
  await assert.rejects(
    findServed(client, widgets),
    (error) => error instanceof ApiError && error.code === 403,
  );
  const kind = 'APIResourceList';
  for (const answer of [{}, { resources: [] }, { kind, resources: {} }, { kind, resources: [null] }, null]) {
    server.fail({}, { kind: 'status', code: 200, text: JSON.stringify(answer) });
    await assert.rejects(findServed(client, widgets), TransportError);
  }
  await assert.rejects(findServed(client, widgets, { signal: AbortSignal.abort() }), TransportError);
});

test('a kind is found by its names', async () => {
  server.register(widgets);
  assert.deepEqual(await resourceFor(client, 'conformance.example.com/v1', 'Widget'), widgets);
  assert.deepEqual(await resourceFor(client, 'v1', 'ConfigMap'), configMaps);
  await assert.rejects(resourceFor(client, 'conformance.example.com/v1', 'Gadget'), (error) => {
    assert.ok(error instanceof NotServedError);
    assert.equal(
      error.message,
      'Gadget of conformance.example.com/v1 is not served: the group has no such kind',
    );
    return true;
  });
  await assert.rejects(resourceFor(client, 'nowhere/v1', 'Gadget'), /there is no such group and version/);
});
