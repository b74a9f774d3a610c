import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LoadSlots } from '../../../src/runtime/cache/load-slots.ts';
import { settle } from '../../fake/clock.ts';
import { ReflectorRig } from './reflector-rig.ts';
import { apiError } from './scripted-client.ts';
import { initialEventsEnd } from './widget.ts';

describe('LoadSlots', () => {
  it('are given in the order in which they were asked for', async () => {
    const slots = new LoadSlots(1);
    const { signal } = new AbortController();
    const release = await slots.take(signal);
    const order: string[] = [];
    const wait = (name: string) =>
      slots.take(signal).then((done) => {
        order.push(name);
        done();
      });
    const waiting = [wait('a'), wait('b')];
    await settle();
    assert.deepEqual(order, []);
    release();
    release();
    await Promise.all(waiting);
    assert.deepEqual(order, ['a', 'b']);
    (await slots.take(signal))();
  });

  it('are not given to one who has left', async () => {
    const slots = new LoadSlots(1);
    const release = await slots.take(new AbortController().signal);
    const controller = new AbortController();
    const left = slots.take(controller.signal);
    controller.abort(new Error('left'));
    await assert.rejects(left, /left/);
    release();
    (await slots.take(new AbortController().signal))();
    await assert.rejects(slots.take(controller.signal), /left/);
  });
});

describe('Reflectors that share slots', () => {
  it('load four at a time, and follow any number', async () => {
    const slots = new LoadSlots();
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
  });
});
