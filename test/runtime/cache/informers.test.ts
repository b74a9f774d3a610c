import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Registry } from '@prometheus-io/client';
import type { Resource } from '../../../src/kubernetes/objects.ts';
import type { InformerHandler } from '../../../src/runtime/cache/informer.ts';
import { Informers } from '../../../src/runtime/cache/informers.ts';
import type { Logger } from '../../../src/runtime/logger.ts';
import { FakeClock, settle } from '../../fake/clock.ts';
import { apiError, ScriptedClient } from './scripted-client.ts';
import {
  added,
  deleted,
  failed,
  initialEventsEnd,
  modified,
  type Widget,
  widget,
  widgets,
} from './widget.ts';

let clock: FakeClock;
let client: ScriptedClient;
let controller: AbortController;
let registry: Registry;
let errors: string[];
let informers: Informers;

const note = (...[fields, message]: readonly unknown[]) => void errors.push(String(message ?? fields));
const log: Logger = { debug() {}, info() {}, warn() {}, error: note, child: () => log };

function setUp(namespaces: readonly string[] = []) {
  clock = new FakeClock();
  client = new ScriptedClient();
  controller = new AbortController();
  registry = new Registry();
  errors = [];
  informers = new Informers({ client, clock, log, namespaces, registry, random: () => 0.5 });
}

afterEach(async () => {
  controller.abort(new Error('stop'));
  await settle();
  assert.equal(clock.pendingTimers, 0, 'a timer was left behind');
});

/** A handler that writes down `add! a` (initial), `add a`, `update a@1>2`, `delete a`. */
function writeTo(lines: string[]): InformerHandler<Widget> {
  return {
    onAdd: ({ metadata }, initial) => void lines.push(`add${initial ? '!' : ''} ${metadata.name}`),
    onUpdate: (previous, { metadata }) =>
      void lines.push(
        `update ${metadata.name}@${previous.metadata.resourceVersion}>${metadata.resourceVersion}`,
      ),
    onDelete: ({ metadata }) => void lines.push(`delete ${metadata.name}`),
  };
}

