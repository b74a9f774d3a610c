/**
 * The reconciler in a small world: what people see when they edit a ConfigMap, and what other tools of this
 * kind get wrong.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bigBatch, converge, lookUntil, Operator, replacedWhileDown, settled } from './operator.ts';
import { World } from './world.ts';

function writes(world: World): string[] {
  return world.requests.filter((request) => !/^(get|list) /.test(request));
}

describe('an edited ConfigMap', () => {
  it('restarts every Pod once, and the new ones serve the new content', async () => {
    const { world, operator } = await settled();
    world.edit({ message: 'second' });
    await converge(world, [operator]);
    assert.equal(world.restarts.length, 4);
    assert.deepEqual(new Set(world.livePods().map(({ content }) => content)), new Set([world.content]));
    const { status } = world.watcher;
    assert.equal(status?.pending, undefined);
    assert.deepEqual([status?.restartCount, status?.lastRestart?.restarted, status?.stalePods], [1, 4, 0]);
    assert.deepEqual(status?.lastRestart?.trigger?.changedKeys, ['message']);
    assert.deepEqual(
      operator.events.map(({ reason }) => reason),
      ['ChangeDetected', 'RestartStarted', 'ConfigRestart', 'RestartCompleted'],
    );
  });

  it('reads the watcher after two conflicts while its watch does not show the write of another', async () => {
    const { world, operator } = await settled();
    const other = new Operator(world, 'other');
    world.edit({ message: 'second' });
    other.sync();
    await other.reconcile();
    operator.sync('configMap');
    assert.equal((await operator.reconcile()).requeueAfter, 250);
    assert.equal((await operator.reconcile()).requeueAfter, 500);
    world.edit({ message: 'third' });
    operator.sync('configMap');
    const second = world.watcher.status?.pending?.hash;
    await operator.reconcile();
    assert.notEqual(world.watcher.status?.pending?.hash, second);
    await converge(world, [operator]);
    assert.equal(world.watcher.status?.pending, undefined);
  });

  it('reads the sources with it, whose watch may be behind as well', async () => {
    const { world, operator } = await settled({ debounce: { quiet: '20s', max: '1m' } });
    const other = new Operator(world, 'other');
    world.edit({ message: 'second' });
    operator.sync('configMap');
    other.sync();
    await other.reconcile();
    await operator.reconcile();
    await operator.reconcile();
    const second = world.watcher.status?.pending?.hash;
    world.edit({ message: 'third' });
    world.step(5000);
    await operator.reconcile();
    assert.notEqual(world.watcher.status?.pending?.hash, second);
  });

  it('writes a status again later each time while another client replaces it', async () => {
    const { world, operator } = await settled();
    const { status: before } = world.watcher;
    world.edit({ message: 'second' });
    const waits: (number | undefined)[] = [];
    for (let tries = 0; tries < 4; tries++) {
      operator.sync();
      waits.push((await operator.reconcile()).requeueAfter);
      if (before) world.watcher = { ...world.watcher, status: before };
    }
    assert.deepEqual(waits, [2000, 2000, 1000, 1000]);
    world.now += 1000;
    await converge(world, [operator]);
    assert.equal(world.restarts.length, 4);
  });

  it('never takes away more Ready Pods of an owner than allowed', async () => {
    for (const kind of ['Deployment', 'Custom'] as const) {
      const { world } = await settled({ strategy: { maxUnavailable: 2 } }, { replicas: 0 });
      world.addWorkload('web', 6, kind);
      let fewest = 6;
      const client = new Operator(world, 'watchful');
      world.edit({ message: 'second' });
      const step = world.step.bind(world);
      world.step = (ms) => {
        fewest = Math.min(fewest, world.livePods().filter((pod) => world.isReady(pod)).length);
        step(ms);
      };
      await converge(world, [client]);
      assert.equal(world.restarts.length, 6);
      assert.equal(fewest, 4, kind);
    }
  });

  it('with a hundred per cent restarts all at once, as the book does', async () => {
    const { world, operator } = await settled({
      debounce: { quiet: '0s' },
      strategy: { type: 'Delete', maxUnavailable: '100%' },
    });
    world.edit({ message: 'second' });
    operator.sync();
    await operator.reconcile();
    assert.equal(world.restarts.length, 4);
  });

  it('that is edited twenty times within a second leads to one restart', async () => {
    const { world, operator } = await settled();
    for (let edit = 0; edit < 20; edit++) {
      world.edit({ message: `edit ${edit}` });
      operator.sync();
      await operator.reconcile();
      world.step(50);
    }
    await converge(world, [operator]);
    assert.equal(world.restarts.length, 4);
    assert.equal(world.watcher.status?.restartCount, 1);
  });

  it('while the operator is down is found at its start, once', async () => {
    const { world } = await settled();
    world.edit({ message: 'second' });
    world.step(600_000);
    await converge(world, [new Operator(world, 'next')]);
    assert.equal(world.restarts.length, 4);
  });

  it('while the operator is down spares the Pods that were replaced after it', async () => {
    const world = await replacedWhileDown();
    await converge(world, [new Operator(world, 'next')]);
    assert.equal(world.restarts.length, 3);
  });

  it('is found when a key was removed without a trace in managedFields', async () => {
    const { world, operator } = await settled({}, { replicas: 0 });
    world.edit({ message: 'same', extra: 'gone soon' });
    await converge(world, [operator]);
    world.step(60_000);
    world.addWorkload('web', 2);
    for (const watcher of [operator, new Operator(world, 'next')]) {
      world.step(600_000);
      const { extra, ...rest } = world.configMap?.data ?? {};
      world.edit(extra ? rest : { ...rest, extra: 'again' }, { tool: 'edit' });
      await converge(world, [watcher]);
    }
    assert.equal(world.restarts.length, 4);
  });

  it('is found when the removed key had come during a first read that took long', async () => {
    const world = new World({ cooldown: { base: '0s' } });
    const slow = new Operator(world, 'slow', { free: false });
    slow.begin();
    world.step(60_000);
    world.edit({ message: 'same', extra: 'gone soon' });
    await slow.reconcile();
    world.step(10_000);
    world.addWorkload('web', 2);
    world.step(600_000);
    world.edit({ message: 'same' }, { tool: 'edit' });
    await converge(world, [new Operator(world, 'next')]);
    assert.equal(world.restarts.length, 2);
  });

  it('that waits for a window has one line in the log that says so', async () => {
    const { world, operator } = await settled({ windows: [{ schedule: '0 0 1 1 *', duration: '1s' }] });
    world.step(3_600_000);
    world.edit({ message: 'second' });
    await lookUntil(world, operator, (looks) => looks === 10, 10_000);
    const waits = operator.lines.flatMap((line) => /"waitsFor":"(\w+)"/.exec(line)?.[1] ?? []);
    assert.deepEqual(waits, ['Debounce', 'Window']);
  });

  it('that is deleted and made again with the same data restarts nothing', async () => {
    const { world, operator } = await settled();
    const data = world.configMap?.data ?? {};
    world.deleteConfigMap();
    await converge(world, [operator]);
    assert.equal(world.watcher.status?.conditions?.[0]?.reason, 'SourceMissing');
    assert.equal(await operator.metric('source_missing'), 1);
    world.edit(data);
    await converge(world, [operator]);
    assert.equal(world.restarts.length, 0);
    assert.equal(await operator.metric('source_missing'), 0);
    assert.deepEqual(
      operator.events.map(({ reason }) => reason),
      ['SourceMissing', 'SourceRestored'],
    );
  });

  it('that is deleted and made again with other data restarts, when it is back', async () => {
    const { world, operator } = await settled();
    world.deleteConfigMap();
    await converge(world, [operator]);
    assert.equal(world.restarts.length, 0);
    world.edit({ message: 'other' });
    await converge(world, [operator]);
    assert.equal(world.restarts.length, 4);
  });

  it('that goes back before the restart restarts nothing', async () => {
    const { world, operator } = await settled();
    const before = world.configMap?.data ?? {};
    world.edit({ message: 'oops' });
    operator.sync();
    await operator.reconcile();
    assert.ok(world.watcher.status?.pending);
    world.edit(before);
    await converge(world, [operator]);
    assert.equal(world.restarts.length, 0);
  });
});

describe('a Pod that rewrites its own configuration', () => {
  for (const cooldown of [
    { base: '30s', max: '10m' },
    { base: '30s', max: '60s' },
    { base: '30s', max: '30s' },
  ]) {
    it(`is told of at its fifth wait, at ${cooldown.base} to ${cooldown.max}`, async () => {
      const { world, operator } = await settled({ cooldown }, { replicas: 1 });
      const waits = () => operator.events.filter(({ reason }) => reason === 'CooldownActive');
      for (let restart = 0; restart < 6; restart++) {
        world.edit({ message: `by restart ${restart}` });
        await converge(world, [operator]);
      }
      assert.deepEqual(
        waits().map(({ note }) => note.includes('rewrites its own configuration')),
        [false, false, false, false, true],
      );
    });
  }
});

describe('without an edit', () => {
  it('label and annotation edits cost one small read each and no write', async () => {
    const { world, operator } = await settled();
    const before = [...world.requests];
    for (let edit = 0; edit < 10; edit++) {
      world.touch();
      operator.sync();
      await operator.reconcile();
    }
    assert.deepEqual(world.requests.slice(before.length), Array(10).fill('get configmaps'));
  });

  it('ten starts and failovers restart nothing and write nothing', async () => {
    const { world } = await settled();
    const before = writes(world).length;
    for (let start = 0; start < 10; start++) await converge(world, [new Operator(world, `start ${start}`)]);
    assert.equal(writes(world).length, before);
    assert.equal(world.restarts.length, 0);
  });

  it('the first install restarts nothing', async () => {
    const { world } = await settled();
    assert.equal(world.restarts.length, 0);
    assert.equal(writes(world).length, 1, 'the baseline is one write');
  });

  it('another selector or strategy restarts nothing', async () => {
    const { world, operator } = await settled();
    world.editSpec({ strategy: { type: 'Delete' }, podSelector: { app: 'web', other: 'x' } });
    await converge(world, [operator]);
    world.editSpec({ podSelector: { app: 'web' } });
    await converge(world, [operator]);
    assert.equal(world.restarts.length, 0);
  });

  it('a rollback of the Pods after a restart is not fought', async () => {
    const { world, operator } = await settled();
    world.edit({ message: 'second' });
    await converge(world, [operator]);
    for (const pod of world.livePods()) pod.goneAt = world.now;
    world.step(10_000);
    await converge(world, [operator]);
    assert.equal(world.restarts.length, 4);
  });
});

describe('several operators', () => {
  it('an operator whose copies are old does not take the content of yesterday for a new one', async () => {
    const { world, operator } = await settled();
    const stale = new Operator(world, 'stale');
    await stale.reconcile();
    world.edit({ message: 'second' });
    await converge(world, [operator]);
    assert.equal(world.restarts.length, 4);
    // It sees the new status, and still the old ConfigMap.
    stale.sync('watcher');
    await stale.reconcile();
    await converge(world, [operator]);
    assert.equal(world.restarts.length, 4);
  });

  it('a restart that one begins another ends, with the count of both', async () => {
    const { world, operator } = await settled();
    world.edit({ message: 'second' });
    await lookUntil(world, operator, () => world.restarts.length >= 2, 500);
    await converge(world, [new Operator(world, 'next')]);
    assert.equal(world.restarts.length, 4);
    assert.equal(world.watcher.status?.lastRestart?.restarted, 4);
  });
});

describe('what stands in the way', () => {
  it('a disruption budget: told as EvictionBlocked, finished when the budget allows', async () => {
    const { world, operator } = await settled();
    world.minAvailable = 4;
    world.edit({ message: 'second' });
    await lookUntil(world, operator, (looks) => looks === 60, 1000);
    assert.equal(world.restarts.length, 0);
    assert.equal(world.watcher.status?.pending?.reason, 'EvictionBlocked');
    assert.ok(operator.events.some(({ reason }) => reason === 'EvictionBlocked'));
    const tries = world.requests.filter((request) => request === 'evict pods').length;
    assert.ok(tries <= 16, `${tries} evictions in a minute`);
    const told = (what: string) => operator.lines.filter((line) => line.includes(what)).length;
    assert.deepEqual([told('a disruption budget keeps a Pod'), told('evicted a Pod')], [4, 0]);
    world.minAvailable = 3;
    await converge(world, [operator]);
    assert.equal(world.restarts.length, 4);
    assert.equal(told('evicted a Pod'), 4);
  });

  it('a disruption budget past the deadline: it is named where one looks for the reason', async () => {
    const { world, operator } = await settled({ strategy: { progressDeadlineSeconds: 30 } });
    world.minAvailable = 4;
    world.edit({ message: 'second' });
    await lookUntil(world, operator, (looks) => looks === 60, 1000);
    const stalled = world.watcher.status?.conditions?.find(({ type }) => type === 'Stalled');
    assert.equal(stalled?.reason, 'EvictionBlocked');
    assert.match(stalled?.message ?? '', /Deployment web: .*The disruption budget web needs 4 healthy pods/);
    const event = operator.events.find(({ reason }) => reason === 'RestartStalled');
    assert.match(event?.note ?? '', /The disruption budget web needs 4 healthy pods/);
  });

  it('a content that keeps Pods from getting Ready: the rest serves on, and the next edit mends it', async () => {
    const { world, operator } = await settled({ strategy: { progressDeadlineSeconds: 60 } });
    world.startup = Number.POSITIVE_INFINITY;
    world.edit({ message: 'broken' });
    await lookUntil(world, operator, (looks) => looks === 100, 1000);
    assert.equal(world.restarts.length, 1);
    assert.equal(world.livePods().filter((pod) => world.isReady(pod)).length, 3);
    assert.equal(world.watcher.status?.pending?.reason, 'Stalled');
    const stalled = world.watcher.status?.conditions?.find(({ type }) => type === 'Stalled');
    assert.equal(stalled?.status, 'True');
    world.startup = 1000;
    world.edit({ message: 'mended' });
    await converge(world, [operator]);
    assert.deepEqual(new Set(world.livePods().map(({ content }) => content)), new Set([world.content]));
    assert.equal(
      world.watcher.status?.conditions?.some(({ type }) => type === 'Stalled'),
      false,
    );
  });

  it('a failing read is an error and never "nothing to do"', async () => {
    const { world, operator } = await settled();
    world.edit({ message: 'second' });
    world.failing = 'list pods';
    operator.sync();
    await operator.reconcile();
    assert.match(String(operator.lastError), /broken/);
    assert.equal(world.watcher.status?.pending, undefined);
    world.failing = undefined;
    await converge(world, [operator]);
    assert.equal(world.restarts.length, 4);
  });

  it('a missing right: told on the watcher with verb and resource, and mended by itself', async () => {
    for (const [request, right] of [
      ['get configmaps', 'get configmaps'],
      ['list pods', 'list pods'],
      ['get deployments', 'get deployments'],
      ['evict pods', 'create pods/eviction'],
    ] as const) {
      const { world, operator } = await settled();
      world.edit({ message: 'second' });
      world.forbidden = request;
      const end = world.now + 120_000;
      while (world.now < end) {
        operator.sync();
        const { requeueAfter = 10_000 } = await operator.reconcile();
        world.step(requeueAfter);
      }
      assert.equal(world.restarts.length, 0);
      const ready = world.watcher.status?.conditions?.find(({ type }) => type === 'Ready');
      assert.deepEqual([ready?.status, ready?.reason], ['False', 'Forbidden']);
      assert.ok(ready?.message.includes(right), ready?.message);
      assert.ok(world.requests.filter((made) => made === request).length <= 16, 'hot retry');
      world.forbidden = undefined;
      await converge(world, [operator]);
      assert.equal(world.restarts.length, 4);
      const after = world.watcher.status?.conditions?.find(({ type }) => type === 'Ready');
      assert.equal(after?.status, 'True');
    }
  });

  it('one Pod that cannot be evicted does not keep the others', async () => {
    const { world, operator } = await settled({ strategy: { maxUnavailable: 2 } });
    world.poison = world.livePods()[0]!.name;
    world.edit({ message: 'second' });
    await lookUntil(world, operator, (looks) => looks === 60, 1000);
    assert.equal(world.restarts.length, 3);
    assert.equal(world.watcher.status?.lastRestart?.failed, 1);
    world.poison = undefined;
    await converge(world, [operator]);
    assert.equal(world.restarts.length, 4);
  });
});

describe('a watcher', () => {
  it('with an empty selector behind a lax CRD never reads or touches a Pod', async () => {
    const { world, operator } = await settled({ podSelector: {} });
    world.edit({ message: 'second' });
    await converge(world, [operator]);
    assert.deepEqual(new Set(world.requests), new Set(['updateStatus configwatchers']));
    assert.deepEqual(
      operator.events.map(({ reason }) => reason),
      ['InvalidSpec'],
    );
  });

  it('that is deleted in mid-restart stops', async () => {
    const { world, operator } = await settled();
    world.edit({ message: 'second' });
    await lookUntil(world, operator, () => world.restarts.length > 0, 500);
    const { metadata } = world.watcher;
    world.watcher = {
      ...world.watcher,
      metadata: { ...metadata, deletionTimestamp: '2024-01-01T12:00:00Z' },
    };
    const before = world.requests.length;
    operator.sync();
    assert.deepEqual(await operator.reconcile(), {});
    assert.equal(world.requests.length, before);
  });
});

describe('a big batch', () => {
  for (const [what, change] of [
    ['suspended', (world: World) => world.editSpec({ suspend: true })],
    ['deleted', (world: World) => world.watchers.clear()],
  ] as const) {
    it(`ends after the writes in flight when the watcher is ${what}`, async () => {
      const { world, operator } = await bigBatch();
      change(world);
      operator.sync();
      await operator.end();
      assert.ok(world.restarts.length <= 5 + 32, `${world.restarts.length} Pods were restarted`);
    });
  }
});

describe('secrecy', () => {
  it('no value of a ConfigMap is in status, Events, logs, metrics or errors', async () => {
    const canary = 'canary-7f3a9c';
    const { world, operator } = await settled();
    world.edit({ message: canary, more: `${canary}-too` });
    world.minAvailable = 4;
    await lookUntil(world, operator, (looks) => looks === 30, 1000);
    world.minAvailable = 0;
    world.failing = 'list pods';
    operator.sync();
    await operator.reconcile();
    world.failing = undefined;
    await converge(world, [operator]);
    assert.ok(world.content.includes(canary));
    const outputs = JSON.stringify([
      world.watcher.status,
      operator.events,
      operator.lines,
      String(operator.lastError),
      await operator.metrics(),
    ]);
    assert.ok(!outputs.includes('canary'), 'a value came out');
    assert.ok(!outputs.includes(Buffer.from(canary).toString('base64').slice(0, 12)));
  });
});
