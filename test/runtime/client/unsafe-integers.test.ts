import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TransportError } from '../../../src/runtime/client/api-error.ts';
import { unsafeInteger } from '../../../src/runtime/client/unsafe-integers.ts';
import { widgets } from '../../conformance/subject.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { connectTo } from '../../fake/connection.ts';

const most = Number.MAX_SAFE_INTEGER;

function foundIn(text: string): string | undefined {
  return unsafeInteger(JSON.parse(text), text);
}

test('integers that a number holds exactly are none, nor are texts and fractions', () => {
  const value = {
    a: [most, -most, 0],
    b: '9007199254740993',
    c: 1 / 3,
    '12345678901234567': null,
  };
  assert.equal(foundIn(JSON.stringify(value)), undefined);
});

test('larger ones are found wherever they are', () => {
  assert.equal(foundIn('{"a":1,"spec":{"big":9007199254740993}}'), 'spec.big');
  assert.equal(foundIn('{"spec":{"list":[{"n":1},{"n":-9223372036854775808}]}}'), 'spec.list[1].n');
  assert.equal(foundIn('9007199254740992'), '');
});

test('an update with one is refused, of the status where that has one, and patches and creations are not', async () => {
  const server = await FakeApiServer.start({ resources: [widgets] });
  const { client } = connectTo(server);
  const key = { namespace: 'n', name: 'a' };
  const metadata = { ...key, resourceVersion: '1' };
  const big = 2 ** 53;
  const refused = (field: RegExp) => (error: unknown) =>
    error instanceof TransportError &&
    !error.sent &&
    field.test(error.message) &&
    !error.message.includes(`${big}`);
  await client.create(widgets, { metadata: key, spec: { size: big } });
  const got = await client.get(widgets, key);
  await assert.rejects(
    client.update(widgets, { ...got, spec: { ...got.spec, text: 'x' } }),
    refused(/ spec\.size is/),
  );
  await client.updateStatus(widgets, { ...got, status: { phase: 'Ready' } });
  await assert.rejects(
    client.updateStatus(widgets, { metadata, spec: { size: 1 }, status: { count: big } }),
    refused(/ status\.count is/),
  );
  await client.patch(widgets, key, { type: 'merge', body: { spec: { text: 'x' } } });
  assert.deepEqual(
    server.requests.map(({ method }) => method),
    ['POST', 'GET', 'PUT', 'PATCH'],
  );
  await server.stop();
});
