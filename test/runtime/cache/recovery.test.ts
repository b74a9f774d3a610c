import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Resource } from '../../../src/kubernetes/objects.ts';
import { UnreadableEventError } from '../../../src/runtime/client/watch-stream.ts';
import { cut, ReflectorRig } from './reflector-rig.ts';
import { apiError, foreignError, type ScriptedWatch } from './scripted-client.ts';
import { added, failed, initialEventsEnd, modified, widgets } from './widget.ts';

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

  it('waits longer each time while no answer comes, and does not list for it', async () => {
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

  for (const code of [429, 500, 502, 503, 504]) {
    it(`resumes from its position however often the answer is ${code}`, async () => {
      let watch = await rig.listed();
      for (const delay of [800, 1600, 3200, 6400, 12_800]) {
        await watch.refuse(apiError(code));
        await rig.assertWaits(delay);
        watch = await rig.client.nextWatch();
        assert.equal(watch.options.resourceVersion, '10');
      }
      for (const delay of [25_600, 30_000]) {
        await watch.accept(failed(code));
        await rig.assertWaits(delay);
        watch = await rig.client.nextWatch();
        assert.equal(watch.options.resourceVersion, '10');
      }
      assert.equal(rig.counts.relists, 0);
    });
  }

  for (const { what, spoil } of [
    {
      what: 'a line that cannot be read',
      spoil: async (watch: ScriptedWatch) => {
        await watch.accept();
        await watch.break(new UnreadableEventError('no event'));
      },
    },
    { what: 'an event of unforeseen shape', spoil: (watch: ScriptedWatch) => watch.accept(null as never) },
    { what: 'a position that is not valid', spoil: (watch: ScriptedWatch) => watch.refuse(apiError(400)) },
  ]) {
    it(`loads again when ${what} keeps it from going forward twice`, async () => {
      const first = await rig.listed();
      await spoil(first);
      assert.equal(rig.reflector.problem?.reason, 'Failed');
      await rig.assertWaits(800);
      const second = await rig.client.nextWatch();
      assert.equal(second.options.resourceVersion, '10');
      await spoil(second);
      await rig.assertWaits(1600);
      const load = await rig.client.nextWatch();
      assert.equal(load.options.sendInitialEvents, true);
      await load.accept(added({ name: 'b', rv: 12 }), initialEventsEnd(12));
      assert.deepEqual(rig.target.lines, ['replace 10 a', 'replace 12 b']);
      assert.equal(rig.reflector.problem, undefined);
    });
  }

  it('starts counting anew when it went forward in between', async () => {
    let watch = await rig.listed();
    for (const rv of [11, 12, 13]) {
      await watch.accept(modified({ name: 'a', rv }));
      await watch.break(new UnreadableEventError('no event'));
      await rig.clock.advanceAsync(30_000);
      watch = await rig.client.nextWatch();
      assert.equal(watch.options.resourceVersion, String(rv));
    }
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
      await (await rig.client.nextWatch()).accept(added({ name: 'a', rv: 5 }), initialEventsEnd(40));
      await rig.assertWaits(delay);
    }
    await (await rig.client.nextWatch()).accept(added({ name: 'a', rv: 5 }), initialEventsEnd(40));
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

const groups = (...names: string[]) => ({
  kind: 'APIGroupList',
  groups: names.map((name) => ({ name, versions: [{ version: 'v1' }] })),
});
const resources = (...names: string[]) => ({
  kind: 'APIResourceList',
  groupVersion: 'example.com/v1',
  resources: names.map((name) => ({ name })),
});

describe('Reflector a resource that is not served', () => {
  let rig: ReflectorRig;

  beforeEach(() => {
    rig = new ReflectorRig();
    rig.client.documents.set('/readyz', 'ok');
    rig.client.documents.set('/apis', groups('apps'));
  });

  afterEach(() => rig.assertStopsClean());

  it('is waited for', async () => {
    for (const delay of [800, 1600, 3200, 6400, 12_800]) {
      await (await rig.client.nextWatch()).refuse(foreignError(404));
      assert.equal(rig.reflector.problem?.reason, 'NotServed', 'said at once');
      await rig.assertWaits(delay);
    }
    assert.match(rig.reflector.problem?.message ?? '', /widgets\.example\.com .*CustomResourceDefinition/);
    assert.deepEqual(rig.target.lines, [], 'an empty collection was never shown');
    await (await rig.client.nextWatch()).accept(initialEventsEnd(10));
    assert.deepEqual(rig.target.lines, ['replace 10']);
    assert.equal(rig.reflector.problem, undefined);
  });

  for (const { what, documents } of [
    { what: 'its group is', documents: { '/apis': groups('apps') } },
    {
      what: 'it alone is',
      documents: { '/apis': groups('example.com'), '/apis/example.com/v1': resources('gadgets') },
    },
  ]) {
    it(`has no objects any more when ${what} proven away twice, and is taken up when it returns`, async () => {
      const watch = await rig.loaded();
      for (const [path, document] of Object.entries(documents)) rig.client.documents.set(path, document);
      await rig.clock.advanceAsync(1000);
      await watch.end();
      for (const delay of [800, 1600, 3200, 6400]) {
        await (await rig.client.nextWatch()).refuse(apiError(404));
        assert.deepEqual(rig.target.lines, ['replace 10 a']);
        await rig.assertWaits(delay);
      }
      await (await rig.client.nextWatch()).refuse(apiError(404));
      assert.deepEqual(rig.target.lines, ['replace 10 a', 'replace undefined']);
      assert.equal(rig.reflector.sinceLastContact, 0, 'the API server has said so');
      await rig.assertWaits(12_800);
      await (await rig.client.nextWatch()).accept(added({ name: 'b', rv: 20 }), initialEventsEnd(20));
      assert.deepEqual(rig.target.lines.slice(2), ['replace 20 b']);
    });
  }

  const unproven: readonly {
    readonly what: string;
    readonly documents?: Readonly<Record<string, unknown>>;
    readonly resource?: Partial<Resource>;
    readonly reason?: string;
  }[] = [
    { what: 'a proxy answers everything', documents: { '/readyz': undefined, '/apis': undefined } },
    { what: 'a proxy answers everything with a page', documents: { '/readyz': '<p>ok</p>', '/apis': '<p>' } },
    { what: 'the API server is not ready', documents: { '/readyz': '[-]etcd failed' } },
    { what: 'what answers is no discovery', documents: { '/apis': {} } },
    { what: 'the list is no list of groups', documents: { '/apis': { kind: 'Status', groups: [] } } },
    { what: 'the list has no groups', documents: { '/apis': { kind: 'APIGroupList' } } },
    { what: 'its group is there', documents: { '/apis': groups('example.com') } },
    {
      what: 'it is there after all',
      documents: { '/apis': groups('example.com'), '/apis/example.com/v1': resources('widgets') },
    },
    {
      what: 'another version of it is there',
      documents: { '/apis': groups('example.com') },
      resource: { version: 'v2' },
      reason: 'NotServed',
    },
    ...['batch', 'storage.k8s.io', 'rbac.authorization.k8s.io'].map((group) => ({
      what: `it is of ${group}`,
      resource: { group },
      reason: 'NotServed',
    })),
    {
      what: 'it is of the core group',
      documents: { '/api/v1': resources('pods') },
      resource: { group: '' },
      reason: 'NotServed',
    },
  ];

  for (const { what, documents = {}, resource, reason = 'Failed' } of unproven) {
    it(`keeps its objects when ${what}`, async () => {
      await rig.stop();
      rig = new ReflectorRig({ ...widgets, ...resource });
      for (const [path, document] of Object.entries({
        '/readyz': 'ok',
        '/apis': groups('apps'),
        ...documents,
      })) {
        if (document !== undefined) rig.client.documents.set(path, document);
      }
      const watch = await rig.loaded();
      await rig.clock.advanceAsync(1000);
      await watch.end();
      for (const delay of [800, 1600, 3200, 6400, 12_800, 25_600, 30_000]) {
        await (await rig.client.nextWatch()).refuse(foreignError(404));
        assert.equal(rig.reflector.problem?.reason, reason);
        await rig.assertWaits(delay);
      }
      assert.deepEqual(rig.target.lines, ['replace 10 a']);
      await (await rig.client.nextWatch()).accept(added({ name: 'b', rv: 12 }));
      assert.deepEqual(rig.target.lines, ['replace 10 a', 'ADDED b 12'], 'from where it was');
    });
  }

  it('counts two proofs only when nothing in between has contradicted them', async () => {
    const watch = await rig.loaded();
    await rig.clock.advanceAsync(1000);
    await watch.end();
    await (await rig.client.nextWatch()).refuse(apiError(404));
    await rig.clock.advanceAsync(20_000);
    await (await rig.client.nextWatch()).refuse(cut);
    await rig.clock.advanceAsync(20_000);
    await (await rig.client.nextWatch()).refuse(apiError(404));
    assert.deepEqual(rig.target.lines, ['replace 10 a']);
  });
});
