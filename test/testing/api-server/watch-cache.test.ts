import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Etcd } from '../../../src/testing/api-server/etcd.ts';
import { configMaps, create, send, world } from './servers.ts';

const names = (body: { items: { metadata: { name: string } }[] }) =>
  body.items.map(({ metadata }) => metadata.name);

describe('a watch cache that lags', () => {
  test('is what watches and lists of version 0 see; gets and other lists see etcd', () => {
    const { clock, server } = world();
    const [quick, slow] = [server('quick'), server('slow', () => 500)];
    const watch = send(slow, 'GET', `${configMaps}?watch=1`);
    create(quick, 'a');
    assert.deepEqual(names(send(slow, 'GET', `${configMaps}?resourceVersion=0`).body), []);
    assert.deepEqual(names(send(quick, 'GET', `${configMaps}?resourceVersion=0`).body), ['a']);
    assert.deepEqual(names(send(slow, 'GET', configMaps).body), ['a']);
    assert.equal(send(slow, 'GET', `${configMaps}/a`).answered?.code, 200);
    assert.equal(send(slow, 'GET', `${configMaps}/a?resourceVersion=0`).answered?.code, 404);
    assert.deepEqual(watch.events, []);
    clock.advance(500);
    assert.deepEqual(watch.events, ['ADDED a']);
    assert.deepEqual(names(send(slow, 'GET', `${configMaps}?resourceVersion=0`).body), ['a']);
  });

  test('keeps the order of changes whatever each of them takes', () => {
    const { clock, server } = world();
    const lags = [900, 10, 10];
    const slow = server('slow', () => lags.shift() ?? 0);
    const watch = send(slow, 'GET', `${configMaps}?watch=1`);
    for (const name of ['a', 'b', 'c']) create(slow, name);
    clock.advance(899);
    assert.deepEqual(watch.events, []);
    clock.advance(1);
    assert.deepEqual(watch.events, ['ADDED a', 'ADDED b', 'ADDED c']);
  });

  test('makes a read of a version wait for it, and no longer than three seconds', () => {
    const { clock, server } = world();
    const slow = server('slow', () => 2000);
    const version = create(slow, 'a');
    const list = send(
      slow,
      'GET',
      `${configMaps}?resourceVersion=${version}&resourceVersionMatch=NotOlderThan`,
    );
    const get = send(slow, 'GET', `${configMaps}/a?resourceVersion=${version}`);
    const future = send(slow, 'GET', `${configMaps}?resourceVersion=${version + 1}`);
    clock.advance(1999);
    assert.ok(!list.isAnswered);
    clock.advance(1);
    assert.deepEqual(names(list.body), ['a']);
    assert.equal(get.answered?.code, 200);
    clock.advance(1000);
    assert.equal(future.answered?.code, 504);
    assert.equal(future.answered?.headers['retry-after'], '1');
    assert.equal(
      future.body.message,
      `Timeout: Too large resource version: ${version + 1}, current: ${version}`,
    );
  });

  test('lets a list in the form of a watch begin when it is as new as etcd', () => {
    const { clock, server } = world();
    const slow = server('slow', () => 700);
    create(slow, 'a');
    const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const watch = send(slow, 'GET', `${configMaps}?${query}`);
    assert.deepEqual(watch.events, []);
    clock.advance(700);
    assert.deepEqual(watch.events, ['ADDED a', 'BOOKMARK']);
    assert.equal(watch.lines.at(-1).object.metadata.annotations['k8s.io/initial-events-end'], 'true');
  });

  test('that is held stays where it is, and catches up when it is released', () => {
    const { clock, server } = world();
    const held = server('held');
    const watch = send(held, 'GET', `${configMaps}?watch=1`);
    held.cache.hold();
    create(held, 'a');
    clock.advance(60_000);
    assert.deepEqual(watch.events, []);
    held.cache.release();
    assert.deepEqual(watch.events, ['ADDED a']);
    create(held, 'b');
    assert.deepEqual(watch.events, ['ADDED a', 'ADDED b']);
  });
});

