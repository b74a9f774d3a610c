import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type LoadSlot, LoadSlots } from '../../../src/runtime/cache/load-slots.ts';
import { FakeClock, settle } from '../../fake/clock.ts';
import { ReflectorRig, refusesInitialEvents } from './reflector-rig.ts';
import { apiError } from './scripted-client.ts';
import { added, initialEventsEnd } from './widget.ts';

const { signal } = new AbortController();

/** The state of a promise once everything that can run has run. */
async function isSettled(promise: Promise<unknown> | undefined): Promise<boolean> {
  const state = { settled: promise === undefined };
  promise?.then(
    () => (state.settled = true),
    () => (state.settled = true),
  );
  await settle();
  return state.settled;
}

describe('LoadSlots', () => {
  it('are given in the order in which they were asked for', async () => {
    const slots = new LoadSlots(new FakeClock(), 1);
    const slot = await slots.take(signal);
    const order: string[] = [];
    const wait = (name: string) =>
      slots.take(signal).then((next) => {
        order.push(name);
        next.release();
      });
    const waiting = [wait('a'), wait('b')];
    await settle();
    assert.deepEqual(order, []);
    slot.release();
    slot.release();
    await Promise.all(waiting);
    assert.deepEqual(order, ['a', 'b']);
    (await slots.take(signal)).release();
  });

  it('are not given to one who has left', async () => {
    const slots = new LoadSlots(new FakeClock(), 1);
    const slot = await slots.take(signal);
    const controller = new AbortController();
    const left = slots.take(controller.signal);
    controller.abort(new Error('left'));
    await assert.rejects(left, /left/);
    slot.release();
    (await slots.take(signal)).release();
    await assert.rejects(slots.take(controller.signal), /left/);
  });

  it('pass on after 5 s in which a load brought nothing, and not while it brings something', async () => {
    const clock = new FakeClock();
    const slots = new LoadSlots(clock, 1);
    const slot = await slots.take(signal);
    const next = slots.take(signal);
    for (let part = 0; part < 10; part++) {
      await clock.advanceAsync(4999);
      assert.equal(await isSettled(next), false);
      assert.equal(slot.advance(), undefined, 'what arrives in time is read at once');
    }
    await clock.advanceAsync(5000);
    assert.equal(await isSettled(next), true);
    (await next).release();
    slot.release();
    assert.equal(clock.pendingTimers, 0);
  });

  it('stay with a load that brings nothing while no other load waits', async () => {
    const clock = new FakeClock();
    const slots = new LoadSlots(clock, 1);
    const slot = await slots.take(signal);
    assert.equal(clock.pendingTimers, 0);
    await clock.advanceAsync(60_000);
    assert.equal(slot.advance(), undefined);
    const next = slots.take(signal);
    await clock.advanceAsync(4999);
    assert.equal(await isSettled(next), false, 'the silence counts from the last part');
    await clock.advanceAsync(1);
    assert.equal(await isSettled(next), true);
  });

  it('let a load that was silent go on before those that have not begun', async () => {
    const clock = new FakeClock();
    const slots = new LoadSlots(clock, 1);
    const silent = await slots.take(signal);
    const second = slots.take(signal);
    await clock.advanceAsync(5000);
    const third = slots.take(signal);
    const goesOn = silent.advance();
    assert.deepEqual([await isSettled(goesOn), await isSettled(third)], [false, false], 'one at a time');
    (await second).release();
    assert.deepEqual([await isSettled(goesOn), await isSettled(third)], [true, false]);
    assert.equal(silent.advance(), undefined);
    silent.release();
    assert.equal(await isSettled(third), true);
    (await third).release();
    (await slots.take(signal)).release();
    assert.equal(clock.pendingTimers, 0);
  });

  it('are not given back twice by a load that was silent', async () => {
    const clock = new FakeClock();
    const slots = new LoadSlots(clock, 1);
    const silent = await slots.take(signal);
    const second = await Promise.all([slots.take(signal), clock.advanceAsync(5000)]).then(([slot]) => slot);
    silent.release();
    const third = slots.take(signal);
    assert.equal(await isSettled(third), false);
    second.release();
    assert.equal(await isSettled(third), true);
  });

  it('reject a load that waits to go on when its signal aborts', async () => {
    const clock = new FakeClock();
    const slots = new LoadSlots(clock, 1);
    const controller = new AbortController();
    const silent = await slots.take(controller.signal);
    const second: Promise<LoadSlot> = slots.take(signal);
    await clock.advanceAsync(5000);
    const goesOn = silent.advance();
    assert.equal(await isSettled(goesOn), false);
    controller.abort(new Error('stop'));
    await assert.rejects(goesOn ?? Promise.resolve(), /stop/);
    silent.release();
    (await second).release();
    (await slots.take(signal)).release();
    assert.equal(clock.pendingTimers, 0);
  });
});

