import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { configMaps, type Resource } from '../../../src/kubernetes/objects.ts';
import { assertDeclared } from '../../../src/runtime/manager/declared-resources.ts';
import { ManagerError } from '../../../src/runtime/manager/manager-error.ts';
import { widgets } from '../../conformance/subject.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { connectTo } from '../../fake/connection.ts';

let server: FakeApiServer;
beforeEach(async () => {
  server = await FakeApiServer.start({ resources: [widgets] });
});
afterEach(() => server.stop());

const { signal } = new AbortController();
const check = (...resources: Resource[]) => assertDeclared(connectTo(server).client, resources, signal);

test('what is as the API server has it passes, and so does what is not served', async () => {
  await check({ ...widgets, status: true }, configMaps, { ...widgets, plural: 'gadgets' });
  await check({ ...widgets, group: 'nowhere.example.com' });
  assert.equal(server.requests.length, 3, 'one request for each group and version');
});

test('everything that is wrong is said in one sentence, once', async () => {
  const wrong: Resource = { ...widgets, kind: 'Gadget', namespaced: false };
  await assert.rejects(check(wrong, wrong, { ...configMaps, status: true }), (error) => {
    assert.ok(error instanceof ManagerError);
    assert.equal(
      error.message,
      'widgets.conformance.example.com (v1) has the kind Widget on the API server, and is declared as Gadget; ' +
        'widgets.conformance.example.com (v1) is namespaced on the API server, and is declared as cluster-scoped; ' +
        'configmaps (v1) has no status subresource on the API server; add it to the CustomResourceDefinition',
    );
    return true;
  });
});

test('a discovery that cannot be had proves nothing', async () => {
  server.fail({}, { kind: 'status', code: 403, reason: 'Forbidden' });
  await check({ ...widgets, kind: 'Gadget' });
});
