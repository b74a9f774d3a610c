import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { MissingRight } from '../../../src/configwatcher/facts/missing-right.ts';
import type { SourceContent } from '../../../src/configwatcher/facts/observed.ts';
import { SourceReader } from '../../../src/configwatcher/facts/source-reader.ts';
import { contentHash } from '../../../src/configwatcher/plan/config-hash.ts';
import type { ConfigMap, KubernetesObject } from '../../../src/kubernetes/objects.ts';
import type { Lister } from '../../../src/runtime/cache/lister.ts';
import { ApiError } from '../../../src/runtime/client/api-error.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import { webappConfig } from '../../fixtures/configwatcher.ts';

const { signal } = new AbortController();

let stored: ConfigMap | undefined;
let seenVersion: string | undefined;
let gets: number;
let failure: Error | undefined;
let withSecrets = false;
let time = 0;

function store(resourceVersion: string, data: Record<string, string>, metadata: object = {}): void {
  stored = { metadata: { name: 'webapp-config', resourceVersion, ...metadata }, data };
  seenVersion = resourceVersion;
}

function newReader(): SourceReader {
  const client = {
    get: async () => {
      gets++;
      if (failure) throw failure;
      if (!stored) throw new ApiError('not found', 404, { reason: 'NotFound' });
      return stored;
    },
  } as unknown as Client;
  const lister = {
    get: () => seenVersion && { metadata: { name: 'webapp-config', resourceVersion: seenVersion } },
  } as unknown as Lister<KubernetesObject>;
  const hashKey = async () => ({ id: 'k1', secret: Buffer.from('install key') });
  return new SourceReader({
    client,
    clock: { monotonic: () => time, earliest: () => time },
    configMaps: lister,
    ...(withSecrets && { secrets: { metadata: lister, hashKey } }),
  });
}

let reader: SourceReader;

async function read({
  afresh = false,
  applied = '',
  watcher = 'a' as string,
  uid = `uid-${watcher}` as string,
  knownSince = 1e9,
  isRecorded = true,
  pending = '',
  lastChange = 1000,
  restartOnDelete = false,
} = {}): Promise<SourceContent> {
  const pendingHash = pending === '' ? {} : { pendingHash: pending };
  const entries = applied
    ? [{ kind: 'ConfigMap', name: 'webapp-config', hash: applied, ...pendingHash } as const]
    : [];
  const [content] = await reader.read({
    namespace: 'shop',
    watcher: `shop/${watcher}`,
    uid,
    sources: [webappConfig],
    applied: entries,
    afresh,
    knownSince,
    isRecorded,
    lastChange,
    restartOnDelete,
    signal,
  });
  assert.ok(content);
  return content;
}

