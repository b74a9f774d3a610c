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
/** Of the next reads, before that. */
let failures: (Error | undefined)[] = [];
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
      const error = failures.shift() ?? failure;
      if (error) throw error;
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
  /** 0: not told. */
  lastChange = 1000,
  restartOnDelete = false,
  /** Only these count. */
  keys = undefined as readonly string[] | undefined,
} = {}): Promise<SourceContent> {
  const pendingHash = pending === '' ? {} : { pendingHash: pending };
  const entries = applied
    ? [{ kind: 'ConfigMap', name: 'webapp-config', hash: applied, ...pendingHash } as const]
    : [];
  const [content] = await reader.read({
    namespace: 'shop',
    watcher: `shop/${watcher}`,
    uid,
    sources: [{ ...webappConfig, ...(keys && { keys }) }],
    applied: entries,
    afresh,
    knownSince,
    isRecorded,
    lastChange: lastChange || undefined,
    restartOnDelete,
    signal,
  });
  assert.ok(content);
  return content;
}

beforeEach(() => {
  store('1', { message: 'first' });
  gets = 0;
  failure = undefined;
  reader = newReader();
});

describe('SourceReader', () => {
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

describe('what was read and not recorded', () => {
  const hashOf = (message: string) => contentHash(webappConfig, { data: { message } });
  const applied = hashOf('first');
  const managedFields = [{ time: '1970-01-01T00:00:04Z', fieldsV1: { 'f:data': {} } }];
  const unrecorded = { written: 4000, isFirstLook: false, readAt: 5000 };
  const look = async (message: string, at: number, options: Parameters<typeof read>[0] = {}) => {
    time = at;
    store(String(at), { message }, message === 'second' ? { managedFields } : {});
    return (await read({ applied, ...options })).unrecorded;
  };
  beforeEach(async () => {
    await read({ applied });
    assert.deepEqual(await look('second', 5000), unrecorded);
  });

  it('is told with whatever follows, until a change is recorded', async () => {
    assert.deepEqual(await look('third', 9000), unrecorded);
    assert.deepEqual(await look('second', 12_000), unrecorded);
    assert.deepEqual((await read({ applied })).unrecorded, unrecorded, 'also when nothing is read');
    const recorded = { lastChange: 12_500, pending: hashOf('third') };
    assert.equal(await look('third', 13_000, recorded), undefined);
    assert.equal((await look('first', 14_000, recorded))?.readAt, 14_000);
  });

  it('is told with the time at which the recorded content was back', async () => {
    assert.deepEqual(await look('first', 9000), { ...unrecorded, backAt: 9000 });
    assert.deepEqual(await look('first', 10_000), { ...unrecorded, backAt: 9000 });
    assert.deepEqual(await look('third', 11_000), unrecorded);
    assert.deepEqual(await look('first', 12_000), { ...unrecorded, backAt: 12_000 });
  });

  it('is forgotten once a change is recorded, and once it is what is recorded', async () => {
    assert.equal(await look('first', 9000, { lastChange: 8500 }), undefined);
    assert.equal(await look('first', 9500), undefined);
    await look('second', 10_000);
    assert.equal((await read({ applied, pending: hashOf('second') })).unrecorded, undefined);
  });

  it('is told also where another source could not be read in that pass', async () => {
    const other = { ...webappConfig, name: 'other' };
    const request = {
      ...{ namespace: 'shop', watcher: 'shop/b', uid: 'uid-b', sources: [webappConfig, other] },
      applied: [webappConfig, other].map((source) => {
        const hash = contentHash(source, { data: { message: 'first' } });
        return { kind: 'ConfigMap' as const, name: source.name, hash };
      }),
      ...{
        afresh: true,
        knownSince: 1e9,
        isRecorded: true,
        lastChange: 1000,
        restartOnDelete: false,
        signal,
      },
    };
    store('1', { message: 'first' });
    await reader.read(request);
    store('2', { message: 'second' });
    failures = [undefined, new Error('timeout')];
    await assert.rejects(reader.read(request), /timeout/);
    store('3', { message: 'first' });
    const [first, second] = await reader.read(request);
    assert.deepEqual([first?.unrecorded?.readAt, second?.unrecorded], [time, undefined]);
  });

  it('is told also with other keys, until a change is recorded', async () => {
    const keys = ['message'];
    failure = new Error('timeout');
    time = 9000;
    await assert.rejects(read({ applied, keys, afresh: true }), /timeout/);
    failure = undefined;
    // Nothing says whether what is recorded by the keys of before is back.
    const owed = { ...unrecorded, backAt: undefined };
    assert.deepEqual(await look('first', 10_000, { keys }), owed);
    const { isFirstLook, unrecorded: told } = await read({ applied, keys });
    assert.deepEqual([isFirstLook, told], [false, owed], 'also when nothing is read');
    assert.equal(await look('third', 12_000, { keys, lastChange: 11_000 }), undefined);
    const later = await look('second', 13_000, { lastChange: 11_000 });
    assert.equal(later?.readAt, 13_000, 'what was read with those of before is forgotten');
  });

  it('is an absence only where that counts', async () => {
    for (const restartOnDelete of [true, false]) {
      await look('first', 9000, { lastChange: 9000, restartOnDelete });
      [stored, seenVersion] = [undefined, undefined];
      await read({ applied, lastChange: 9000, restartOnDelete });
      const after = await look('first', 11_000, { lastChange: 9000, restartOnDelete });
      assert.equal(after !== undefined, restartOnDelete);
      reader = newReader();
    }
  });

  it('is nothing that is remembered only: what is recorded may be newer', async () => {
    reader = newReader();
    await look('first', 9000);
    const recordedByAnother = { applied: hashOf('second'), lastChange: 9500 };
    const { confirmed, unrecorded: told } = await read(recordedByAnother);
    assert.deepEqual([confirmed, told], [false, undefined]);
    assert.equal(await look('second', 10_000, recordedByAnother), undefined);
  });

  it('is nothing where status does not tell when a change was recorded', async () => {
    reader = newReader();
    await look('first', 9000, { lastChange: 0 });
    assert.equal(await look('second', 10_000, { lastChange: 0 }), undefined);
  });
});