describe('Informers that are removed', () => {
  beforeEach(() => setUp());

  it('end their watches, hold up nothing, and are new when they are asked for again', async () => {
    const informer = informers.informerFor(widgets);
    const other = informers.informerFor({ ...widgets, plural: 'gadgets' });
    informers.start(controller.signal);
    const synced = informers.waitForSync(controller.signal);
    const watch = await client.nextWatch();
    await watch.accept(added({ name: 'a' }), initialEventsEnd(10));
    await client.nextWatch();
    assert.equal(informers.hasSynced, false);
    informers.remove(other);
    await synced;
    assert.deepEqual([informers.hasSynced, informers.watches], [true, 1]);
    informers.remove(informer);
    informers.remove(informer);
    await settle();
    assert.equal(watch.isAborted, true);
    assert.equal(informer.lister.size, 1);
    assert.notEqual(informers.informerFor(widgets), informer);
    await client.nextWatch();
  });

  it('have no gauges any more, until there is one for the same resource again', async () => {
    const shown = async () => {
      const text = await registry.metrics();
      const found = text.matchAll(/^informer_(?:objects|watching|last_contact_seconds)\{resource="(\w+)/gm);
      return [...found].map(([, plural]) => plural).sort();
    };
    const gadgets = ['gadgets', 'gadgets', 'gadgets'];
    const both = [...gadgets, 'widgets', 'widgets', 'widgets'];
    const informer = informers.informerFor(widgets);
    informers.informerFor({ ...widgets, plural: 'gadgets' });
    assert.deepEqual(await shown(), both);
    informers.remove(informer);
    assert.deepEqual(await shown(), gadgets);
    informers.informerFor(widgets);
    assert.deepEqual(await shown(), both);
  });
});

describe('Informers and their handlers', () => {
  beforeEach(() => setUp());

  it('are synced when the first load is stored and shown', async () => {
    const informer = informers.informerFor(widgets);
    const seen: unknown[] = [];
    informer.addHandler({
      onAdd: () => seen.push({ stored: informer.lister.size, synced: informer.hasSynced }),
    });
    informers.start(controller.signal);
    const synced = informers.waitForSync(controller.signal);
    const watch = await client.nextWatch();
    await watch.accept(added({ name: 'a' }));
    assert.equal(informers.hasSynced, false);
    await watch.send(added({ name: 'b' }), initialEventsEnd(10));
    await synced;
    assert.equal(informers.hasSynced, true);
    assert.deepEqual(seen, [
      { stored: 2, synced: false },
      { stored: 2, synced: false },
    ]);
  });

  it('are told in order, initial adds of the first load only', async () => {
    const lines: string[] = [];
    const informer = informers.informerFor(widgets);
    informer.addHandler(writeTo(lines));
    informers.start(controller.signal);
    const watch = await client.nextWatch();
    await watch.accept(added({ name: 'a', rv: 1 }), initialEventsEnd(10));
    await watch.send(
      modified({ name: 'a', rv: 11 }),
      added({ name: 'b', rv: 12 }),
      deleted({ name: 'a', rv: 13 }),
    );
    await clock.advanceAsync(1000);
    await watch.send(failed(410));
    await (await client.nextWatch()).accept(added({ name: 'c', rv: 20 }), initialEventsEnd(20));
    assert.deepEqual(lines, ['add! a', 'update a@1>11', 'add b', 'delete a', 'delete b', 'add c']);
  });

  it('show a late handler what is there, own writes excepted, and nothing twice', async () => {
    const informer = informers.informerFor(widgets);
    informers.start(controller.signal);
    const watch = await client.nextWatch();
    await watch.accept(added({ name: 'a', rv: 1 }), initialEventsEnd(10));
    informers.observeWrite(widgets, widget({ name: 'own', rv: 11 }));
    const lines: string[] = [];
    const remove = informer.addHandler(writeTo(lines));
    assert.deepEqual(lines, ['add! a']);
    await watch.send(added({ name: 'own', rv: 11 }));
    assert.deepEqual(lines, ['add! a', 'add own']);
    remove();
    await watch.send(added({ name: 'b', rv: 12 }));
    assert.equal(lines.length, 2);
  });

  it('show a handler added by a handler everything once', async () => {
    const lines: string[] = [];
    const informer = informers.informerFor(widgets);
    const remove = informer.addHandler({
      onAdd: () => {
        remove();
        informer.addHandler(writeTo(lines));
      },
    });
    informers.start(controller.signal);
    await (await client.nextWatch()).accept(added({ name: 'a' }), added({ name: 'b' }), initialEventsEnd(10));
    assert.deepEqual(lines, ['add! a', 'add! b']);
  });

  it('outlive what handlers, transforms and index functions throw', async () => {
    const lines: string[] = [];
    const informer = informers.informerFor(widgets, {
      transform: (object) => ({ ...object, spec: { size: requireSize(object) } }),
      indexes: { size: (object) => [String(requireSize(object))], broken: () => undefined as never },
    });
    informer.addHandler({
      onAdd: () => {
        throw new Error('synchronous');
      },
      onUpdate: (() => Promise.reject(new Error('asynchronous'))) as () => void,
    });
    informer.addHandler(writeTo(lines));
    informers.start(controller.signal);
    const watch = await client.nextWatch();
    await watch.accept(added({ name: 'poison' }), initialEventsEnd(10));
    await watch.send(
      modified({ name: 'poison', rv: 11 }),
      added({ name: 'good', rv: 12, spec: { size: 2 } }),
    );
    assert.deepEqual(lines, ['add! poison', 'update poison@1>11', 'add good']);
    assert.deepEqual(informer.lister.get('default', 'poison')?.metadata.resourceVersion, '11');
    assert.deepEqual(
      informer.lister.byIndex('size', '2').map(({ metadata }) => metadata.name),
      ['good'],
    );
    assert.deepEqual(errors.toSorted(), [
      'a callback failed; the event is not handled',
      'a callback failed; the event is not handled',
      'a callback failed; the object is kept as it is',
      'a callback failed; the object is not in the index',
      'a callback failed; the object is not in the index',
    ]);
  });

  for (const [what, transform] of [
    ['nothing', () => null],
    ['a string', () => 'a'],
    ['an object without metadata', () => ({ spec: {} })],
    ['an object without a name', () => ({ metadata: {} })],
    ['another object', ({ metadata }: Widget) => ({ metadata: { ...metadata, name: 'other' } })],
    ['a rejection', () => Promise.reject(new Error('asynchronous'))],
    ['what cannot be frozen', (object: Widget) => ({ ...object, bytes: Buffer.from('a') })],
    [
      'nothing, and breaks what it was given',
      (object: Widget) => {
        Reflect.deleteProperty(object, 'metadata');
        throw null;
      },
    ],
  ] as const) {
    it(`keep an object for which the transform returns ${what}`, async () => {
      const informer = informers.informerFor(widgets, { transform: transform as (object: Widget) => Widget });
      informers.start(controller.signal);
      const watch = await client.nextWatch();
      await watch.accept(added({ name: 'a', rv: 5 }), initialEventsEnd(10));
      await watch.send(modified({ name: 'a', rv: 11 }));
      informers.observeWrite(widgets, widget({ name: 'b', rv: 12 }));
      assert.deepEqual(
        informer.lister.list().map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`),
        ['a 11', 'b 12'],
      );
      assert.deepEqual(errors, ['a callback failed; the object is kept as it is']);
    });
  }

  for (const [what, valuesOf] of [
    ['a string', () => 'ab'],
    ['numbers', () => [1]],
    ['a rejection', () => Promise.reject(new Error('asynchronous'))],
  ] as const) {
    it(`keep an object out of an index whose function returns ${what}`, async () => {
      const informer = informers.informerFor(widgets, { indexes: { broken: valuesOf as () => never } });
      informers.start(controller.signal);
      await (await client.nextWatch()).accept(added({ name: 'a' }), initialEventsEnd(10));
      assert.equal(informer.lister.size, 1);
      for (const value of ['a', '1']) assert.deepEqual(informer.lister.byIndex('broken', value), []);
      assert.deepEqual(errors, ['a callback failed; the object is not in the index']);
    });
  }

  it('log what callbacks throw, and objects without a name, once a minute each', async () => {
    const boom = () => {
      throw new Error('boom');
    };
    const informer = informers.informerFor(widgets, { transform: boom, indexes: { broken: boom } });
    informer.addHandler({ onAdd: boom, onUpdate: boom });
    informer.addHandler({ onAdd: boom });
    informers.start(controller.signal);
    const watch = await client.nextWatch();
    const names = Array.from({ length: 100 }, (_, index) => `a-${index}`);
    const nameless = Array.from({ length: 10 }, () => added({ name: '' }));
    await watch.accept(...names.map((name) => added({ name })), ...nameless, initialEventsEnd(10));
    assert.equal(errors.length, 5, errors.join('\n'));
    await clock.advanceAsync(60_000);
    await watch.send(modified({ name: 'a-0', rv: 11 }), modified({ name: 'a-1', rv: 12 }));
    assert.equal(errors.length, 8, errors.join('\n'));
  });

  function requireSize({ spec }: Widget): number {
    if (spec?.size === undefined) throw new TypeError('no size');
    return spec.size;
  }
});

describe('Informers being shared', () => {
  beforeEach(() => setUp());

  it('are the same for the same question', () => {
    const informer = informers.informerFor(widgets);
    assert.equal(informers.informerFor({ ...widgets }), informer);
    assert.notEqual(informers.informerFor(widgets, { labelSelector: 'app=web' }), informer);
    assert.notEqual(informers.informerFor(widgets, { fieldSelector: 'metadata.name=a' }), informer);
    assert.notEqual(informers.informerFor(widgets, { metadataOnly: true }), informer);
    assert.notEqual(informers.informerFor({ ...widgets, version: 'v2' }), informer);
  });

  it('gather the indexes of everybody who asks', () => {
    const byOwner = () => ['x'];
    informers.informerFor(widgets, { indexes: { owner: byOwner } });
    const informer = informers.informerFor(widgets, { indexes: { owner: byOwner, size: () => [] } });
    assert.deepEqual(informer.lister.byIndex('owner', 'x'), []);
    assert.deepEqual(informer.lister.byIndex('size', 'x'), []);
    assert.throws(
      () => informers.informerFor(widgets, { indexes: { owner: () => [] } }),
      /another index named "owner"/,
    );
  });

  it('refuse a second transform, also none after one', () => {
    const transform = (object: Widget) => object;
    informers.informerFor(widgets, { transform });
    informers.informerFor(widgets, { transform });
    assert.throws(
      () => informers.informerFor(widgets),
      /widgets\.example\.com exists with another transform/,
    );
    assert.throws(() => informers.informerFor(widgets, { transform: (object) => object }), RangeError);
  });

  it('start at once when asked for late, and belong to the sync', async () => {
    informers.start(controller.signal);
    assert.equal(informers.hasSynced, true);
    const informer = informers.informerFor(widgets);
    assert.equal(informers.hasSynced, false);
    await (await client.nextWatch()).accept(initialEventsEnd(10));
    assert.equal(informer.hasSynced, true);
    assert.throws(() => informers.start(controller.signal), /started already/);
  });

  it('reject the wait for the sync when it is given up', async () => {
    informers.informerFor(widgets);
    informers.start(controller.signal);
    const waiting = informers.waitForSync(AbortSignal.abort(new Error('enough')));
    await assert.rejects(waiting, /enough/);
  });
});

describe('Informers of several namespaces', () => {
  beforeEach(() => setUp(['one', 'two', 'one']));

  it('watch each, fill one store, and are synced when all are', async () => {
    const lines: string[] = [];
    const informer = informers.informerFor(widgets);
    informer.addHandler(writeTo(lines));
    informers.start(controller.signal);
    const one = await client.nextWatch();
    const two = await client.nextWatch();
    assert.equal(client.pending, 0);
    assert.deepEqual([one.options.namespace, two.options.namespace], ['one', 'two']);
    await one.accept(added({ namespace: 'one', name: 'a' }), initialEventsEnd(10));
    await one.send(added({ namespace: 'one', name: 'b', rv: 11 }));
    assert.equal(informer.hasSynced, false);
    await two.accept(added({ namespace: 'two', name: 'c' }), initialEventsEnd(10));
    assert.equal(informer.hasSynced, true);
    assert.deepEqual(lines, ['add! a', 'add b', 'add! c']);
    assert.equal(informer.lister.size, 3);
    assert.equal(informer.lister.list('one').length, 2);
  });

  it('show own writes of these namespaces alone', async () => {
    const informer = informers.informerFor(widgets);
    informers.observeWrite(widgets, widget({ namespace: 'one', rv: 11 }));
    informers.observeWrite(widgets, widget({ namespace: 'three', rv: 11 }));
    assert.equal(informer.lister.size, 1);
  });

  it('watch a cluster-scoped resource once', async () => {
    const nodes: Resource = { group: '', version: 'v1', plural: 'nodes', kind: 'Node', namespaced: false };
    informers.informerFor(nodes);
    informers.start(controller.signal);
    assert.equal((await client.nextWatch()).options.namespace, undefined);
    assert.equal(client.pending, 0);
  });
});

describe('Informers and own writes', () => {
  beforeEach(() => setUp());

  it('reach every informer of the resource that selects the object, in its form', async () => {
    const all = informers.informerFor(widgets);
    const web = informers.informerFor(widgets, { labelSelector: 'app=web' });
    const named = informers.informerFor(widgets, { fieldSelector: 'metadata.name=b' });
    const metadata = informers.informerFor(widgets, { metadataOnly: true });
    const other = informers.informerFor({ ...widgets, plural: 'gadgets' });
    const written = widget({ rv: 11, labels: { app: 'web' }, spec: { size: 1 } });
    informers.observeWrite(widgets, written);
    assert.deepEqual(all.lister.get('default', 'a'), written);
    assert.equal(web.lister.size, 1);
    assert.equal(named.lister.size, 0);
    assert.ok(!('spec' in (metadata.lister.get('default', 'a') ?? { spec: 'missing' })));
    assert.equal(other.lister.size, 0);
    informers.observeWrite(widgets, widget({ rv: 12, labels: { app: 'db' } }));
    assert.equal(all.lister.get('default', 'a')?.metadata.resourceVersion, '12');
    assert.equal(web.lister.size, 0);
  });

  it('leave the object of the caller to the caller', () => {
    const informer = informers.informerFor(widgets);
    const written = widget({ rv: 11, labels: { app: 'web' } });
    informers.observeWrite(widgets, written);
    assert.equal(Object.isFrozen(written.metadata.labels), false);
    Object.assign(written.metadata, { name: 'changed' });
    assert.equal(informer.lister.get('default', 'a')?.metadata.name, 'a');
  });

  it('hide what was deleted, also by taking its last finalizer away', async () => {
    const informer = informers.informerFor(widgets);
    informers.start(controller.signal);
    await (await client.nextWatch()).accept(added({ name: 'a' }), added({ name: 'b' }), initialEventsEnd(10));
    informers.observeWrite(widgets, { namespace: 'default', name: 'a', deleted: true });
    assert.equal(informer.lister.size, 2, 'without a uid it is not known which object that was');
    informers.observeWrite(widgets, { namespace: 'default', name: 'a', uid: 'uid-a', deleted: true });
    informers.observeWrite(widgets, widget({ name: 'b', rv: 12, deletionTimestamp: '2024-01-01T00:00:00Z' }));
    assert.equal(informer.lister.size, 0);
  });

  it('keep what a finalizer in the spec holds, also where the spec is not cached', async () => {
    const metadataOnly = informers.informerFor(widgets, { metadataOnly: true });
    const small = informers.informerFor(widgets, { transform: ({ metadata }) => ({ metadata }) });
    informers.start(controller.signal);
    for (const _informer of [metadataOnly, small]) {
      await (await client.nextWatch()).accept(added({ name: 'a' }), initialEventsEnd(10));
    }
    const spec = { finalizers: ['kubernetes'] } as Widget['spec'] & object;
    informers.observeWrite(widgets, widget({ rv: 12, deletionTimestamp: '2024-01-01T00:00:00Z', spec }));
    for (const { lister } of [metadataOnly, small]) {
      assert.equal(lister.get('default', 'a')?.metadata.resourceVersion, '12');
    }
  });

  it('outlive an answer that is no object', () => {
    const informer = informers.informerFor(widgets);
    for (const written of [null, {}, 'text', { metadata: null }, { metadata: { name: 5 } }]) {
      informers.observeWrite(widgets, written as never);
    }
    assert.equal(informer.lister.size, 0);
  });
});

describe('Informers and health', () => {
  beforeEach(() => setUp());

  it('count silence from the start until the first contact, and take the worst', async () => {
    assert.equal(informers.sinceLastContact(), 0);
    const informer = informers.informerFor(widgets);
    informers.informerFor(widgets, { metadataOnly: true });
    assert.equal(informer.sinceLastContact(), Number.POSITIVE_INFINITY);
    informers.start(controller.signal);
    await clock.advanceAsync(1000);
    assert.equal(informers.sinceLastContact(), 1000);
    await (await client.nextWatch()).accept(initialEventsEnd(10));
    await clock.advanceAsync(500);
    assert.equal(informer.sinceLastContact(), 500);
    assert.equal(informers.sinceLastContact(), 1500);
  });

  it('say what is wrong', async () => {
    informers.informerFor(widgets);
    informers.start(controller.signal);
    assert.deepEqual(informers.problems, []);
    client.documents.set('/readyz', 'ok').set('/apis', { kind: 'APIGroupList', groups: [] });
    await (await client.nextWatch()).refuse(apiError(404));
    assert.deepEqual(
      informers.problems.map(({ reason }) => reason),
      ['NotServed'],
    );
  });

  it('are measured, from 0 on', async () => {
    informers.informerFor(widgets);
    informers.informerFor(widgets, { metadataOnly: true });
    const text = await registry.metrics();
    for (const name of [
      'lists_total',
      'watches_total',
      'relists_total',
      'expired_total',
      'objects',
      'watching',
    ]) {
      assert.match(text, new RegExp(`^informer_${name}\\{resource="widgets.example.com"\\} 0$`, 'm'));
    }
    informers.start(controller.signal);
    for (const name of ['a', 'b']) {
      await (await client.nextWatch()).accept(added({ name }), initialEventsEnd(10));
    }
    await clock.advanceAsync(2000);
    const later = await registry.metrics();
    assert.match(later, /^informer_lists_total\{.*\} 2$/m);
    assert.match(later, /^informer_objects\{.*\} 2$/m);
    assert.match(later, /^informer_watching\{.*\} 1$/m);
    assert.match(later, /^informer_last_contact_seconds\{.*\} 2$/m);
  });
});
