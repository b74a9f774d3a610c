/** The life of a controller: start order, workers, locks, time limits, stop and abort. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { controllerManagedBy } from '../../../src/runtime/controller/builder.ts';
import type { ReconcileContext, Request } from '../../../src/runtime/controller/reconciler.ts';
import { ExponentialBackoff } from '../../../src/runtime/queue/rate-limiter.ts';
import { settle } from '../../fake/clock.ts';
import { fakeHost, gadgets, series, startController, widget, widgets } from './fixtures.ts';

const second = 1000;

/** A reconciler whose calls the test ends by hand. */
function byHand() {
  const calls: { name: string; context: ReconcileContext; end(): void; fail(error: unknown): void }[] = [];
  return {
    calls,
    names: () => calls.map(({ name }) => name),
    reconcile({ name }: Request, context: ReconcileContext) {
      const { promise, resolve, reject } = Promise.withResolvers<object>();
      calls.push({ name, context, end: () => resolve({}), fail: reject });
      return promise;
    },
  };
}

describe('Controller: start', () => {
  it('reconciles what was there and what comes', async () => {
    const seen: string[] = [];
    const { informer, stop, running } = startController(async ({ namespace, name }) => {
      seen.push(`${namespace}/${name}`);
      return {};
    });
    informer.sync(widget('a'));
    await settle();
    informer.add(widget('b'));
    await settle();
    assert.deepEqual(seen, ['default/a', 'default/b']);
    stop.abort();
    await running;
  });

  it('I10: does not reconcile before every source has synced', async () => {
    const { host, informerFor } = fakeHost();
    const hand = byHand();
    const controller = controllerManagedBy(host).for(widgets).owns(gadgets).complete(hand);
    const stop = new AbortController();
    const running = controller.start(stop.signal, new AbortController().signal);
    informerFor(widgets).sync(widget('a'));
    await settle();
    assert.deepEqual(hand.names(), []);
    informerFor(gadgets).sync();
    await settle();
    assert.deepEqual(hand.names(), ['a']);
    hand.calls[0]?.end();
    stop.abort();
    await running;
  });

  it('warms up before leadership: sources run, the queue fills, nothing is reconciled', async () => {
    const { host, informerFor, registry } = fakeHost();
    const hand = byHand();
    const controller = controllerManagedBy(host).for(widgets).complete(hand);
    assert.equal(controller.needsLeaderElection, true);
    const stop = new AbortController();
    let warm = false;
    const warming = controller.warmUp(stop.signal).then(() => {
      warm = true;
    });
    await settle();
    assert.equal(warm, false);
    informerFor(widgets).sync(widget('a'));
    informerFor(widgets).add(widget('b'));
    await warming;
    await settle();
    assert.deepEqual(hand.names(), []);
    assert.equal(
      (await series(registry, 'workqueue_adds'))['workqueue_adds_total{name="widget",controller="widget"}'],
      2,
    );

    const running = controller.start(stop.signal, new AbortController().signal);
    await settle();
    assert.equal(informerFor(widgets).handlers.size, 1, 'the sources are not started twice');
    assert.deepEqual(hand.names(), ['b'], 'what happened comes before what was there');
    hand.calls[0]?.end();
    stop.abort();
    await running;
  });

  it('a standby that is stopped leaves nothing behind', async () => {
    const { host, informerFor } = fakeHost();
    const controller = controllerManagedBy(host).for(widgets).complete(byHand());
    const stop = new AbortController();
    const warming = controller.warmUp(stop.signal);
    stop.abort(new Error('stopped'));
    await assert.rejects(warming, { message: 'stopped' });
    assert.equal(informerFor(widgets).handlers.size, 0);
  });

  it('resolves when it is stopped before it has synced', async () => {
    const { stop, running } = startController(byHand().reconcile);
    stop.abort();
    await running;
  });

  it('rejects with its name when a source cannot start', async () => {
    const { host } = fakeHost();
    const failing = {
      start() {},
      waitForSync: () => Promise.reject(new Error('no such thing')),
    };
    const controller = controllerManagedBy(host).named('broken').watchesSource(failing).complete(byHand());
    const start = controller.start(new AbortController().signal, new AbortController().signal);
    await assert.rejects(start, (error: Error) => {
      assert.match(error.message, /broken/);
      assert.equal((error.cause as Error).message, 'no such thing');
      return true;
    });
  });

  it('starts once', async () => {
    const { controller, stop, abort, running } = startController(byHand().reconcile);
    await assert.rejects(controller.start(stop.signal, abort.signal), /starts once/);
    stop.abort();
    await running;
  });

  it('refuses options that make no sense', () => {
    const { host } = fakeHost();
    const rows = [
      { maxConcurrentReconciles: 0 },
      { maxConcurrentReconciles: 1.5 },
      { reconcileTimeout: 0 },
      { reconcileTimeout: Number.NaN },
      { reconcileTimeout: Infinity },
      { unhealthyAfter: 0 },
      { unhealthyAfter: Number.NaN },
      { maxBackoff: 0 },
      { maxBackoff: 1000, rateLimiter: new ExponentialBackoff() },
    ];
    for (const options of rows) {
      const builder = controllerManagedBy(host).for(widgets).withOptions(options);
      assert.throws(() => builder.complete(byHand()), RangeError, JSON.stringify(options));
    }
  });
});

