import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { cut, ReflectorRig } from './reflector-rig.ts';
import { apiError, type ScriptedWatch } from './scripted-client.ts';
import { added, failed, initialEventsEnd, modified, widget } from './widget.ts';

describe('Reflector after a failure', () => {
  let rig: ReflectorRig;

  beforeEach(() => {
    rig = new ReflectorRig();
  });

  afterEach(() => rig.assertStopsClean());

  for (const { where, expire } of [
    { where: 'as the answer', expire: (watch: ScriptedWatch) => watch.refuse(apiError(410)) },
    {
      where: 'in the stream by its reason',
      expire: (watch: ScriptedWatch) => watch.accept({ type: 'ERROR', object: { reason: 'Expired' } }),
    },
    { where: 'in the stream', expire: (watch: ScriptedWatch) => watch.accept(failed(410)) },
    {
      where: 'as a version from the future',
      expire: (watch: ScriptedWatch) =>
        watch.refuse(apiError(504, { details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } })),
    },
  ]) {
    it(`loads again at once when the version has expired, ${where}`, async () => {
      const watch = await rig.loaded();
      await rig.clock.advanceAsync(2000);
      await watch.end();
      await expire(await rig.client.nextWatch());
      const again = await rig.client.nextWatch();
      assert.equal(again.options.sendInitialEvents, true);
      await again.accept(added({ name: 'b', rv: 12 }), initialEventsEnd(12));
      assert.deepEqual(rig.target.lines, ['replace 10 a', 'replace 12 b']);
      assert.deepEqual(
        { ...rig.counts },
        { ...rig.counts, lists: 2, watches: 3, relists: 1, expirations: 1 },
      );
    });
  }

  it('does not load in a hot loop when every version has expired', async () => {
    const watch = await rig.loaded();
    await watch.send(failed(410));
    await rig.assertWaits(800);
    await (await rig.client.nextWatch()).accept(failed(410));
    await rig.assertWaits(1600);
  });

  it('waits longer each time while nobody answers, and does not list for it', async () => {
    let watch = await rig.listed();
    for (const delay of [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]) {
      await watch.refuse(cut);
      assert.equal(rig.reflector.problem?.reason, 'Unreachable');
      await rig.assertWaits(delay);
      watch = await rig.client.nextWatch();
    }
    await watch.accept();
    assert.equal(rig.reflector.problem, undefined);
  });

  it('waits when lists are refused for what a watch may be refused for', async () => {
    await (await rig.client.nextWatch()).refuse(apiError(400));
    for (const delay of [800, 1600]) {
      await (await rig.client.nextList()).refuse(apiError(400));
      await rig.assertWaits(delay);
    }
  });

  it('waits as long as the server asks, within reason', async () => {
    const watch = await rig.listed();
    await watch.refuse(apiError(429, {}, 7000));
    await rig.assertWaits(7000);
    await (await rig.client.nextWatch()).refuse(apiError(429, {}, 3_600_000));
    await rig.assertWaits(120_000);
  });

  it('waits as long as an error in the stream asks', async () => {
    const watch = await rig.loaded();
    await watch.send({ type: 'ERROR', object: { code: 429, details: { retryAfterSeconds: 5 } } });
    await rig.assertWaits(5000);
  });

  it('takes a list where a watch keeps failing', async () => {
    const watch = await rig.loaded();
    await watch.send(failed(500));
    for (const delay of [800, 1600]) {
      await rig.assertWaits(delay);
      const again = await rig.client.nextWatch();
      assert.equal(again.options.resourceVersion, '10');
      await again.accept(failed(500));
    }
    await rig.assertWaits(3200);
    assert.equal((await rig.client.nextWatch()).options.sendInitialEvents, true);
  });

  it('keeps what it has while it is forbidden', async () => {
    const watch = await rig.listed();
    await watch.refuse(apiError(403));
    assert.equal(rig.reflector.problem?.reason, 'Forbidden');
    await rig.assertWaits(800);
    await (await rig.client.nextWatch()).accept(modified({ name: 'a', rv: 11 }));
    assert.equal(rig.reflector.problem, undefined);
    assert.deepEqual(rig.target.lines, ['replace 10 a', 'MODIFIED a 11']);
  });

  it('refuses a list older than what it knows, and takes it when it stays like that', async () => {
    const watch = await rig.listed();
    await rig.clock.advanceAsync(1000);
    await watch.accept(modified({ name: 'a', rv: 50 }), failed(410));
    for (const delay of [800, 1600]) {
      await (await rig.client.nextList()).answer([widget({ name: 'a', rv: 5 })], '40');
      await rig.assertWaits(delay);
    }
    await (await rig.client.nextList()).answer([widget({ name: 'a', rv: 5 })], '40');
    assert.deepEqual(rig.target.lines, ['replace 10 a', 'MODIFIED a 50', 'replace 40 a']);
  });

  it('lives through anything', async () => {
    const watch = await rig.listed();
    await watch.refuse('a string');
    await rig.clock.advanceAsync(800);
    await (await rig.client.nextWatch()).accept({ type: 'ERROR', object: undefined } as never);
    await rig.clock.advanceAsync(1600);
    await (await rig.client.nextWatch()).accept(null as never);
    await rig.clock.advanceAsync(3200);
    await (await rig.client.nextWatch()).accept({ type: 'ADDED' } as never, added({ name: 'b', rv: 11 }));
    assert.deepEqual(rig.target.lines, ['replace 10 a', 'ADDED b 11']);
  });
});

describe('Reflector a resource that is not served', () => {
  let rig: ReflectorRig;

  beforeEach(() => {
    rig = new ReflectorRig();
  });

  afterEach(() => rig.assertStopsClean());

  it('is waited for', async () => {
    for (const delay of [800, 1600, 3200, 6400, 12_800]) {
      await (await rig.client.nextWatch()).refuse(apiError(404));
      await rig.assertWaits(delay);
    }
    assert.equal(rig.reflector.problem?.reason, 'NotServed');
    assert.match(rig.reflector.problem.message, /widgets\.example\.com .*CustomResourceDefinition/);
    assert.deepEqual(rig.target.lines, [], 'an empty collection was never shown');
    await (await rig.client.nextWatch()).accept(initialEventsEnd(10));
    assert.deepEqual(rig.target.lines, ['replace 10']);
    assert.equal(rig.reflector.problem, undefined);
  });

  it('has no objects any more when it stays away, and is taken up when it returns', async () => {
    const watch = await rig.loaded();
    await rig.clock.advanceAsync(1000);
    await watch.end();
    for (const delay of [800, 1600, 3200, 6400, 12_800]) {
      await (await rig.client.nextWatch()).refuse(apiError(404));
      assert.deepEqual(rig.target.lines, ['replace 10 a']);
      await rig.assertWaits(delay);
    }
    await (await rig.client.nextWatch()).refuse(apiError(404));
    assert.deepEqual(rig.target.lines, ['replace 10 a', 'replace undefined']);
    await rig.assertWaits(25_600);
    await (await rig.client.nextWatch()).accept(added({ name: 'b', rv: 20 }), initialEventsEnd(20));
    assert.deepEqual(rig.target.lines.slice(2), ['replace 20 b']);
  });
});