describe('SourceReader', () => {
  beforeEach(() => {
    store('1', { message: 'first' });
    gets = 0;
    failure = undefined;
    reader = newReader();
  });

  it('takes no page of a proxy for the absence of an object', async () => {
    store('1', { message: 'old' });
    assert.equal((await read()).present, true);
    failure = new ApiError('404 page not found', 404, { code: 404, message: '404 page not found' });
    await assert.rejects(read({ afresh: true }), /HTTP 404$/);
    failure = undefined;
    stored = undefined;
    assert.equal((await read({ afresh: true })).present, false);
  });

  it('reads a source once, and again when its version moved', async () => {
    const first = await read();
    assert.deepEqual([first.present, first.confirmed], [true, true]);
    assert.equal((await read()).confirmed, false);
    assert.equal(gets, 1);
    store('2', { message: 'second' });
    const second = await read();
    assert.deepEqual([second.confirmed, gets], [true, 2]);
    assert.notEqual(second.hash, first.hash);
  });

  it('does not read again when the watch catches up with what was read', async () => {
    store('2', { message: 'second' });
    seenVersion = '1';
    await read();
    seenVersion = '2';
    await read();
    assert.equal(gets, 1);
  });

  it('sees the deletion of a source that it read before the watch told of it', async () => {
    for (const caughtUp of [true, false]) {
      store('1', { message: 'first' });
      seenVersion = undefined;
      reader = newReader();
      assert.equal((await read()).present, true);
      if (caughtUp) {
        seenVersion = '1';
        await read();
      }
      stored = undefined;
      seenVersion = undefined;
      assert.equal((await read()).present, false);
    }
  });

  it('tells an immutable object that was replaced from one that was made so by an edit', async () => {
    const stores = (resourceVersion: string, uid: string, message: string, immutable: boolean) => {
      store(resourceVersion, { message }, { uid, creationTimestamp: '2024-01-01T00:00:00Z' });
      stored = { ...stored!, immutable };
    };
    for (const [isImmutable, uid, expected] of [
      [true, 'b', true],
      [false, 'b', false],
      [false, 'a', false],
    ] as const) {
      reader = newReader();
      stores('1', 'a', 'first', isImmutable);
      const applied = (await read()).hash;
      stored = undefined;
      seenVersion = undefined;
      if (uid === 'b') assert.equal((await read({ applied })).replacesImmutable, false, 'deleted');
      stores('2', uid, 'second', true);
      for (const afresh of [false, true]) {
        const content = await read({ applied, afresh });
        assert.equal(content.replacesImmutable, expected);
        assert.equal(content.created, Date.UTC(2024, 0, 1));
      }
      reader = newReader();
      assert.equal((await read({ applied })).replacesImmutable, undefined, 'no pass saw the first');
    }
  });

  it('reads afresh when told to', async () => {
    await read();
    stored = { metadata: { name: 'webapp-config', resourceVersion: '2' }, data: { message: 'unseen' } };
    const content = await read({ afresh: true });
    assert.deepEqual([content.confirmed, gets], [true, 2]);
    assert.equal(content.hash, contentHash(webappConfig, { data: { message: 'unseen' } }));
  });

  it('knows absence from an error', async () => {
    stored = undefined;
    seenVersion = undefined;
    assert.equal((await read()).present, false);
    await read();
    assert.equal(gets, 1, 'absence is remembered too');
    failure = new ApiError('cannot encode {"data":"canary"}', 500, { reason: 'InternalError' }, 3000);
    await assert.rejects(read({ afresh: true }), (error: ApiError) => {
      const message = 'ConfigMap shop/webapp-config could not be read: HTTP 500 InternalError';
      assert.deepEqual([error.message, error.code, error.retryAfter], [message, 500, 3000]);
      return !JSON.stringify([error, error.status]).includes('canary');
    });
    failure = new ApiError('no', 403, { reason: 'Forbidden' });
    await assert.rejects(read({ afresh: true }), MissingRight);
  });

  it('names the keys that differ from the applied content, if it saw that one', async () => {
    const applied = (await read()).hash;
    store('2', { message: 'second', added: '' });
    assert.deepEqual((await read({ applied })).changedKeys, ['added', 'message']);
    store('3', { message: 'third' });
    assert.deepEqual((await read({ applied })).changedKeys, ['message']);
    reader = newReader();
    assert.equal((await read({ applied })).changedKeys, undefined);
  });

  it('names the second of the last write of data, and says whether it is its first look', async () => {
    const managedFields = [
      { manager: 'a', operation: 'Update', time: '2024-06-01T12:00:00Z', fieldsV1: { 'f:data': {} } },
      { manager: 'b', operation: 'Update', time: '2024-06-01T12:00:05Z', fieldsV1: { 'f:binaryData': {} } },
      { manager: 'c', operation: 'Update', time: '2024-06-01T13:00:00Z', fieldsV1: { 'f:metadata': {} } },
    ];
    store('1', { message: 'first' }, { managedFields });
    const named = async () => {
      const { written, isFirstLook } = await read();
      return [written, isFirstLook];
    };
    assert.deepEqual(await named(), [Date.UTC(2024, 5, 1, 12, 0, 5), true]);
    store('2', { message: 'second' }, { managedFields });
    assert.deepEqual(await named(), [Date.UTC(2024, 5, 1, 12, 0, 5), false]);
  });

  it('looks for the first time until it is recorded what it saw', async () => {
    const looks: unknown[] = [];
    for (const isRecorded of [false, false, true]) {
      looks.push((await read({ afresh: true, isRecorded })).isFirstLook);
    }
    assert.deepEqual(looks, [true, true, false]);
  });

  it('is shared by the watchers of a source, where it cannot be older than what their status says', async () => {
    const watchers = ['a', 'b', 'c'];
    const all = (knownSince: number) =>
      Promise.all(watchers.map((watcher) => read({ watcher, knownSince, afresh: true })));
    const contents = await all(time);
    assert.deepEqual([gets, new Set(contents.map(({ hash }) => hash)).size], [1, 1]);
    assert.ok(contents.every(({ confirmed }) => confirmed));
    await all(time + 1);
    assert.equal(gets, 4, 'status came to be known after the read had begun');
    time += 3000;
    await all(time - 1000);
    assert.equal(gets, 5, 'a read of a while ago is not taken over');
    store('2', { message: 'second' });
    await all(time);
    assert.equal(gets, 6, 'nor one that did not find what the watch shows');
    failure = new ApiError('broken', 500, {});
    time += 3000;
    await assert.rejects(all(time));
    failure = undefined;
    assert.equal((await read({ watcher: 'd', knownSince: time })).present, true, 'nor one that failed');
  });

  it('that is forbidden is forbidden for all watchers of the source, for a moment', async () => {
    failure = new ApiError('no', 403, { reason: 'Forbidden' });
    for (const watcher of ['a', 'b', 'a', 'b']) {
      await assert.rejects(read({ watcher }), MissingRight);
      time += 400;
    }
    assert.equal(gets, 1);
    time += 2000;
    failure = undefined;
    assert.equal((await read()).present, true);
  });

  it('keeps no data', async () => {
    store('1', { message: 'canary-7f3a9c' });
    await read();
    stored = undefined;
    assert.ok(!JSON.stringify(await read()).includes('canary'));
  });

  describe('what was read and not recorded', () => {
    const hashOf = (message: string) => contentHash(webappConfig, { data: { message } });
    const applied = hashOf('first');
    const written = { time: '1970-01-01T00:00:04Z', fieldsV1: { 'f:data': {} } };
    /** An edit is read, and not recorded; another one follows. */
    const afterEdit = async (to: string) => {
      await read({ applied });
      store('2', { message: 'second' }, { managedFields: [written] });
      time = 5000;
      assert.equal((await read({ applied })).unrecorded, undefined);
      time = 9000;
      store('3', { message: to });
    };

    it('is told with the content that follows, and with the one of before as well', async () => {
      for (const to of ['third', 'first']) {
        reader = newReader();
        store('1', { message: 'first' });
        await afterEdit(to);
        for (let look = 0; look < 2; look++) {
          const { unrecorded } = await read({ applied });
          assert.deepEqual(unrecorded, { written: 4000, readAt: 5000 });
        }
      }
    });

    it('is told no more once a change is recorded', async () => {
      await afterEdit('first');
      assert.equal((await read({ applied, lastChange: 9500 })).unrecorded, undefined);
      assert.equal((await read({ applied })).unrecorded, undefined, 'it is forgotten');
    });

    it('is told no more once it is what is recorded', async () => {
      await afterEdit('third');
      assert.equal((await read({ applied, pending: hashOf('second') })).unrecorded, undefined);
    });

    it('is an absence only where that counts', async () => {
      const back = async (restartOnDelete: boolean) => {
        reader = newReader();
        store('1', { message: 'first' });
        await read({ applied, restartOnDelete });
        [stored, seenVersion] = [undefined, undefined];
        await read({ applied, restartOnDelete });
        store('3', { message: 'first' });
        return (await read({ applied, restartOnDelete })).unrecorded !== undefined;
      };
      assert.deepEqual([await back(true), await back(false)], [true, false]);
    });

    it('is nothing that is remembered only: what is recorded may be newer', async () => {
      await read({ applied });
      const recordedByAnother = { applied: hashOf('second'), lastChange: 5000 };
      assert.equal((await read(recordedByAnother)).confirmed, false);
      store('2', { message: 'second' });
      assert.equal((await read(recordedByAnother)).unrecorded, undefined);
    });
  });

  it('hashes a Secret with the key of the installation', async () => {
    const secret = { ...webappConfig, kind: 'Secret' as const };
    const request = {
      namespace: 'shop',
      watcher: 'shop/a',
      uid: 'uid-a',
      sources: [secret],
      applied: [],
      lastChange: undefined,
      restartOnDelete: false,
      afresh: false,
      knownSince: 1e9,
      isRecorded: true,
      signal,
    };
    await assert.rejects(newReader().read(request), MissingRight);
    withSecrets = true;
    const [content] = await newReader().read(request);
    withSecrets = false;
    assert.match(content?.hash ?? '', /^v1-hmac-k1:/);
  });

  it('forgets a watcher', async () => {
    await read();
    await read({ watcher: 'b' });
    reader.forget('shop/a');
    await read();
    await read({ watcher: 'b' });
    assert.equal(gets, 3);
  });

  it('knows nothing of a watcher that is created again', async () => {
    await read();
    assert.equal((await read({ uid: 'uid-of-the-second' })).isFirstLook, true);
    assert.equal(gets, 2);
  });
});
