/** A content that breaks the Pods that start with it: how much it takes down, what is told, and what mends it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherSpec } from '../../src/api/configwatcher.generated.ts';
import { converge, lookUntil, Operator } from './operator.ts';
import { controllerOf } from './workloads.ts';
import { type Trouble, World } from './world.ts';

const breaksPods = (trouble: Trouble) => (content: string) => (content.includes('bad') ? trouble : undefined);

async function openWorld(
  deployments: number,
  replicas: number,
  spec: Partial<ConfigWatcherSpec> = {},
): Promise<{ world: World; operator: Operator }> {
  const world = new World(spec);
  for (let index = 0; index < deployments; index++) world.addWorkload(`web-${index}`, replicas);
  world.step(10_000);
  const operator = new Operator(world, 'operator');
  await converge(world, [operator]);
  return { world, operator };
}

/** An edit breaks Pods, which is looked at each `interval` ms until it is told. */
async function breakPods(world: World, operator: Operator, trouble: Trouble, interval = 500): Promise<void> {
  world.trouble = breaksPods(trouble);
  world.edit({ message: 'bad' });
  await lookUntil(world, operator, () => stalled(world) !== undefined, interval);
}

/** One Pod of each Deployment is not Ready, whatever the content. */
function breakOneOfEach(world: World): void {
  const known = new Set<string | undefined>();
  for (const pod of world.livePods()) {
    if (!known.has(pod.controller?.uid)) pod.readyAt = Number.POSITIVE_INFINITY;
    known.add(pod.controller?.uid);
  }
}

/** Owners of which a Pod was restarted. */
function touched({ restarts }: World): number {
  return new Set(restarts.map(({ pod }) => pod.controller?.uid)).size;
}

function readyPods(world: World): number {
  return world.livePods().filter((pod) => world.isReady(pod)).length;
}

function stalled(world: World): { readonly reason: string; readonly message: string } | undefined {
  return world.watcher.status?.conditions?.find(({ type }) => type === 'Stalled');
}

function column(world: World): string | undefined {
  return world.watcher.status?.conditions?.find(({ type }) => type === 'Progressing')?.reason;
}

function restartsOf(world: World, index: number): number {
  const { uid } = controllerOf(world.workloads[index]!);
  return world.restarts.filter(({ pod }) => pod.controller?.uid === uid).length;
}

