import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { freePort } from '../../local-cluster/ports.ts';

test('a port that is in use is passed over', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const used = (server.address() as AddressInfo).port;
  const candidates = [used, used, await freePort()];
  const expected = candidates[2];
  assert.equal(await freePort(() => candidates.shift() ?? 0), expected);
  assert.equal(candidates.length, 0);
});

test('there is an end to the search', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const used = (server.address() as AddressInfo).port;
  await assert.rejects(
    freePort(() => used),
    /no free port/,
  );
});