describe('Controller: workers', () => {
  it('runs as many reconciles at once as told, and never two for one object', async () => {
    const hand = byHand();
    const { informer, registry, stop, running } = startController(hand.reconcile, {
      maxConcurrentReconciles: 2,
    });
    informer.sync(widget('a'), widget('b'), widget('c'));
    await settle();
    informer.add(widget('a'));
    await settle();
    assert.deepEqual(hand.names(), ['a', 'b']);
    const metrics = await series(registry, 'controller_runtime');
    assert.equal(metrics['controller_runtime_max_concurrent_reconciles{controller="widget"}'], 2);
    assert.equal(metrics['controller_runtime_active_workers{controller="widget"}'], 2);

    hand.calls[1]?.end();
    await settle();
    assert.deepEqual(hand.names(), ['a', 'b', 'c'], 'a is still locked');
    hand.calls[0]?.end();
    await settle();
    assert.deepEqual(hand.names(), ['a', 'b', 'c', 'a'], 'the event during the reconcile was not lost');
    for (const call of hand.calls) call.end();
    await settle();
    stop.abort();
    await running;
    const after = await series(registry, 'controller_runtime_active_workers');
    assert.deepEqual(Object.values(after), [0]);
  });

  it('gives every call an ID of its own and a logger that carries it', async () => {
    const contexts: ReconcileContext[] = [];
    const { informer, log, stop, running } = startController(async (_request, context) => {
      contexts.push(context);
      context.log.info('hello');
      return {};
    });
    informer.sync(widget('a'), widget('b'));
    await settle();
    const [a, b] = contexts;
    assert.ok(a && b && a.reconcileID !== b.reconcileID);
    assert.match(a.reconcileID, /^[0-9a-f-]{36}$/);
    assert.deepEqual(log.lines.find(({ message }) => message === 'hello')?.fields, {
      controller: 'widget',
      namespace: 'default',
      name: 'a',
      reconcileID: a.reconcileID,
    });
    stop.abort();
    await running;
  });

  it('takes the flows of its requests in turns', async () => {
    const hand = byHand();
    const { informer, stop, running } = startController(hand.reconcile, {
      flowOf: ({ name }) => name.slice(0, 1),
    });
    informer.sync(...['a1', 'a2', 'a3', 'b1'].map((name) => widget(name)));
    for (let served = 0; served < 4; served++) {
      await settle();
      hand.calls[served]?.end();
    }
    assert.deepEqual(hand.names(), ['a1', 'b1', 'a2', 'a3']);
    stop.abort();
    await running;
  });

  it('lets the event loop turn between reconciles that never wait', async () => {
    let count = 0;
    const { informer, stop, running } = startController(async () => {
      count++;
      return {};
    });
    informer.sync(...Array.from({ length: 2000 }, (_, index) => widget(`quick-${index}`)));
    const turns: number[] = [];
    for (let turn = 0; turn < 5; turn++) {
      await settle();
      turns.push(count);
    }
    assert.ok(
      turns[0] !== undefined && turns[0] < 1000 && turns.at(-1) !== turns[0],
      `after each turn: ${turns}`,
    );
    stop.abort();
    await running;
  });

  it('I20: a poison object that always fails delays no other object', async () => {
    const runs = new Map<string, number>();
    const { informer, clock, stop, running } = startController(async ({ name }) => {
      runs.set(name, (runs.get(name) ?? 0) + 1);
      if (name.startsWith('poison')) throw new TypeError('x is not a function');
      return {};
    });
    informer.sync(...Array.from({ length: 50 }, (_, index) => widget(`poison-${index}`)));
    await clock.advanceAsync(60 * second);
    const before = clock.monotonic();
    informer.add(widget('healthy'));
    await settle();
    assert.equal(runs.get('healthy'), 1);
    assert.equal(clock.monotonic(), before);
    // 5 ms · (2ⁿ − 1) ≤ 60 s: 13 tries after the first.
    assert.equal(runs.get('poison-0'), 14);
    stop.abort();
    await running;
  });
});