describe('Reflectors that share slots', () => {
  it('load four at a time, and follow any number', async () => {
    const clock = new FakeClock();
    const slots = new LoadSlots(clock);
    const rigs = Array.from({ length: 6 }, () => new ReflectorRig(undefined, slots));
    const pending = () => rigs.map(({ client }) => client.pending);
    await settle();
    assert.deepEqual(pending(), [1, 1, 1, 1, 0, 0]);
    const [first, second] = rigs;
    await (await first?.client.nextWatch())?.accept(initialEventsEnd(10));
    assert.deepEqual(pending(), [0, 1, 1, 1, 1, 0], 'it follows, and has given its slot back');
    await (await second?.client.nextWatch())?.refuse(apiError(503));
    assert.deepEqual(pending(), [0, 0, 1, 1, 1, 1], 'nor does one hold a slot that waits for its next try');
    await Promise.all(rigs.map((rig) => rig.assertStopsClean()));
    assert.equal(clock.pendingTimers, 0);
  });

  it('load although four others hang', async () => {
    const clock = new FakeClock();
    const slots = new LoadSlots(clock);
    const rigs = Array.from({ length: 6 }, () => new ReflectorRig(undefined, slots));
    const [fifth, sixth] = rigs.slice(4);
    assert.ok(fifth && sixth);
    await settle();
    await clock.advanceAsync(5000);
    await fifth.loaded();
    assert.equal(fifth.target.position, '10');
    await sixth.listed();
    assert.equal(sixth.target.position, '10');
    await Promise.all(rigs.map((rig) => rig.assertStopsClean()));
    assert.equal(clock.pendingTimers, 0);
  });

  it('hold their slot by what a list and initial events bring', async () => {
    const clock = new FakeClock();
    const slots = new LoadSlots(clock, 1);
    const [lists, watches, waits] = [1, 2, 3].map(() => new ReflectorRig(undefined, slots));
    assert.ok(lists && watches && waits);
    await (await lists.client.nextWatch()).refuse(refusesInitialEvents);
    await clock.advanceAsync(0);
    const order = [lists, watches].map(({ client }) => client.pending);
    assert.deepEqual(order, [0, 1], 'it has to wait for its next turn');
    const watch = await watches.client.nextWatch();
    await watch.accept();
    for (let version = 1; version <= 5; version++) {
      await clock.advanceAsync(4000);
      await watch.send(added({ name: `a-${version}`, rv: version }));
      assert.equal(waits.client.pending, 0);
    }
    await watch.send(initialEventsEnd(10));
    await (await waits.client.nextWatch()).accept(initialEventsEnd(10));
    const list = await lists.client.nextList();
    const later = slots.take(signal);
    for (let part = 1; part <= 5; part++) {
      await clock.advanceAsync(4000);
      assert.equal(list.options.onPart?.(), undefined);
    }
    assert.equal(await isSettled(later), false);
    await clock.advanceAsync(5000);
    assert.equal(await isSettled(later), true);
    await Promise.all([lists, watches, waits].map((rig) => rig.assertStopsClean()));
    (await later).release();
    assert.equal(clock.pendingTimers, 0);
  });
});
