import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { UnreadableEventError } from '../../../src/runtime/client/watch-stream.ts';
import { stalenessLimit } from '../../../src/runtime/limits.ts';
import { cut, ReflectorRig, refusesInitialEvents } from './reflector-rig.ts';
import { apiError, foreignError } from './scripted-client.ts';
import { added, bookmark, deleted, failed, initialEventsEnd, modified, widget } from './widget.ts';

describe('Reflector loading', () => {
  let rig: ReflectorRig;

  beforeEach(() => {
    rig = new ReflectorRig();
  });

  afterEach(() => rig.assertStopsClean());

  it('takes the initial events of a watch and goes on with the same watch', async () => {
    const watch = await rig.client.nextWatch();
    assert.equal(watch.options.sendInitialEvents, true);
    assert.equal(watch.options.resourceVersion, undefined);
    assert.equal(watch.options.namespace, 'default');
    assert.equal(watch.options.labelSelector, 'app=web');
    assert.equal(watch.options.timeoutSeconds, 450);
    await watch.accept(added({ name: 'a', rv: 5 }), added({ name: 'b', rv: 3 }), bookmark(8));
    assert.deepEqual(rig.target.lines, [], 'nothing is shown before the end');
    await watch.send(modified({ name: 'a', rv: 9 }), deleted({ name: 'b', rv: 10 }), initialEventsEnd(10));
    await watch.send(added({ name: 'c', rv: 11 }), bookmark(20));
    assert.deepEqual(rig.target.lines, ['replace 10 a', 'ADDED c 11', 'advance 20']);
    assert.equal(rig.reflector.watching, true);
    assert.equal(rig.client.pending, 0);
  });

  for (const code of [400, 405, 422]) {
    it(`lists when initial events are refused with ${code}`, async () => {
      await (await rig.client.nextWatch()).refuse(apiError(code));
      const list = await rig.client.nextList();
      assert.equal(list.options.timeout, undefined, 'the time limit of the client counts');
      assert.equal(list.options.resourceVersion, undefined, 'a consistent read');
      assert.equal(list.options.labelSelector, 'app=web');
      await list.answer([widget({ name: 'a' })], '10');
      const watch = await rig.client.nextWatch();
      assert.equal(watch.options.resourceVersion, '10');
      assert.equal(watch.options.sendInitialEvents, undefined);
      await rig.clock.advanceAsync(1000);
      await watch.accept(failed(410));
      const next = await rig.client.nextWatch();
      assert.equal(next.options.sendInitialEvents, true, 'one load was refused, not all');
    });
  }

  it('lists until that load has succeeded', async () => {
    await (await rig.client.nextWatch()).refuse(refusesInitialEvents);
    for (const delay of [800, 1600]) {
      await (await rig.client.nextList()).refuse(apiError(503));
      await rig.assertWaits(delay);
    }
    await (await rig.client.nextList()).answer([widget({ name: 'a' })], '10');
    await rig.client.nextWatch();
  });

  it('lists when an initial event cannot be read', async () => {
    const watch = await rig.client.nextWatch();
    await watch.accept(added({ name: 'a' }));
    await watch.break(new UnreadableEventError('no event'));
    await rig.client.nextList();
  });

  it('lists when the initial events have no end', async () => {
    const watch = await rig.client.nextWatch();
    await watch.accept(added({ name: 'a' }));
    await rig.clock.advanceAsync(9999);
    assert.equal(watch.isAborted, false);
    await rig.clock.advanceAsync(1);
    assert.equal(watch.isAborted, true);
    await rig.client.nextList();
  });

  it('lists when the initial events never end on a busy resource', async () => {
    const watch = await rig.client.nextWatch();
    await watch.accept();
    for (let rv = 1; rv <= 24; rv++) {
      assert.equal(watch.isAborted, false);
      await watch.send(added({ name: 'a', rv }));
      await rig.clock.advanceAsync(5000);
    }
    await rig.client.nextList();
  });

  it('tries initial events again when they broke off', async () => {
    const watch = await rig.client.nextWatch();
    await watch.accept(added({ name: 'a' }));
    await watch.break(cut);
    await rig.assertWaits(800);
    assert.equal((await rig.client.nextWatch()).options.sendInitialEvents, true);
    assert.deepEqual(rig.target.lines, []);
  });

  it('leaves out what it cannot read', async () => {
    const watch = await rig.client.nextWatch();
    const nameless = { type: 'ADDED', object: { kind: 'Widget' } } as never;
    await watch.accept(nameless, added({ name: 'a' }), initialEventsEnd(10));
    await watch.send(nameless, added({ name: 'b', rv: 11 }));
    assert.deepEqual(rig.target.lines, ['replace 10 a', 'ADDED b 11']);
  });

  it('does not go on from a list without a resource version', async () => {
    await (await rig.client.nextWatch()).refuse(refusesInitialEvents);
    await (await rig.client.nextList()).answer([], '');
    await rig.assertWaits(800);
    await rig.client.nextList();
    assert.deepEqual(rig.target.lines, []);
  });
});