describe('Controller: time limit', () => {
  it('aborts the reconcile, frees the worker and keeps the key locked until the promise settles', async () => {
    const hand = byHand();
    const options = { reconcileTimeout: 10 * second };
    const { informer, clock, registry, log, stop, running } = startController(hand.reconcile, options);
    informer.sync(widget('hangs'), widget('next'));
    await clock.advanceAsync(10 * second - 1);
    assert.deepEqual(hand.names(), ['hangs']);
    assert.equal(hand.calls[0]?.context.signal.aborted, false);

    await clock.advanceAsync(1);
    assert.equal(hand.calls[0]?.context.signal.reason.name, 'TimeoutError');
    assert.deepEqual(hand.names(), ['hangs', 'next'], 'the worker goes on');
    assert.deepEqual(Object.values(await series(registry, 'controller_runtime_reconcile_timeouts')), [1]);
    assert.equal(log.lines.filter(({ level }) => level === 'warn').length, 1);
    hand.calls[1]?.end();
    informer.add(widget('hangs'));
    await clock.advanceAsync(3600 * second);
    assert.deepEqual(hand.names(), ['hangs', 'next'], 'the key is locked');

    hand.calls[0]?.end();
    await settle();
    assert.deepEqual(hand.names(), ['hangs', 'next', 'hangs']);
    hand.calls[2]?.end();
    await settle();
    assert.equal(clock.pendingTimers, 0);
    stop.abort();
    await running;
  });

  it('a reconcile that ends in time is not counted, and leaves no timer', async () => {
    const { informer, clock, registry, stop, running } = startController(async () => ({}), {
      reconcileTimeout: second,
    });
    informer.sync(widget('a'));
    await settle();
    assert.equal(clock.pendingTimers, 0);
    await clock.advanceAsync(10 * second);
    assert.deepEqual(Object.values(await series(registry, 'controller_runtime_reconcile_timeouts')), [0]);
    stop.abort();
    await running;
  });

  it('an error after the timeout is retried with backoff, as any other', async () => {
    const hand = byHand();
    const { informer, clock, stop, running } = startController(hand.reconcile, { reconcileTimeout: second });
    informer.sync(widget('a'));
    await clock.advanceAsync(second);
    hand.calls[0]?.fail(hand.calls[0].context.signal.reason);
    await clock.advanceAsync(5);
    assert.deepEqual(hand.names(), ['a', 'a']);
    hand.calls[1]?.end();
    await settle();
    stop.abort();
    await running;
  });
});

