/** The reconciler under strategy RolloutRestart, and where the status has no place. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherSpec } from '../../src/api/configwatcher.generated.ts';
import { converge, Operator, settled } from './operator.ts';
import type { World } from './world.ts';

describe('RolloutRestart', () => {
  const spec: Partial<ConfigWatcherSpec> = {
    strategy: { type: 'RolloutRestart', progressDeadlineSeconds: 3600 },
  };
  const patches = (world: World) => world.requests.filter((request) => request.startsWith('patch ')).length;

  it('changes each template once and waits until the rollout is through', async () => {
    const { world, operator } = await settled(spec);
    world.edit({ message: 'second' });
    await converge(world, [operator]);
    assert.deepEqual([patches(world), world.restarts.length], [1, 0]);
    assert.deepEqual(new Set(world.livePods().map(({ content }) => content)), new Set([world.content]));
    const id = world.watcher.status?.lastRestart?.id;
    assert.deepEqual(world.workloads[0]?.annotations, { 'k8spatterns.io/restarted-for.web': id });
    assert.equal(world.watcher.status?.lastRestart?.restarted, 4);
    assert.equal(world.watcher.status?.strategyInUse, 'RolloutRestart');
  });

  it('is taken up by the next process without another patch', async () => {
    const { world, operator } = await settled(spec);
    world.edit({ message: 'second' });
    while (patches(world) === 0) {
      operator.sync();
      await operator.reconcile();
      world.step(1000);
    }
    await converge(world, [new Operator(world, 'next')]);
    assert.equal(patches(world), 1);
  });

  it('that is taken back while no operator runs is done once more, and then not fought', async () => {
    const { world, operator } = await settled(spec);
    world.edit({ message: 'second' });
    const until = async (count: number, by: Operator) => {
      while (patches(world) < count) {
        by.sync();
        await by.reconcile();
        world.step(200);
      }
    };
    await until(1, operator);
    const takeBack = () => {
      world.workloads[0]!.annotations = {};
    };
    takeBack();
    const next = new Operator(world, 'next');
    await until(2, next);
    for (let pass = 0; pass < 5; pass++) {
      takeBack();
      world.step(500);
      next.sync();
      await next.reconcile();
    }
    assert.equal(patches(world), 2);
    assert.ok(next.events.some((event) => event.reason === 'RestartStalled'));
  });

  it('is not set back by an operator that knows only an earlier change', async () => {
    const { world, operator } = await settled({ ...spec, debounce: { quiet: '0s' } });
    world.startup = 600_000;
    const old = new Operator(world, 'old');
    const look = async (by: Operator, times = 3) => {
      for (let time = 0; time < times; time++) {
        by.sync();
        await by.reconcile();
        world.step(1000);
      }
    };
    world.edit({ message: 'second' });
    await look(operator);
    await look(old);
    world.edit({ message: 'third' });
    await look(operator);
    const { annotations } = world.workloads[0]!;
    assert.equal(world.rollouts.length, 2);
    // Its copies are of before the third content, and by them there is nothing to write but the template.
    world.step(10_000);
    assert.deepEqual(await old.reconcile(), { requeueAfter: 250 });
    assert.deepEqual([world.workloads[0]?.annotations, world.rollouts.length], [annotations, 2]);
  });

  it('evicts the Pods of other owners, and says so', async () => {
    const { world, operator } = await settled(spec, { replicas: 0 });
    world.addWorkload('game', 2, 'Custom');
    world.edit({ message: 'second' });
    await converge(world, [operator]);
    assert.deepEqual([patches(world), world.restarts.length], [0, 2]);
    assert.ok(
      operator.events.some(({ note }) => note === 'Game game: has no rollout, so its Pods are evicted'),
    );
  });

  async function stuck(
    hold: (world: World) => void,
  ): Promise<{ world: World; operator: Operator; reason?: string }> {
    const { world, operator } = await settled(spec);
    world.edit({ message: 'second' });
    for (let pass = 0; pass < 8; pass++) {
      operator.sync();
      await operator.reconcile();
      hold(world);
      world.step(500);
    }
    const { conditions, pending } = world.watcher.status ?? {};
    assert.equal(pending?.reason, 'Stalled');
    assert.ok(operator.events.some((event) => event.reason === 'RestartStalled'));
    const reason = conditions?.find(({ type }) => type === 'Stalled')?.reason;
    return { world, operator, ...(reason && { reason }) };
  }

  it('of a paused Deployment is Stalled at once, and goes on by itself', async () => {
    const { world, operator, reason } = await stuck(({ workloads }) => {
      workloads[0]!.paused = true;
    });
    assert.deepEqual([reason, patches(world)], ['Paused', 0]);
    world.workloads[0]!.paused = false;
    await converge(world, [operator]);
    assert.equal(patches(world), 1);
  });

  it('that a user takes back is Stalled and not fought; the next edit is a new one', async () => {
    const { world, operator, reason } = await stuck(({ workloads }) => {
      workloads[0]!.annotations = {};
      workloads[0]!.paused = true;
      workloads[0]!.paused = false;
    });
    assert.equal(reason, 'Reverted');
    assert.equal(patches(world), 1);
    for (const name of ['next', 'and the next']) {
      const other = new Operator(world, name);
      for (let look = 0; look < 3; look++) {
        other.sync();
        await other.reconcile();
        world.step(10_000);
      }
    }
    assert.equal(patches(world), 1, 'the next process does not fight it either');
    operator.sync();
    world.edit({ message: 'third' });
    await converge(world, [operator]);
    assert.equal(patches(world), 2);
  });
});

describe("under the book's CRD, which has no status", () => {
  const observed = (world: World) => world.watcher.metadata.annotations?.['k8spatterns.io/observed'];

  it('the state is kept in an annotation, and restarts work as ever', async () => {
    const { world, operator } = await settled();
    world.replaceCrd({ withoutStatus: true });
    world.touch();
    await converge(world, [operator]);
    assert.ok(observed(world), 'the state went over from memory');
    world.edit({ message: 'second' });
    await converge(world, [operator]);
    assert.equal(world.restarts.length, 4);
    assert.equal(operator.events.filter(({ reason }) => reason === 'StatusUnavailable').length, 1);
    await converge(world, [new Operator(world, 'next')]);
    assert.equal(world.restarts.length, 4, 'a start without an edit restarts nothing');
    world.edit({ message: 'third' });
    await converge(world, [new Operator(world, 'third')]);
    assert.equal(world.restarts.length, 8, 'an edit while the operator is down is found');
  });

  it('the state goes back into the status with our CRD', async () => {
    const { world, operator } = await settled();
    world.replaceCrd({ withoutStatus: true });
    await converge(world, [operator]);
    world.replaceCrd({ withoutStatus: false });
    world.step(61_000);
    world.edit({ message: 'second' });
    await converge(world, [operator]);
    assert.equal(world.restarts.length, 4);
    assert.equal(observed(world), undefined);
    assert.equal(world.watcher.status?.restartCount, 1);
  });

  it('the state goes over and back although no client touches the watcher', async () => {
    const { world, operator } = await settled();
    for (const withoutStatus of [true, false]) {
      world.replaceCrd({ withoutStatus });
      operator.store.learn(!withoutStatus);
      operator.sync();
      await operator.reconcile();
      assert.equal(observed(world) !== undefined, withoutStatus);
      assert.equal(world.watcher.status?.appliedHash === undefined, withoutStatus);
      operator.sync();
      assert.equal((await operator.reconcile()).requeueAfter, undefined, 'and then there is rest');
    }
  });

  it('two operators restart each Pod once there, too', async () => {
    const { world, operator } = await settled();
    world.replaceCrd({ withoutStatus: true });
    const other = new Operator(world, 'other');
    await converge(world, [operator, other]);
    world.edit({ message: 'second' });
    await converge(world, [operator, other]);
    assert.equal(world.restarts.length, 4);
  });

  it('an operator with an old copy fails before it has done anything', async () => {
    const { world, operator } = await settled({ debounce: { quiet: '0s' } });
    world.replaceCrd({ withoutStatus: true });
    await converge(world, [operator]);
    const stale = new Operator(world, 'stale');
    world.edit({ message: 'second' });
    await converge(world, [operator]);
    stale.sync('configMap');
    assert.deepEqual(await stale.reconcile(), { requeueAfter: 250 });
    assert.equal(world.restarts.length, 4);
  });

  it('rubbish in the annotation is a first sight', async () => {
    for (const rubbish of [
      '{',
      '[]',
      'null',
      '{"appliedHash":"v1:1","sources":5,"conditions":"x","history":[null]}',
    ]) {
      const { world } = await settled();
      world.replaceCrd({ withoutStatus: true });
      const annotations = { 'k8spatterns.io/observed': rubbish };
      world.watcher = { ...world.watcher, metadata: { ...world.watcher.metadata, annotations } };
      const next = new Operator(world, 'next');
      await converge(world, [next]);
      assert.equal(next.lastError, undefined);
      assert.equal(world.restarts.length, 0);
      assert.notEqual(observed(world), rubbish);
    }
  });
});