describe('Reflector following', () => {
  let rig: ReflectorRig;

  beforeEach(() => {
    rig = new ReflectorRig();
  });

  afterEach(() => rig.assertStopsClean());

  it('watches on from the last version when a watch ends', async () => {
    const first = await rig.listed();
    await first.accept(modified({ name: 'a', rv: 11 }));
    await first.end();
    const second = await rig.client.nextWatch();
    assert.equal(second.options.resourceVersion, '11');
    await second.accept(bookmark(30));
    await rig.clock.advanceAsync(1000);
    await second.end();
    assert.equal((await rig.client.nextWatch()).options.resourceVersion, '30');
    assert.equal(rig.counts.lists, 2, 'the one refused and the list');
  });

  it('watches on at once when a watch breaks that had brought something', async () => {
    const watch = await rig.loaded();
    await watch.send(modified({ name: 'a', rv: 11 }));
    await watch.break(cut);
    assert.equal((await rig.client.nextWatch()).options.resourceVersion, '11');
    assert.equal(rig.reflector.problem, undefined);
  });

  it('watches on at once when a quiet watch breaks after a second', async () => {
    const watch = await rig.listed();
    await watch.accept();
    await rig.clock.advanceAsync(1000);
    await watch.break(cut);
    await rig.client.nextWatch();
  });

  for (const { how, end } of [
    { how: 'ends', end: undefined },
    { how: 'breaks', end: cut },
  ]) {
    it(`waits when a watch ${how} within a second and has brought nothing new`, async () => {
      const first = await rig.listed();
      await first.accept(bookmark(11), added({ name: 'a', rv: 11 }));
      await rig.clock.advanceAsync(999);
      await first.break(end);
      await rig.assertWaits(800);
      const second = await rig.client.nextWatch();
      await second.accept();
      await second.break(end);
      await rig.assertWaits(1600);
      assert.equal((await rig.client.nextWatch()).options.resourceVersion, '11');
    });
  }

  it('leaves a watch that the server does not end', async () => {
    const watch = await rig.listed();
    await watch.accept();
    for (const rv of [20, 30, 40, 50]) {
      await rig.clock.advanceAsync(100_000);
      await watch.send(bookmark(rv));
    }
    await rig.clock.advanceAsync(79_999);
    assert.equal(watch.isAborted, false);
    await rig.clock.advanceAsync(1);
    assert.equal(watch.isAborted, true);
  });

  it('leaves a watch that stops sending bookmarks', async () => {
    const watch = await rig.listed();
    await watch.accept();
    for (const rv of [20, 30]) {
      await rig.clock.advanceAsync(60_000);
      await watch.send(bookmark(rv));
    }
    await rig.clock.advanceAsync(149_999);
    assert.equal(watch.isAborted, false);
    await rig.clock.advanceAsync(1);
    assert.equal(watch.isAborted, true);
    assert.equal((await rig.client.nextWatch()).options.resourceVersion, '30');
  });

  it('leaves a watch that sends nothing at all, not even a first bookmark', async () => {
    const watch = await rig.listed();
    await watch.accept();
    await rig.clock.advanceAsync(149_999);
    assert.equal(watch.isAborted, false);
    await rig.clock.advanceAsync(1);
    assert.equal(watch.isAborted, true);
    assert.equal((await rig.client.nextWatch()).options.resourceVersion, '10');
  });

  it('leaves a request for a watch that is not answered', async () => {
    const watch = await rig.listed();
    await rig.clock.advanceAsync(30_000);
    assert.equal(watch.isAborted, true);
    assert.equal(rig.reflector.problem?.reason, 'Unreachable');
    await rig.assertWaits(800);
  });

  it('loads again after two watches from one position that brought not even a bookmark', async () => {
    const first = await rig.listed();
    await first.accept();
    await rig.clock.advanceAsync(130_000);
    await first.end();
    const second = await rig.client.nextWatch();
    assert.equal(second.options.resourceVersion, '10');
    await second.accept();
    // Left at the limit.
    await rig.clock.advanceAsync(150_000);
    assert.equal(second.isAborted, true);
    assert.equal((await rig.client.nextWatch()).options.sendInitialEvents, true);
  });

  it('loads again after two watches that only repeated what was shown before', async () => {
    let watch = await rig.listed();
    for (let count = 1; count <= 2; count++) {
      assert.equal(watch.options.resourceVersion, '10');
      await watch.accept(modified({ name: 'a', rv: 10 }));
      await rig.clock.advanceAsync(130_000);
      await watch.end();
      watch = await rig.client.nextWatch();
    }
    assert.equal(watch.options.sendInitialEvents, true);
  });

  it('loads again when watches that are cut each minute bring nothing, and not while one brings something', async () => {
    let watch = await rig.listed();
    const lastsAMinute = async (...events: Parameters<typeof watch.accept>) => {
      await watch.accept(...events);
      await rig.clock.advanceAsync(61_000);
      await watch.end();
      watch = await rig.client.nextWatch();
    };
    for (const version of [11, 12]) {
      for (let count = 1; count <= 3; count++) await lastsAMinute();
      await lastsAMinute(modified({ name: 'a', rv: version }));
      assert.equal(watch.options.resourceVersion, `${version}`);
    }
    for (let count = 1; count <= 4; count++) {
      assert.equal(watch.options.resourceVersion, '12');
      await lastsAMinute();
    }
    assert.equal(watch.options.sendInitialEvents, true);
  });

  it('loads again when nothing followed the initial events, nor the next watch brought anything', async () => {
    await (await rig.loaded()).accept();
    await rig.clock.advanceAsync(150_000);
    const second = await rig.client.nextWatch();
    assert.equal(second.options.resourceVersion, '10');
    await second.accept();
    await rig.clock.advanceAsync(150_000);
    assert.equal((await rig.client.nextWatch()).options.sendInitialEvents, true);
  });
});