describe('a content that breaks its Pods', () => {
  it('takes down one of thirty Deployments of one Pod, and no more', async () => {
    const { world, operator } = await openWorld(30, 1);
    world.trouble = breaksPods('NeverReady');
    world.edit({ message: 'bad' });
    await lookUntil(world, operator, (looks) => looks === 100, 10_000);
    assert.equal(touched(world), 1);
    assert.equal(readyPods(world), 29);
    assert.equal(stalled(world)?.reason, 'NewPodsNotAvailable');
    assert.match(stalled(world)?.message ?? '', /Deployment web-0: .*Pod \S+ is not Ready/);
    assert.equal(column(world), 'NewPodsNotAvailable');
    const told = operator.events.map(({ reason }) => reason);
    assert.ok(told.includes('RestartStalled') && !told.includes('RestartCompleted'));
    const { unavailable, owners, trigger } = world.watcher.status?.lastRestart ?? {};
    assert.deepEqual([unavailable, trigger?.manager], [1, 'edit']);
    assert.deepEqual(owners, [
      { name: 'Deployment/web-0', restarted: 1, available: 0, reason: 'NewPodsNotAvailable' },
    ]);
    assert.equal(await operator.metric('new_pods_not_available'), 1);
    assert.equal(await operator.metric('stalled'), 0);
  });

  it('that crashes takes one Pod of four, and is told within half a minute', async () => {
    const { world, operator } = await openWorld(1, 4);
    world.minAvailable = 3;
    world.trouble = breaksPods('Crashes');
    world.edit({ message: 'bad' });
    const edited = world.now;
    await lookUntil(world, operator, () => stalled(world) !== undefined, 500);
    assert.ok(world.now - edited < 30_000, `told after ${world.now - edited} ms`);
    assert.match(
      stalled(world)?.message ?? '',
      /container app: Error with exit code 3 after 2 restarts: no such port/,
    );
    await lookUntil(world, operator, (looks) => looks === 100, 1000);
    assert.equal(world.restarts.length, 1);
    assert.ok(readyPods(world) >= 3);
  });

  it('whose Pods do not stay Ready stops at the deadline, and stays stopped while they are Ready for a moment', async () => {
    const { world, operator } = await openWorld(3, 1);
    await breakPods(world, operator, 'Flaps', 10_000);
    const reasons = new Set<string | undefined>();
    await lookUntil(world, operator, (looks) => reasons.add(stalled(world)?.reason) && looks === 100, 1100);
    assert.deepEqual([...reasons], ['NewPodsNotAvailable']);
    assert.equal(touched(world), 1);
    assert.match(stalled(world)?.message ?? '', /Pod \S+ is not Ready, or does not stay so$/);
    world.trouble = () => undefined;
    await converge(world, [operator]);
    assert.deepEqual([touched(world), stalled(world)], [3, undefined]);
  });

  it('that was found at the deadline is known to the next process, which mends it at once', async () => {
    const windows = [{ schedule: '0 3 * * *', duration: '1h' }];
    const { world, operator } = await openWorld(3, 1, { windows });
    world.now = Date.UTC(2024, 0, 2, 3, 45, 0);
    await breakPods(world, operator, 'NeverReady', 10_000);
    world.now = Date.UTC(2024, 0, 2, 4, 1, 0);
    const next = new Operator(world, 'next');
    await lookUntil(world, next, (looks) => looks === 3, 1000);
    assert.equal(stalled(world)?.reason, 'NewPodsNotAvailable');
    world.edit({ message: 'good' });
    const edited = world.now;
    await lookUntil(world, next, () => restartsOf(world, 0) === 2, 200);
    assert.ok(world.now - edited < 3000, `mended after ${world.now - edited} ms`);
    assert.equal(touched(world), 1);
  });

  it('is mended by the next edit, in no cooldown and no window', async () => {
    const windows = [{ schedule: '0 3 * * *', duration: '1h' }];
    const { world, operator } = await openWorld(3, 1, { windows });
    world.now = Date.UTC(2024, 0, 2, 3, 59, 0);
    await breakPods(world, operator, 'Crashes');
    world.step(120_000);
    world.edit({ message: 'good' });
    const edited = world.now;
    await lookUntil(world, operator, () => restartsOf(world, 0) === 2, 200);
    assert.ok(world.now - edited < 3000, `mended after ${world.now - edited} ms`);
    await converge(world, [operator]);
    assert.deepEqual(
      [0, 1, 2].map((index) => restartsOf(world, index)),
      [2, 1, 1],
    );
    assert.equal(stalled(world), undefined);
    assert.deepEqual([readyPods(world), column(world)], [3, 'UpToDate']);
  });

  it('is mended at once by an edit made while the watcher is suspended, too', async () => {
    const windows = [{ schedule: '0 3 * * *', duration: '1h' }];
    const { world, operator } = await openWorld(1, 1, { windows, cooldown: { base: '1h', max: '1h' } });
    world.now = Date.UTC(2024, 0, 2, 3, 59, 0);
    await breakPods(world, operator, 'Crashes');
    world.step(120_000);
    world.editSpec({ suspend: true });
    await lookUntil(world, operator, () => column(world) === 'Suspended', 500);
    world.edit({ message: 'good' });
    await lookUntil(world, operator, () => world.watcher.status?.pending?.repairs !== undefined, 500);
    world.editSpec({ suspend: false });
    const resumed = world.now;
    await lookUntil(world, operator, () => world.restarts.length === 2, 200);
    assert.ok(world.now - resumed < 3000, `mended after ${world.now - resumed} ms`);
    await converge(world, [operator]);
    assert.deepEqual([readyPods(world), column(world)], [1, 'UpToDate']);
  });

  it('replaced by another one touches the same owner again, by the next process, too', async () => {
    const { world, operator } = await openWorld(12, 1, { cooldown: { base: '0s' } });
    await breakPods(world, operator, 'Crashes');
    world.edit({ message: 'as bad' });
    const next = new Operator(world, 'next');
    await lookUntil(world, next, (looks) => looks === 100, 1000);
    assert.equal(touched(world), 1);
    assert.equal(restartsOf(world, 0), 2);
    assert.equal(readyPods(world) >= 11, true);
    world.edit({ message: 'good' });
    await converge(world, [next]);
    assert.equal(world.restarts.length, 14);
  });

  it('that replaces broken ones waits for the cooldown again after three', async () => {
    const { world, operator } = await openWorld(1, 1, { cooldown: { base: '2m', max: '4m' } });
    world.trouble = breaksPods('Crashes');
    const waits: number[] = [];
    for (let edit = 1; edit <= 5; edit++) {
      world.edit({ message: `bad ${edit}` });
      const edited = world.now;
      await lookUntil(world, operator, () => world.restarts.length === edit, 4000);
      waits.push(world.now - edited);
      await lookUntil(world, operator, () => stalled(world) !== undefined, 500);
    }
    assert.deepEqual(
      waits.map((wait) => wait > 60_000),
      [false, false, false, false, true],
    );
  });

  it('and replaces one that is being applied to several owners takes down one of them, and no more', async () => {
    const { world, operator } = await openWorld(12, 1, {
      ...{ debounce: { quiet: '30s' }, cooldown: { base: '0s' }, strategy: { maxOwners: 6 } },
    });
    world.edit({ message: 'good' });
    await lookUntil(world, operator, () => world.restarts.length === 7, 500);
    world.trouble = breaksPods('NeverReady');
    world.edit({ message: 'bad' });
    await lookUntil(world, operator, () => world.restarts.length > 7, 500);
    assert.equal(readyPods(world), 11, 'until then all that were restarted are back');
    await lookUntil(world, operator, (looks) => looks === 100, 10_000);
    assert.deepEqual([world.restarts.length, readyPods(world)], [8, 11]);
    assert.equal(stalled(world)?.reason, 'NewPodsNotAvailable');
    world.edit({ message: 'good again' });
    await converge(world, [operator]);
    assert.deepEqual([readyPods(world), column(world)], [12, 'UpToDate']);
  });

  it('and replaces one that has just brought back owners that were down takes down one of them', async () => {
    const { world, operator } = await openWorld(3, 2, {
      ...{ debounce: { quiet: '0s' }, cooldown: { base: '0s' } },
      strategy: { maxOwners: 3, maxUnavailable: '100%' },
    });
    for (const [index, pod] of world.livePods().entries()) {
      if (index % 2 === 0) pod.readyAt = Number.POSITIVE_INFINITY;
    }
    world.edit({ message: 'good' });
    await lookUntil(world, operator, () => world.restarts.length === 6 && readyPods(world) === 6, 500);
    world.trouble = breaksPods('NeverReady');
    world.edit({ message: 'bad' });
    await lookUntil(world, operator, (looks) => looks === 100, 10_000);
    assert.deepEqual([world.restarts.length, readyPods(world)], [8, 4]);
    assert.equal(stalled(world)?.reason, 'NewPodsNotAvailable');
  });

  it('of several owners, and is replaced by another one, costs Pods that serve of one of them', async () => {
    const strategy = { type: 'Evict', canary: false, maxOwners: 3, maxUnavailable: 1 } as const;
    const { world, operator } = await openWorld(3, 4, {
      ...{ debounce: { quiet: '0s' }, cooldown: { base: '0s' }, strategy },
    });
    await breakPods(world, operator, 'NeverReady', 10_000);
    assert.deepEqual([touched(world), readyPods(world)], [3, 9]);
    world.editSpec({ strategy: { ...strategy, canary: true, maxUnavailable: '100%' } });
    world.edit({ message: 'bad again' });
    await lookUntil(world, operator, (looks) => looks === 100, 10_000);
    assert.deepEqual([world.restarts.length, readyPods(world)], [9, 6], 'three are tried again');
    world.edit({ message: 'good' });
    await converge(world, [operator]);
    assert.deepEqual([readyPods(world), column(world)], [12, 'UpToDate']);
  });

  it('is mended once its replacement works: the next edit waits for the window', async () => {
    const windows = [{ schedule: '0 3 * * *', duration: '1h' }];
    const { world, operator } = await openWorld(12, 1, { windows, strategy: { maxOwners: 1 } });
    world.now = Date.UTC(2024, 0, 2, 3, 59, 0);
    await breakPods(world, operator, 'Crashes');
    world.step(120_000);
    world.edit({ message: 'good' });
    await lookUntil(world, operator, () => touched(world) === 4, 500);
    world.edit({ message: 'better' });
    await lookUntil(world, operator, () => column(world) === 'Window', 1000);
    const before = world.restarts.length;
    await lookUntil(world, operator, (looks) => looks === 100, 10_000);
    assert.equal(world.restarts.length, before);
  });

  it('takes down one Deployment, and no more, where none had all of its Pods before', async () => {
    const { world, operator } = await openWorld(4, 4, { strategy: { maxUnavailable: '50%' } });
    breakOneOfEach(world);
    await breakPods(world, operator, 'Crashes');
    await lookUntil(world, operator, (looks) => looks === 100, 1000);
    assert.equal(touched(world), 1);
    assert.ok(readyPods(world) >= 11, `${readyPods(world)} of 12 Pods are Ready`);
    world.edit({ message: 'good' });
    await converge(world, [operator]);
    assert.deepEqual([touched(world), readyPods(world), column(world)], [4, 16, 'UpToDate']);
  });

  it('may touch several owners at once where the canary is switched off, and stops there', async () => {
    const { world, operator } = await openWorld(12, 1, { strategy: { canary: false, maxOwners: 3 } });
    world.trouble = breaksPods('Crashes');
    world.edit({ message: 'bad' });
    await lookUntil(world, operator, (looks) => looks === 100, 1000);
    assert.equal(touched(world), 3);
  });
});

