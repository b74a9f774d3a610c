/**
 * The property everything else serves: whatever happens and whenever an operator dies, each stale Pod is
 * restarted once per content, nothing is restarted without a change, the world converges, and then it is
 * silent.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { settle } from '../fake/clock.ts';
import { converge, Operator } from './operator.ts';
import { World } from './world.ts';

type Move =
  | { readonly move: 'edit' | 'removeKey' | 'touch' | 'rollPod' | 'scale' }
  | { readonly move: 'time'; readonly ms: number }
  | { readonly move: 'calls'; readonly who: number; readonly count: number }
  | { readonly move: 'begin' | 'crash' | 'sync' | 'syncWatcher' | 'syncConfigMap'; readonly who: number };

const who = fc.nat({ max: 1 });
const moves = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ move: fc.constant('calls' as const), who, count: fc.nat({ max: 5 }) }),
    },
    { weight: 4, arbitrary: fc.record({ move: fc.constant('begin' as const), who }) },
    { weight: 3, arbitrary: fc.record({ move: fc.constant('sync' as const), who }) },
    { weight: 1, arbitrary: fc.record({ move: fc.constant('syncWatcher' as const), who }) },
    { weight: 1, arbitrary: fc.record({ move: fc.constant('syncConfigMap' as const), who }) },
    { weight: 1, arbitrary: fc.record({ move: fc.constant('crash' as const), who }) },
    {
      weight: 5,
      arbitrary: fc.record({
        move: fc.constant('time' as const),
        ms: fc.oneof(fc.nat({ max: 400 }), fc.nat({ max: 4000 })),
      }),
    },
    { weight: 1, arbitrary: fc.record({ move: fc.constantFrom('edit' as const, 'removeKey' as const) }) },
    { weight: 1, arbitrary: fc.record({ move: fc.constantFrom('touch', 'rollPod', 'scale') }) },
  ),
  // Without a size, fast-check keeps to about ten moves.
  { minLength: 20, maxLength: 150, size: 'max' },
) as fc.Arbitrary<Move[]>;

type Strategy = 'Evict' | 'Delete' | 'RolloutRestart';

interface Setting {
  readonly quiet: string;
  readonly cooldown: string;
  readonly strategy: Strategy;
  readonly unmanagedPods: 'Skip' | 'Delete';
  readonly maxUnavailable: string | number;
  readonly minAvailable: number;
}

const settings: fc.Arbitrary<Setting> = fc.record({
  quiet: fc.constantFrom('0s', '2s'),
  cooldown: fc.constantFrom('0s', '5s'),
  strategy: fc.constantFrom('Evict', 'Delete', 'RolloutRestart'),
  unmanagedPods: fc.constantFrom('Skip', 'Delete'),
  maxUnavailable: fc.constantFrom('25%', '100%', 2),
  minAvailable: fc.nat({ max: 4 }),
});

class Play {
  readonly world: World;
  readonly #operators: Operator[];
  #edits = 0;

  constructor({ quiet, cooldown, strategy, unmanagedPods, maxUnavailable, minAvailable }: Setting) {
    this.world = new World({
      strategy: { type: strategy, maxUnavailable, unmanagedPods },
      debounce: { quiet, max: '30s' },
      cooldown: { base: cooldown, max: '60s' },
    });
    this.world.addWorkload('web', 4);
    this.world.addWorkload('game', 2, 'Custom');
    this.world.addWorkload('set', 2, 'ReplicaSet');
    this.world.addPod();
    this.world.minAvailable = minAvailable;
    this.#operators = [this.#start('a'), this.#start('b')];
  }

  get operators(): readonly Operator[] {
    return this.#operators;
  }

  #start(name: string): Operator {
    return new Operator(this.world, name, { free: false });
  }

  async perform(move: Move): Promise<void> {
    const { world } = this;
    const operator = 'who' in move ? this.#operators[move.who]! : this.#operators[0]!;
    switch (move.move) {
      case 'edit':
        world.edit({ ...world.configMap?.data, message: `edit ${++this.#edits}`, [`key${this.#edits}`]: '' });
        break;
      case 'removeKey': {
        const keys = Object.keys(world.configMap?.data ?? {}).filter((key) => key !== 'message');
        const { [keys[0] ?? 'none']: _, ...data } = world.configMap?.data ?? {};
        world.edit(data);
        break;
      }
      case 'touch':
        world.touch();
        break;
      case 'rollPod': {
        const pod = world.livePods().find(({ controller }) => controller !== undefined);
        if (pod) pod.goneAt = world.now + world.grace;
        break;
      }
      case 'scale':
        world.workloads[0]!.replicas = 3 + (this.#edits % 4);
        break;
      case 'time':
        world.step(move.ms);
        break;
      case 'begin':
        operator.begin();
        break;
      case 'calls':
        operator.begin();
        for (let call = 0; call <= move.count; call++) {
          operator.letThrough();
          await settle();
        }
        break;
      case 'sync':
        operator.sync();
        break;
      case 'syncWatcher':
        operator.sync('watcher');
        break;
      case 'syncConfigMap':
        operator.sync('configMap');
        break;
      case 'crash':
        operator.kill();
        this.#operators[move.who] = this.#start(`${move.who}-${world.now}`);
        break;
    }
    await settle();
  }
}

/** creationTimestamps have whole seconds, so within the second of the record nobody can tell. */
function secondOf(time: number): number {
  return Math.floor(time / 1000);
}