describe('Reflector contact', () => {
  let rig: ReflectorRig;

  beforeEach(() => {
    rig = new ReflectorRig();
  });

  afterEach(() => rig.assertStopsClean());

  it('is a load, a change, a bookmark, or the end of a watch at the time that was asked for', async () => {
    assert.equal(rig.reflector.sinceLastContact, Number.POSITIVE_INFINITY);
    const first = await rig.loaded();
    assert.equal(rig.reflector.sinceLastContact, 0);
    await rig.clock.advanceAsync(1000);
    await first.send(modified({ name: 'a', rv: 11 }));
    assert.equal(rig.reflector.sinceLastContact, 0);
    await rig.clock.advanceAsync(1000);
    await first.send(bookmark(11));
    assert.equal(rig.reflector.sinceLastContact, 0);
    assert.equal(rig.reflector.staleness, 0);
    await first.end();
    const second = await rig.client.nextWatch();
    await second.accept();
    for (let minutes = 1; minutes <= 7; minutes += 1) {
      await rig.clock.advanceAsync(60_000);
      await second.send(modified({ name: 'a', rv: 11 }));
    }
    await rig.clock.advanceAsync(28_000);
    assert.equal(rig.reflector.sinceLastContact, 448_000, 'a replay is none');
    await second.end();
    assert.equal(rig.reflector.sinceLastContact, 0, '2 s sooner than asked for by this clock');
    assert.equal(rig.reflector.staleness, 448_000, 'that end has shown nothing');
  });

  it('ends a long silence with a bookmark, and not with a change that may be one of many', async () => {
    const first = await rig.loaded();
    await rig.clock.advanceAsync(stalenessLimit + 1);
    await first.send(modified({ name: 'a', rv: 11 }));
    assert.equal(rig.reflector.sinceLastContact, 0);
    assert.equal(rig.reflector.staleness, stalenessLimit + 1);
    await first.send(bookmark(11));
    assert.equal(rig.reflector.staleness, 0);
    await rig.clock.advanceAsync(stalenessLimit);
    await first.send(modified({ name: 'a', rv: 12 }));
    assert.equal(rig.reflector.staleness, 0);
  });

  it('is no connection that was opened, no replay, no early end and no line that cannot be read', async () => {
    const first = await rig.loaded();
    await rig.clock.advanceAsync(1000);
    await first.break(cut);
    const second = await rig.client.nextWatch();
    await second.accept(modified({ name: 'a', rv: 10 }));
    await rig.clock.advanceAsync(100_000);
    await second.end();
    const third = await rig.client.nextWatch();
    await third.accept();
    await third.break(new UnreadableEventError('no event'));
    assert.equal(rig.reflector.sinceLastContact, 101_000);
  });

  it('is a refusal of the API server itself, but none of a broken server or a proxy', async () => {
    await rig.stop();
    for (const { error, isContact } of [
      { error: apiError(403), isContact: true },
      { error: apiError(404), isContact: true },
      ...[apiError(401), apiError(410), apiError(429), apiError(500), apiError(503)].map(isNoContact),
      ...[foreignError(403), foreignError(404), cut].map(isNoContact),
    ]) {
      rig = new ReflectorRig();
      const watch = await rig.listed();
      await rig.clock.advanceAsync(1000);
      await watch.refuse(error);
      assert.equal(rig.reflector.sinceLastContact, isContact ? 0 : 1000, error.message);
      assert.equal(rig.reflector.staleness, 1000, error.message);
      await rig.stop();
    }
  });

  const isNoContact = (error: Error) => ({ error, isContact: false });
});

