import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { HashKeyStore } from '../../../src/configwatcher/facts/hash-key.ts';
import { MissingRight } from '../../../src/configwatcher/facts/missing-right.ts';
import type { Secret } from '../../../src/kubernetes/types/core.generated.ts';
import { ApiError } from '../../../src/runtime/client/api-error.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import { systemRandomness } from '../../../src/runtime/randomness.ts';

let stored: Secret | undefined;
let failure: Error | undefined;
let calls: string[];
/** Runs before a create: what another replica does in that moment. */
let meanwhile: () => void;

const client = {
  get: async () => {
    calls.push('get');
    if (failure) throw failure;
    if (!stored) throw new ApiError('not found', 404, { reason: 'NotFound' });
    return stored;
  },
  create: async (_: unknown, secret: Secret) => {
    calls.push('create');
    meanwhile();
    if (stored) throw new ApiError('exists', 409, { reason: 'AlreadyExists' });
    stored = secret;
    return secret;
  },
} as unknown as Client;

function newStore(): HashKeyStore {
  return new HashKeyStore(client, 'atwatch-system', systemRandomness);
}

describe('HashKeyStore', () => {
  beforeEach(() => {
    stored = undefined;
    failure = undefined;
    calls = [];
    meanwhile = () => {};
  });

  it('makes the key once, of 256 random bits', async () => {
    const store = newStore();
    const [first, second] = await Promise.all([store.key(), store.key()]);
    assert.equal(first, second);
    assert.equal(first.secret.length, 32);
    assert.deepEqual(calls, ['get', 'create']);
    assert.deepEqual(
      [stored?.metadata.name, stored?.metadata.namespace],
      ['atwatch-hash-key', 'atwatch-system'],
    );
  });

  it('is the same after a restart, and another one elsewhere', async () => {
    const before = await newStore().key();
    assert.deepEqual(await newStore().key(), before);
    stored = undefined;
    assert.notEqual((await newStore().key()).id, before.id);
  });

  it('is that of the replica that was first', async () => {
    meanwhile = () => {
      stored = {
        metadata: { name: 'atwatch-hash-key' },
        data: { key: Buffer.alloc(32, 7).toString('base64') },
      };
    };
    assert.deepEqual(Buffer.from((await newStore().key()).secret), Buffer.alloc(32, 7));
  });

  it('is asked for again after a failure', async () => {
    const store = newStore();
    failure = new ApiError('no', 403, { reason: 'Forbidden' });
    await assert.rejects(store.key(), MissingRight);
    failure = undefined;
    assert.ok(await store.key());
  });

  it('is not taken from a Secret that holds none', async () => {
    stored = { metadata: { name: 'atwatch-hash-key' }, data: { key: 'c2hvcnQ=' } };
    await assert.rejects(newStore().key(), /holds no key of 32 bytes/);
  });
});