describe('etcd', () => {
  test('deletes several objects at one revision: who has seen one of them may miss the others', () => {
    const { etcd, server } = world();
    const api = server('api');
    create(api, 'a');
    create(api, 'b');
    const watch = send(api, 'GET', `${configMaps}?watch=1&resourceVersion=${etcd.revision}`);
    const [resource] = api.resources.filter(({ plural }) => plural === 'configmaps');
    assert.ok(resource);
    etcd.removeAll(etcd.list(resource).map((object) => ({ resource, object })));
    assert.deepEqual(watch.events, ['DELETED a', 'DELETED b']);
    const [first, second] = watch.lines.map(({ object }) => object.metadata.resourceVersion);
    assert.equal(first, second);
    const again = send(api, 'GET', `${configMaps}?watch=1&resourceVersion=${first}`);
    assert.deepEqual(again.events, []);
    const before = send(api, 'GET', `${configMaps}?watch=1&resourceVersion=${Number(first) - 1}`);
    assert.deepEqual(before.events, ['DELETED a', 'DELETED b']);
  });

  test('that was compacted has no past: watches and pages from before have expired', () => {
    const { etcd, server } = world();
    const api = server('api');
    for (const name of ['a', 'b', 'c']) create(api, name);
    const page = send(api, 'GET', `${configMaps}?limit=1`).body;
    const version = create(api, 'd');
    const token = encodeURIComponent(page.metadata.continue);
    assert.deepEqual(names(send(api, 'GET', `${configMaps}?continue=${token}`).body), ['b', 'c']);
    etcd.compact();
    const watch = send(api, 'GET', `${configMaps}?watch=1&resourceVersion=${page.metadata.resourceVersion}`);
    assert.deepEqual(watch.events, ['ERROR 410']);
    assert.equal(watch.lines[0].object.reason, 'Expired');
    assert.ok(watch.isEnded);
    assert.equal(send(api, 'GET', `${configMaps}?continue=${token}`).answered?.code, 410);
    const exact = `${configMaps}?resourceVersion=${page.metadata.resourceVersion}&resourceVersionMatch=Exact`;
    assert.equal(send(api, 'GET', exact).answered?.code, 410);
    assert.deepEqual(send(api, 'GET', `${configMaps}?watch=1&resourceVersion=${version}`).events, []);
  });

  test('keeps a history of bounded length, and what it has forgotten is compacted', () => {
    const etcd = new Etcd();
    const resource = { group: '', version: 'v1', plural: 'things', kind: 'Thing', namespaced: false };
    for (let i = 0; i < 50_000; i++) etcd.put(resource, { metadata: { name: `t-${i % 7}` } });
    assert.ok(etcd.since(0).length <= 40_000);
    assert.ok(etcd.compacted > 10_000);
    assert.equal(etcd.listAt(resource, '', etcd.revision - 10).length, 7);
    assert.throws(() => etcd.listAt(resource, '', 200), RangeError);
  });
});

describe('the time of a watch', () => {
  test('brings a bookmark about once a minute and shortly before the end, and ends', () => {
    const { clock, etcd, server } = world();
    const api = server('api');
    const watch = send(api, 'GET', `${configMaps}?watch=1&allowWatchBookmarks=true&timeoutSeconds=300`);
    const silent = send(api, 'GET', `${configMaps}?watch=1&timeoutSeconds=300`);
    clock.advance(298_000);
    const told = watch.events.length;
    assert.ok(told >= 5 && told <= 8, `${told} bookmarks`);
    assert.equal(watch.lines.at(-1).object.metadata.resourceVersion, String(etcd.revision));
    assert.equal(watch.isEnded, false);
    clock.advance(2000);
    assert.ok(watch.isEnded && silent.isEnded);
    assert.deepEqual(silent.events, []);
    assert.equal(clock.pendingTimers, 0);
    assert.deepEqual(api.watches, []);
  });

  test('ends by itself within an hour', () => {
    const { clock, server } = world();
    const api = server('api');
    const watch = send(api, 'GET', `${configMaps}?watch=1`);
    clock.advance(1_799_000);
    assert.equal(watch.isEnded, false);
    clock.advance(1_801_000);
    assert.ok(watch.isEnded);
  });

  test('is over for a client that has gone away', () => {
    const { clock, server } = world();
    const api = server('api');
    const request = { method: 'GET', path: configMaps, query: new Map([['watch', '1']]) } as const;
    const { closed } = api.receive(
      { ...request, headers: {}, body: '', user: 'system:admin' },
      { answer() {}, begin() {}, write() {}, end() {}, cut() {} },
    );
    assert.equal(api.watches.length, 1);
    closed();
    assert.equal(api.watches.length, 0);
    assert.equal(clock.pendingTimers, 0);
  });
});