describe('Reflector stopping', () => {
  let rig: ReflectorRig;

  beforeEach(() => {
    rig = new ReflectorRig();
  });

  afterEach(() => rig.assertStopsClean());

  it('is final, with events still to be read', async () => {
    const watch = await rig.loaded();
    rig.target.apply = (type, object) => {
      rig.target.lines.push(`${type} ${object.metadata.name}`);
      void rig.stop();
      return true;
    };
    await watch.send(added({ name: 'b', rv: 11 }), added({ name: 'c', rv: 12 }));
    await rig.stop();
    assert.deepEqual(rig.target.lines, ['replace 10 a', 'ADDED b']);
    assert.equal(watch.isAborted, true);
  });

  it('ends a wait', async () => {
    await (await rig.client.nextWatch()).refuse(cut);
    await rig.stop();
    await rig.clock.advanceAsync(60_000);
    assert.equal(rig.client.pending, 0);
  });

  it('is final for a list that was answered just before', async () => {
    await (await rig.client.nextWatch()).refuse(refusesInitialEvents);
    void (await rig.client.nextList()).answer([], '10');
    await rig.stop();
    assert.deepEqual(rig.target.lines, []);
  });

  it('ends a list', async () => {
    await (await rig.client.nextWatch()).refuse(refusesInitialEvents);
    const list = await rig.client.nextList();
    void rig.stop();
    await list.answer([], '10');
    await rig.stop();
    assert.deepEqual(rig.target.lines, []);
  });
});