describe('a content that works', () => {
  it('goes on from the canary to at most maxOwners at a time', async () => {
    const { world, operator } = await openWorld(12, 1, { strategy: { maxOwners: 3 } });
    world.edit({ message: 'good' });
    const missing: number[] = [];
    const isDone = () => {
      missing.push(12 - readyPods(world));
      return world.restarts.length === 12;
    };
    await lookUntil(world, operator, isDone, 500);
    assert.equal(Math.max(...missing), 3);
    const first = world.restarts[0]!.at;
    assert.ok(world.restarts[1]!.at - first >= 10_000, 'the canary has to stand for ten seconds');
    assert.ok(world.restarts.at(-1)!.at - world.restarts[1]!.at < 20_000, 'the others have not');
  });

  it('goes on from one of several Deployments that were partly down, as from one that was not', async () => {
    const { world, operator } = await openWorld(4, 4);
    breakOneOfEach(world);
    world.edit({ message: 'good' });
    await lookUntil(world, operator, () => touched(world) === 4, 500);
    const [first] = world.restarts;
    const others = world.restarts.filter(({ pod }) => pod.controller?.uid !== first!.pod.controller?.uid);
    assert.ok(others[0]!.at - first!.at >= 10_000, 'the first one has to stand for ten seconds');
    assert.ok(others.slice(0, 3).every(({ at }) => at - others[0]!.at < 1000));
    await converge(world, [operator]);
    assert.deepEqual([world.restarts.length, readyPods(world)], [16, 16]);
  });

  it('is told to each owner once, whichever process goes on and whoever else takes Pods', async () => {
    const { world, operator } = await openWorld(2, 4, { cooldown: { base: '0s' } });
    world.edit({ message: 'good' });
    await lookUntil(world, operator, () => world.restarts.length === 2, 500);
    const waiting = world
      .livePods()
      .find((pod) => pod.controller?.uid !== world.restarts[0]?.pod.controller?.uid);
    world.pods.delete(waiting?.uid ?? '');
    await lookUntil(world, operator, (looks) => looks === 2, 500);
    const next = new Operator(world, 'next');
    await converge(world, [next]);
    assert.equal(world.restarts.length, 7);
    world.edit({ message: 'better' });
    await converge(world, [next]);
    const told = [operator, next].map(
      ({ events }) => events.filter(({ reason }) => reason === 'ConfigRestart').length,
    );
    assert.deepEqual(told, [1, 3]);
  });

  it('is not held up by an owner that was down before', async () => {
    const { world, operator } = await openWorld(3, 1);
    const [down] = world.livePods();
    down!.readyAt = Number.POSITIVE_INFINITY;
    const { uid } = down!.controller!;
    world.edit({ message: 'second' });
    await converge(world, [operator]);
    assert.equal(world.restarts.at(-1)?.pod.controller?.uid, uid, 'it goes last');
    assert.equal(world.watcher.status?.pending, undefined);
  });
});
