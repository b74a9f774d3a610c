/**
 * The client and an API server that has too much to do: it turns writes away as priority and fairness does,
 * with 429 and Retry-After, and what is asked of it gets less until it is well again.
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { configMaps } from '../../../src/kubernetes/objects.ts';
import { isTooManyRequests } from '../../../src/runtime/client/api-error.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { connectTo } from '../../fake/connection.ts';

let server: FakeApiServer;
beforeEach(async () => {
  server = await FakeApiServer.start();
});
afterEach(() => server.stop());

/** 32 workers, as a controller has them: what is refused comes back at the end of their list. */
async function createAll(client: Client, names: string[]): Promise<void> {
  const work = async () => {
    for (let name = names.shift(); name !== undefined; name = names.shift()) {
      try {
        await client.create(configMaps, { metadata: { namespace: 'n', name } });
      } catch (error) {
        assert.ok(isTooManyRequests(error), `${error}`);
        names.push(name);
      }
    }
  };
  await Promise.all(Array.from({ length: 32 }, work));
}

async function limitOf(registry: Registry): Promise<number> {
  const [, limit] =
    /^rest_client_concurrency_limit\{.*verb="POST",resource="configmaps"\} (\d+)$/m.exec(
      await registry.metrics(),
    ) ?? [];
  return Number(limit);
}

function namesOf(count: number, prefix: string): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}

describe('an API server that turns writes away', () => {
  test('is asked for less, does everything once, and is asked for more when it is well again', async () => {
    const registry = new Registry();
    let passed = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passed };
    const { client } = connectTo(server, { registry, clock });
    await createAll(client, ['first']);
    assert.equal(await limitOf(registry), 32);
    server.seats = { count: 3, duration: 2, retryAfter: 0 };
    await createAll(client, namesOf(300, 'storm'));
    assert.ok((await limitOf(registry)) <= 8);
    const refused = server.requests.filter(({ code }) => code === 429).length;
    // 32 workers at a time would be refused more often than served.
    assert.ok(refused < 300, `${refused} of ${server.requests.length} requests were refused`);
    server.seats = undefined;
    // The limit rises only some seconds after the last refusal.
    passed += 5000;
    await createAll(client, namesOf(300, 'calm'));
    assert.equal(await limitOf(registry), 32);
    const done = server.requests.filter(({ code }) => code === 201);
    assert.equal(done.length, 601);
    assert.equal(new Set(done.map(({ body }) => JSON.parse(body).metadata.name)).size, 601);
  });
});