function assertEachOncePerContent(world: World): void {
  const firstAt = new Map<string, number>();
  for (const { pod, target, operator, at } of world.restarts) {
    const recorded = target && world.recordedAt.get(target);
    assert.ok(recorded, `${operator} restarted ${pod.name} while no change was recorded`);
    const late = pod.bornAt - recorded;
    assert.ok(
      secondOf(pod.bornAt) <= secondOf(recorded),
      `${pod.name} was made ${late} ms after its change was recorded, and restarted for it`,
    );
    const first = firstAt.get(target) ?? at;
    firstAt.set(target, first);
    assert.ok(pod.bornAt <= first, `${pod.name} is a replacement, and was restarted for the same content`);
    if (!pod.controller) {
      const { unmanagedPods } = world.watcher.spec.strategy ?? {};
      assert.equal(unmanagedPods, 'Delete', 'a bare Pod was restarted');
    }
  }
  const rolledOut = world.rollouts.map(({ workload, target, operator, annotations }) => {
    assert.ok(target && world.recordedAt.has(target), `${operator} rolled out while no change was recorded`);
    return `${workload} for ${JSON.stringify(annotations)}`;
  });
  assert.deepEqual(rolledOut, [...new Set(rolledOut)], 'a template was changed twice for the same change');
}

/** Requests that read or write more than a single object's content. */
function loudRequests({ requests }: World): number {
  return requests.filter((request) => !request.startsWith('get')).length;
}

async function assertStory(setting: Setting, story: readonly Move[]): Promise<void> {
  const play = new Play(setting);
  const { world } = play;
  await converge(world, play.operators);
  assert.equal(world.restarts.length, 0, 'the first sight is the baseline');
  for (const operator of play.operators) operator.free = false;
  for (const move of story) await play.perform(move);

  world.minAvailable = Math.min(world.minAvailable, 2);
  await converge(world, play.operators);
  assertEachOncePerContent(world);
  for (const pod of world.livePods()) {
    if (pod.controller) assert.equal(pod.content, world.content, `${pod.name} kept an old content`);
  }
  // Rollouts and deletions that are under way end by themselves, and the number of Pods with them.
  for (let second = 0; second < 60; second++) world.step(1000);
  await converge(world, play.operators);
  const before = loudRequests(world);
  await converge(world, play.operators);
  assert.equal(loudRequests(world), before, 'not silent at rest');
}

describe('a restart', () => {
  it('happens once per stale Pod and content, whatever happens meanwhile', async () => {
    await fc.assert(fc.asyncProperty(settings, moves, assertStory), { numRuns: 150 });
  });
});