describe('Controller: stop', () => {
  it('stops sources and queue at once, and waits for the reconcile in progress without aborting it', async () => {
    const hand = byHand();
    const { informer, clock, stop, running, state } = startController(hand.reconcile);
    informer.sync(widget('a'), widget('b'));
    await settle();
    stop.abort();
    await clock.advanceAsync(10 * second);
    assert.equal(informer.handlers.size, 0);
    assert.equal(state.stopped, false, 'drains');
    assert.equal(hand.calls[0]?.context.signal.aborted, false);
    hand.calls[0]?.end();
    await running;
    await settle();
    assert.deepEqual(hand.names(), ['a'], 'I13: nothing is begun after the stop');
    assert.equal(clock.pendingTimers, 0);
  });

  it('a failure during the stop is not retried', async () => {
    const hand = byHand();
    const { informer, clock, stop, running } = startController(hand.reconcile);
    informer.sync(widget('a'));
    await settle();
    stop.abort();
    hand.calls[0]?.fail(new Error('no'));
    await running;
    assert.equal(clock.pendingTimers, 0);
  });

  it('waits also for a timed-out reconcile whose worker has gone on', async () => {
    const hand = byHand();
    const { informer, clock, stop, running, state } = startController(hand.reconcile, {
      reconcileTimeout: second,
    });
    informer.sync(widget('a'));
    await clock.advanceAsync(second);
    stop.abort();
    await settle();
    assert.equal(state.stopped, false);
    hand.calls[0]?.end();
    await running;
  });

  it('abort breaks off all reconciles through their signals, with its reason', async () => {
    const hand = byHand();
    const options = { maxConcurrentReconciles: 2 };
    const { informer, log, stop, abort, running } = startController(hand.reconcile, options);
    informer.sync(widget('a'), widget('b'), widget('c'));
    await settle();
    const lost = new Error('leadership lost');
    stop.abort(lost);
    abort.abort(lost);
    for (const { context, fail } of hand.calls) {
      assert.equal(context.signal.reason, lost);
      fail(context.signal.reason);
    }
    await running;
    assert.deepEqual(hand.names(), ['a', 'b']);
    assert.deepEqual(
      log.lines.filter(({ level }) => level === 'error'),
      [],
      'being broken off is no failure',
    );
  });

  it('abort alone also ends idle workers', async () => {
    const { informer, abort, running } = startController(byHand().reconcile);
    informer.sync();
    await settle();
    abort.abort();
    await running;
  });

  it('begins nothing when it is aborted before it starts', async () => {
    const { host, informerFor } = fakeHost();
    const hand = byHand();
    const withWork = controllerManagedBy(host).for(widgets).complete(hand);
    const withoutWork = controllerManagedBy(host).for(gadgets).complete(hand);
    informerFor(widgets).sync(widget('a'));
    informerFor(gadgets).sync();
    await withWork.start(new AbortController().signal, AbortSignal.abort());
    await withoutWork.start(new AbortController().signal, AbortSignal.abort());
    assert.deepEqual(hand.names(), []);
  });

  it('begins nothing when it is stopped before it starts, although everything is synced', async () => {
    const { host, informerFor } = fakeHost();
    const hand = byHand();
    const controller = controllerManagedBy(host).for(widgets).complete(hand);
    informerFor(widgets).sync(widget('a'));
    const ready = { start() {}, waitForSync: () => Promise.resolve() };
    const other = controllerManagedBy(host).named('other').watchesSource(ready).complete(hand);
    await controller.start(AbortSignal.abort(), new AbortController().signal);
    await other.start(AbortSignal.abort(), new AbortController().signal);
    assert.deepEqual(hand.names(), []);
  });

  it('abort alone also ends everything', async () => {
    const hand = byHand();
    const { informer, abort, running } = startController(hand.reconcile);
    informer.sync(widget('a'), widget('b'));
    await settle();
    abort.abort();
    hand.calls[0]?.end();
    await running;
    assert.deepEqual(hand.names(), ['a']);
  });

  it('begins no reconcile for a key that was handed out in the turn of the abort', async () => {
    const hand = byHand();
    const { informer, stop, abort, running } = startController(hand.reconcile);
    informer.sync();
    await settle();
    informer.add(widget('a'));
    stop.abort();
    abort.abort();
    await running;
    assert.deepEqual(hand.names(), []);
  });
});
