/**
 * A restart that is cut at every single call to the API server: the operator dies there, a user edits
 * there, or both. Where restart-once.test.ts tries stories at random, this tries each of these.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settle } from '../fake/clock.ts';
import { converge, Operator } from './operator.ts';
import { World } from './world.ts';

const strategies = ['Auto', 'Evict', 'Delete', 'RolloutRestart'] as const;
type Strategy = (typeof strategies)[number];

/** Owners of every kind under a disruption budget, and a bare Pod. */
async function openWorld(type: Strategy): Promise<{ world: World; operator: Operator }> {
  const world = new World({ strategy: { type }, cooldown: { base: '0s' }, debounce: { quiet: '1s' } });
  world.addWorkload('web', 3);
  world.addWorkload('set', 1, 'ReplicaSet');
  world.addWorkload('game', 2, 'Custom');
  world.addWorkload('toy', 2, 'Custom');
  world.addWorkload('db', 2, 'StatefulSet');
  world.addWorkload('job', 1, 'Job');
  world.addPod();
  world.minAvailable = 8;
  world.step(10_000);
  const operator = new Operator(world, 'first', { free: false });
  await converge(world, [operator]);
  operator.free = false;
  return { world, operator };
}

/** Lets the operator work until so many of its calls have been answered, or until nothing is pending. */
async function work(world: World, operator: Operator, calls: number): Promise<number> {
  let answered = 0;
  const end = world.now + 600_000;
  for (let begun = false; !begun || world.watcher.status?.pending; begun = true) {
    if (world.now > end) throw new Error(`no end: ${JSON.stringify(world.watcher.status)}`);
    operator.sync();
    operator.begin();
    while (operator.running) {
      if (answered === calls) return answered;
      if (operator.letThrough()) answered++;
      await settle();
    }
    const { requeueAfter = 200 } = operator.lastResult ?? {};
    world.step(Math.min(1000, Math.max(200, requeueAfter)));
  }
  return answered;
}

/** How many calls a restart without any trouble takes. */
async function callsOf(type: Strategy): Promise<number> {
  const { world, operator } = await openWorld(type);
  world.edit({ message: 'second' });
  const calls = await work(world, operator, Number.POSITIVE_INFINITY);
  assertRestarted(world, 1, 'undisturbed');
  return calls;
}

/** @param contents how many contents there were after the first. */
function assertRestarted(world: World, contents: number, when: string): void {
  const times = new Map<string, number>();
  for (const { pod, target, unavailable = 0 } of world.restarts) {
    const key = `${pod.uid} for ${target}`;
    times.set(key, (times.get(key) ?? 0) + 1);
    assert.ok(pod.controller, `${when}: a bare Pod was restarted`);
    assert.notEqual(pod.controller.kind, 'Job', when);
    assert.ok(unavailable <= 1, `${when}: ${unavailable} Pods of ${pod.controller.name} were missing`);
  }
  assert.deepEqual(
    [...times].filter(([, count]) => count > 1),
    [],
    `${when}: once per Pod and content`,
  );
  const rollouts = world.rollouts.map(({ workload, target }) => `${workload} for ${target}`);
  assert.equal(new Set(rollouts).size, rollouts.length, `${when}: a template was changed twice`);
  for (const pod of world.livePods()) {
    if (!pod.controller || pod.controller.kind === 'Job') continue;
    assert.equal(pod.content, world.content, `${when}: ${pod.name} kept an old content`);
  }
  const { pending, restartCount = 0 } = world.watcher.status ?? {};
  assert.equal(pending, undefined, `${when}: something is pending`);
  assert.ok(restartCount <= contents, `${when}: ${restartCount} restarts for ${contents} contents`);
  if (contents > 1) return;
  const rolled = world.rollouts.length > 0 ? 5 : 0;
  assert.equal(world.restarts.length + rolled, 10, `${when}: each of the ten Pods went once`);
}

async function assertSilent(world: World, operator: Operator, when: string): Promise<void> {
  const before = world.requests.filter((request) => !request.startsWith('get')).length;
  await converge(world, [operator]);
  const after = world.requests.filter((request) => !request.startsWith('get')).length;
  assert.equal(after, before, `${when}: not silent at rest`);
}

interface Interruption {
  readonly what: string;
  readonly crash: boolean;
  readonly edit: boolean;
}

async function interrupt(type: Strategy, { what, crash, edit }: Interruption, call: number): Promise<void> {
  const when = `${what} after call ${call}`;
  const { world, operator } = await openWorld(type);
  world.edit({ message: 'second' });
  await work(world, operator, call);
  if (edit) world.edit({ message: 'third' });
  if (crash) operator.kill();
  const last = crash ? new Operator(world, 'next') : operator;
  await converge(world, [last]);
  assertRestarted(world, edit ? 2 : 1, when);
  await assertSilent(world, last, when);
}

describe('a restart', () => {
  for (const type of strategies) {
    for (const interruption of [
      { what: 'a crash', crash: true, edit: false },
      { what: 'an edit', crash: false, edit: true },
      { what: 'an edit and a crash', crash: true, edit: true },
    ]) {
      it(`by ${type} survives ${interruption.what} at each of its calls`, async () => {
        const calls = await callsOf(type);
        assert.ok(calls > 10, `${calls} calls`);
        for (let call = 0; call <= calls; call++) await interrupt(type, interruption, call);
      });
    }
  }
});
