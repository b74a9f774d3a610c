/**
 * Informers behind something that answers in the place of the API server, over real HTTP.
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Informer } from '../../../src/runtime/cache/informer.ts';
import { Informers } from '../../../src/runtime/cache/informers.ts';
import type { Connection } from '../../../src/runtime/client/connect.ts';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { connectTo } from '../../fake/connection.ts';
import { until } from '../../fake/until.ts';
import { type Widget, widget, widgets } from './widget.ts';

/** A hundred seconds in one. */
const fastClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now() * 100,
  setTimer: (delay, callback) => systemClock.setTimer(delay / 100, callback),
  turn: () => systemClock.turn(),
};

const names = ['web-0', 'web-1', 'web-2'];

let server: FakeApiServer;
let connection: Connection;
let controller: AbortController;
let informers: Informers;
let informer: Informer<Widget>;
let deleted: string[];

beforeEach(async () => {
  server = await FakeApiServer.start({ resources: [widgets] });
  for (const name of names) server.put(widgets, widget({ name }));
  connection = connectTo(server);
  controller = new AbortController();
  informers = new Informers({
    client: connection.client,
    clock: fastClock,
    log: silentLogger,
    namespaces: [],
    random: () => 0.5,
  });
  informer = informers.informerFor(widgets);
  deleted = [];
  informer.addHandler({ onDelete: ({ metadata }) => void deleted.push(metadata.name) });
  informers.start(controller.signal);
  await informers.waitForSync(AbortSignal.timeout(10_000));
  await until(() => server.watches.length === 1);
});

afterEach(async () => {
  controller.abort(new Error('stop'));
  connection.close();
  await server.stop();
});

/** Waits for so many more answers to watches; eight take a minute of the informer's time. */
async function triesToWatch(count: number): Promise<void> {
  const asked = () =>
    server.requests.filter(({ target, code }) => target !== undefined && code !== undefined).length;
  const before = asked();
  await until(() => asked() >= before + count);
}

describe('an informer behind a proxy', () => {
  it('keeps its objects while that answers every request with a 404 of its own', async () => {
    const page = { kind: 'status', code: 404, text: '<h1>Not Found</h1>', contentType: 'text/html' } as const;
    const remove = server.fail({ times: Number.POSITIVE_INFINITY }, page);
    server.cutConnections();
    await triesToWatch(8);
    assert.deepEqual(deleted, []);
    assert.equal(informer.lister.size, 3);
    assert.equal(informers.problems[0]?.reason, 'Failed');
    remove();
    server.put(widgets, widget({ name: 'new' }));
    await until(() => informer.lister.get('default', 'new') !== undefined);
    assert.deepEqual(deleted, []);
  });

  it('keeps them when that alone hides the collection', async () => {
    const page = { kind: 'status', code: 404, text: '404 page not found' } as const;
    server.fail({ resource: 'widgets', times: Number.POSITIVE_INFINITY }, page);
    server.cutConnections();
    await triesToWatch(8);
    assert.deepEqual(deleted, []);
    assert.equal(informer.lister.size, 3);
  });

  it('loses them when the API server itself has said twice that there are none', async () => {
    server.unregister(widgets);
    await until(() => informers.problems[0]?.reason === 'NotServed');
    assert.equal(informer.lister.size, 3);
    await until(() => informer.lister.size === 0);
    assert.deepEqual(deleted.sort(), names);
  });
});

/** What the informer asked for since then: `load`, `list` or `watch`. */
function askedSince(start: number): string[] {
  return server.requests
    .slice(start)
    .filter(({ target }) => target?.resource.plural === widgets.plural)
    .map(({ query }) => {
      if (query.get('watch') !== 'true') return 'list';
      return query.get('sendInitialEvents') === 'true' ? 'load' : 'watch';
    });
}

describe('an informer of an API server that', () => {
  const often = { watch: true, times: Number.POSITIVE_INFINITY };

  for (const [code, retryAfter] of [
    [429, 2],
    [503, 2],
    [429, Number.NaN],
  ] as const) {
    const answer = `${code} with Retry-After: ${retryAfter}`;
    it(`answers ${answer} again and again is followed from the same position`, async () => {
      const start = server.requests.length;
      const remove = server.fail(often, { kind: 'status', code, retryAfter });
      server.cutConnections();
      await triesToWatch(6);
      remove();
      server.put(widgets, widget({ name: 'new' }));
      await until(() => informer.lister.get('default', 'new') !== undefined);
      assert.deepEqual(new Set(askedSince(start)), new Set(['watch']));
    });
  }

  it('opens each watch and then says nothing is not in contact with the informer', async () => {
    server.fail(often, { kind: 'mute' });
    server.cutConnections();
    await triesToWatch(3);
    // Each watch was opened within this time.
    assert.ok(informers.sinceLastContact() > 60_000, `${informers.sinceLastContact()} ms`);
    assert.equal(informer.lister.size, 3);
  });

  it('sends a line that cannot be read is asked for everything, and followed from there', async () => {
    const start = server.requests.length;
    server.fail({ watch: true, times: 2 }, { kind: 'text', text: '{"type":"ADDED","object":\n' });
    server.cutConnections();
    await until(() => askedSince(start).includes('load'));
    server.put(widgets, widget({ name: 'new' }));
    await until(() => informer.lister.get('default', 'new') !== undefined);
    assert.deepEqual(askedSince(start).slice(0, 3), ['watch', 'watch', 'load']);
    assert.deepEqual(deleted, []);
  });

  it('is silent instead of sending the initial events is asked for a list, and the next time for them', async () => {
    const start = server.requests.length;
    const expired = { kind: 'status', code: 410, reason: 'Expired' } as const;
    server.fail({ watch: true }, expired);
    server.fail({ path: 'sendInitialEvents' }, { kind: 'mute' });
    server.cutConnections();
    await until(() => askedSince(start).length >= 4);
    await until(() => server.watches.length === 1);
    server.fail({ watch: true }, expired);
    server.cutConnections();
    await until(() => askedSince(start).length >= 6);
    assert.deepEqual(askedSince(start).slice(0, 6), ['watch', 'load', 'list', 'watch', 'watch', 'load']);
    assert.deepEqual(deleted, []);
  });
});
