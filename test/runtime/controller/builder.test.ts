import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { controllerManagedBy, type Host } from '../../../src/runtime/controller/builder.ts';
import { enqueueRequestsFromMap } from '../../../src/runtime/controller/event-handler.ts';
import type { Reconciler } from '../../../src/runtime/controller/reconciler.ts';
import type { Manager } from '../../../src/runtime/manager/manager.ts';
import { settle } from '../../fake/clock.ts';
import { fakeHost, gadgets, series, type Widget, widget, widgets } from './fixtures.ts';

const idle: Reconciler = { reconcile: async () => ({}) };

describe('controllerManagedBy', () => {
  it('wires for, owns and watches to one reconciler and hands the controller to the manager', async () => {
    const { host, informerFor, added } = fakeHost();
    const seen: string[] = [];
    const notes = { ...gadgets, plural: 'notes', kind: 'Note' };
    const controller = controllerManagedBy(host)
      .owns(gadgets)
      .for(widgets)
      .watches(
        notes,
        enqueueRequestsFromMap(() => [{ namespace: 'default', name: 'noted' }]),
      )
      .complete({
        async reconcile({ name }) {
          seen.push(name);
          return {};
        },
      });
    assert.deepEqual(added, [controller]);
    assert.equal(controller.name, 'widget');

    const stop = new AbortController();
    const running = controller.start(stop.signal, new AbortController().signal);
    for (const resource of [widgets, gadgets, notes]) informerFor(resource).sync();
    await settle();
    informerFor(widgets).add(widget('itself'));
    const reference = {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      name: 'owner',
      uid: 'u',
      controller: true,
    };
    informerFor(gadgets).add(widget('gadget', { ownerReferences: [reference] }));
    informerFor(notes).add(widget('note'));
    await settle();
    assert.deepEqual(seen, ['itself', 'owner', 'noted']);
    stop.abort();
    await running;
  });

  it('passes informer options on, and nothing else', () => {
    const { host, informerFor } = fakeHost();
    const options = { labelSelector: 'app', indexes: { byName: ({ metadata }: Widget) => [metadata.name] } };
    controllerManagedBy(host)
      .for(widgets, { ...options, predicates: [() => true], priority: () => 1 })
      .complete(idle);
    assert.deepEqual(informerFor(widgets).options, options);
  });

  it('asks for the informers when it is completed, so that the manager can start them', () => {
    const { host } = fakeHost();
    const asked: string[] = [];
    const informers = {
      informerFor: ((resource, options) => {
        asked.push(resource.kind);
        return host.informers.informerFor(resource, options);
      }) satisfies typeof host.informers.informerFor,
    };
    const builder = controllerManagedBy({ ...host, informers })
      .for(widgets)
      .owns(gadgets);
    assert.deepEqual(asked, []);
    builder.complete(idle);
    assert.deepEqual(asked, ['Widget', 'Gadget']);
  });

  it('takes a name and options, the later ones winning one by one', async () => {
    const { host, registry } = fakeHost();
    const controller = controllerManagedBy(host)
      .named('mine')
      .for(widgets)
      .withOptions({ maxConcurrentReconciles: 4, needsLeaderElection: false })
      .withOptions({ maxConcurrentReconciles: 8 })
      .complete(idle);
    assert.equal(controller.name, 'mine');
    assert.equal(controller.needsLeaderElection, false);
    assert.deepEqual(await series(registry, 'controller_runtime_max_concurrent'), {
      'controller_runtime_max_concurrent_reconciles{controller="mine"}': 8,
    });
  });

  it('has every series at 0 from the start', async () => {
    const { host, registry } = fakeHost();
    controllerManagedBy(host).for(widgets).complete(idle);
    const values = Object.entries(await series(registry, 'controller_runtime_'));
    assert.ok(values.length >= 11);
    for (const [name, value] of values) assert.equal(value, name.includes('max_concurrent') ? 1 : 0, name);
    assert.equal(
      (await series(registry, 'workqueue_depth'))[
        'workqueue_depth{name="widget",controller="widget",priority="-100"}'
      ],
      0,
    );
  });

  it('several controllers of a manager share metrics and informers', () => {
    const { host, added } = fakeHost();
    controllerManagedBy(host).for(widgets).complete(idle);
    controllerManagedBy(host).named('second').for(widgets).complete(idle);
    assert.deepEqual(
      added.map(({ name }) => name),
      ['widget', 'second'],
    );
  });
});

describe('controllerManagedBy: misuse is told with its remedy', () => {
  it('for twice', () => {
    const builder = controllerManagedBy(fakeHost().host).for(widgets);
    assert.throws(() => builder.for(gadgets), /for Widget already\. Use owns\(\) or watches\(\)/);
  });

  it('owns without for', () => {
    const builder = controllerManagedBy(fakeHost().host).named('x').owns(gadgets);
    assert.throws(() => builder.complete(idle), /owns\(Gadget\) needs for\(\)/);
  });

  it('nothing to watch', () => {
    assert.throws(
      () => controllerManagedBy(fakeHost().host).named('x').complete(idle),
      /watches nothing\. Call for\(\)/,
    );
  });

  it('no name', () => {
    const builder = controllerManagedBy(fakeHost().host).watches(widgets, () => []);
    assert.throws(() => builder.complete(idle), /Call named\(\) first/);
  });

  it('a name twice in one manager, not in two', () => {
    const { host, added } = fakeHost();
    controllerManagedBy(host).for(widgets).complete(idle);
    assert.throws(
      () => controllerManagedBy(host).for(widgets).complete(idle),
      /named widget already\. Call named\(\)/,
    );
    assert.equal(added.length, 1);
    controllerManagedBy(fakeHost().host).for(widgets).complete(idle);
  });
});

/** Checked by the compiler: an `@ts-expect-error` is itself an error when the line below it compiles. */
export function types(): void {
  const { host } = fakeHost();
  const builder = controllerManagedBy(host);
  builder.for(widgets, {
    priority: ({ spec }) => spec?.size ?? 0,
    predicates: [({ object }) => object.spec !== undefined],
    // @ts-expect-error a transform gives what it takes
    transform: () => 'text',
  });
  // @ts-expect-error a Widget has no color
  builder.for(widgets, { priority: ({ color }) => color });
  const forWidgets = enqueueRequestsFromMap((object: Widget & { readonly spec: object }) =>
    Object.keys(object.spec).map((name) => ({ namespace: '', name })),
  );
  // @ts-expect-error a handler for Widgets does not fit Gadgets
  builder.watches(gadgets, forWidgets);
  builder.watches(gadgets, ({ object }) => [{ namespace: '', name: object.color ?? '' }]);
  // @ts-expect-error a request has a namespace
  builder.watches(gadgets, () => [{ name: 'x' }]);
  // @ts-expect-error a reconciler gives a promise
  builder.complete({ reconcile: () => ({}) });
  // @ts-expect-error unknown option
  builder.withOptions({ workers: 3 });
}

describe('Host', () => {
  it('can be a double: what a set-up needs and no more', () => {
    const { informerFor, clock, log } = fakeHost();
    const added: unknown[] = [];
    const host: Host = {
      client: {} as Host['client'],
      informers: { informerFor },
      ...{ clock, log },
      recorder: () => ({ record: () => {} }),
      add: (runnable) => added.push(runnable),
    };
    const setUp = (given: Host) => controllerManagedBy(given).for(widgets).complete(idle);
    const controller = setUp(host);
    assert.deepEqual(added, [controller]);
    // The Manager is a Host, too: this compiles.
    const withManager = (manager: Manager) => setUp(manager);
    assert.equal(typeof withManager, 'function');
  });
});
