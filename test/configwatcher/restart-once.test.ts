/**
 * The property everything else serves: whatever happens and whenever an operator dies, each stale Pod is
 * restarted once per content, nothing is restarted without a change, the world converges, and then it is
 * silent.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherSpecStrategy } from '../../src/api/configwatcher.generated.ts';
import { settle } from '../fake/clock.ts';
import { fc } from '../fixtures/property.ts';
import { converge, Operator } from './operator.ts';
import type { WorldPod } from './workloads.ts';
import { first, World } from './world.ts';

/** Something that one of the operators does. */
type OperatorMove =
  | { readonly move: 'calls'; readonly who: number; readonly count: number }
  | { readonly move: 'begin' | 'crash' | 'sync' | 'syncWatcher' | 'syncConfigMap'; readonly who: number };

type Move =
  | { readonly move: 'edit' | 'editExtra' | 'editBoth' | 'removeKey' | 'touch' | 'rollPod' | 'scale' }
  | { readonly move: 'sources' | 'batches' | 'suspend' | 'onDelete' | 'probe' }
  | { readonly move: 'time'; readonly ms: number }
  | OperatorMove;

/** Two operators, each of which looks after both watchers. */
const who = fc.nat({ max: 3 });

function some<const Name extends string>(weight: number, ...names: Name[]) {
  return { weight, arbitrary: fc.record({ move: fc.constantFrom(...names) }) };
}

function someBody<const Name extends string>(weight: number, ...names: Name[]) {
  return { weight, arbitrary: fc.record({ move: fc.constantFrom(...names), who }) };
}

const moves = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({ move: fc.constant('calls' as const), who, count: fc.nat({ max: 5 }) }),
    },
    someBody(5, 'begin'),
    someBody(3, 'sync'),
    someBody(2, 'syncWatcher', 'syncConfigMap'),
    someBody(1, 'crash'),
    {
      weight: 6,
      arbitrary: fc.record({
        move: fc.constant('time' as const),
        ms: fc.oneof(fc.nat({ max: 400 }), fc.nat({ max: 4000 })),
      }),
    },
    some(2, 'edit', 'editExtra', 'editBoth', 'removeKey'),
    some(1, 'touch', 'rollPod', 'scale', 'onDelete', 'probe'),
    some(1, 'sources', 'batches', 'suspend'),
  ),
  // Without a size, fast-check keeps to about ten moves.
  { minLength: 20, maxLength: 180, size: 'max' },
) as fc.Arbitrary<Move[]>;

type Strategy = 'Auto' | 'Evict' | 'Delete' | 'RolloutRestart';

interface Setting {
  readonly quiet: string;
  readonly cooldown: string;
  readonly strategy: Strategy;
  readonly unmanagedPods: 'Skip' | 'Delete';
  readonly jobPods: 'Skip' | 'Delete';
  readonly maxUnavailable: string | number;
  readonly minAvailable: number;
  /** Strategy of another watcher, of the other ConfigMap and the same Pods; absent for none. */
  readonly second: Strategy | undefined;
}

const strategies = fc.constantFrom<Strategy>('Auto', 'Evict', 'Delete', 'RolloutRestart');

const settings: fc.Arbitrary<Setting> = fc.record({
  quiet: fc.constantFrom('0s', '2s'),
  cooldown: fc.constantFrom('0s', '5s'),
  strategy: strategies,
  unmanagedPods: fc.constantFrom('Skip', 'Delete'),
  jobPods: fc.constantFrom('Skip', 'Delete'),
  maxUnavailable: fc.constantFrom('25%', '100%', 2),
  minAvailable: fc.nat({ max: 6 }),
  second: fc.option(strategies, { nil: undefined }),
});

const extra = { kind: 'ConfigMap', name: 'extra-config' } as const;

class Play {
  readonly world: World;
  readonly outsider: WorldPod;
  /** How often the content of a ConfigMap became another one, or that of both at once. */
  edits = 0;
  readonly #operators: Operator[];
  readonly #watchers: readonly string[];
  #serial = 0;

  constructor(setting: Setting) {
    const { quiet, cooldown, strategy, second, unmanagedPods, jobPods, maxUnavailable } = setting;
    const spec = {
      strategy: { type: strategy, maxUnavailable, unmanagedPods, jobPods },
      debounce: { quiet, max: '30s' },
      cooldown: { base: cooldown, max: '60s' },
    };
    this.world = new World(spec);
    this.world.edit({ message: 'first' }, { name: extra.name });
    this.#watchers = second ? [first, 'second'] : [first];
    if (second) {
      const other = { ...spec, configMap: extra.name, strategy: { ...spec.strategy, type: second } };
      this.world.addWatcher('second', other);
    }
    this.world.addWorkload('web', 4);
    this.world.addWorkload('game', 2, 'Custom');
    this.world.addWorkload('set', 2, 'ReplicaSet');
    this.world.addWorkload('db', 2, 'StatefulSet');
    this.world.addWorkload('job', 1, 'Job');
    this.world.addPod();
    this.outsider = this.world.addPod({ labels: { app: 'other' } });
    this.world.minAvailable = setting.minAvailable;
    this.#operators = [0, 1, 2, 3].map((who) => this.#start(who, `${who}`));
  }

  get operators(): readonly Operator[] {
    return this.#operators;
  }

  #start(who: number, name: string): Operator {
    return new Operator(this.world, name, { free: false, watcher: this.#watchers[who >> 1] ?? first });
  }

  #edit(...names: string[]): void {
    const edit = ++this.#serial;
    for (const name of names) {
      const data = this.world.configMaps.get(name)?.data;
      this.world.edit({ ...data, message: `edit ${edit}`, [`key${edit}`]: '' }, { name });
    }
    this.edits++;
  }

  #removeKey(): void {
    const { data = {} } = this.world.configMap ?? {};
    const [removed] = Object.keys(data).filter((key) => key !== 'message');
    if (removed === undefined) return;
    const { [removed]: _, ...rest } = data;
    this.world.edit(rest);
    this.edits++;
  }

  #rollPod(): void {
    const { world } = this;
    const pod = world.livePods().find(({ controller }) => controller !== undefined);
    if (pod) pod.goneAt = world.now + world.grace;
  }

  #editSpec(move: 'sources' | 'batches' | 'suspend'): void {
    const { spec } = this.world.watcher;
    if (move === 'sources') this.world.editSpec({ sources: spec.sources?.length ? [] : [extra] });
    if (move === 'suspend') this.world.editSpec({ suspend: !spec.suspend });
    if (move === 'batches') this.world.editSpec({ strategy: { ...spec.strategy, maxUnavailable: 1 } });
  }

  /** What anybody but the operators does. */
  #happen(move: Exclude<Move, OperatorMove | { ms: number }>['move']): void {
    const { world } = this;
    const [web, , , db] = world.workloads;
    switch (move) {
      case 'edit':
        this.#edit('web-config');
        break;
      case 'editExtra':
        this.#edit(extra.name);
        break;
      case 'editBoth':
        this.#edit('web-config', extra.name);
        break;
      case 'removeKey':
        this.#removeKey();
        break;
      case 'touch':
        world.touch();
        break;
      case 'rollPod':
        this.#rollPod();
        break;
      case 'scale':
        web!.replicas = 3 + (this.#serial % 4);
        break;
      case 'onDelete':
        db!.onDelete = !db!.onDelete;
        break;
      case 'probe':
        web!.probed = !web!.probed;
        break;
      default:
        this.#editSpec(move);
    }
  }

  async perform(move: Move): Promise<void> {
    if (move.move === 'time') this.world.step(move.ms);
    else if (!('who' in move)) this.#happen(move.move);
    else await this.#operate(move, this.#operators[move.who]!);
    await settle();
  }

  async #operate(move: OperatorMove, operator: Operator): Promise<void> {
    switch (move.move) {
      case 'begin':
        return operator.begin();
      case 'calls':
        operator.begin();
        for (let call = 0; call <= move.count; call++) {
          operator.letThrough();
          await settle();
        }
        return;
      case 'sync':
        return operator.sync();
      case 'syncWatcher':
        return operator.sync('watcher');
      case 'syncConfigMap':
        return operator.sync('configMap');
      case 'crash':
        operator.kill();
        this.#operators[move.who] = this.#start(move.who, `${move.who}-${this.world.now}`);
    }
  }

  /** Nothing is in the way any more. */
  relent(): void {
    const { world } = this;
    world.minAvailable = Math.min(world.minAvailable, 2);
    for (const workload of world.workloads) workload.onDelete = false;
    world.editSpec({ suspend: false });
  }
}

/** creationTimestamps have whole seconds, so within the second of the record the order is unknown. */
function secondOf(time: number): number {
  return Math.floor(time / 1000);
}

function strategyOf(world: World, target: string): ConfigWatcherSpecStrategy {
  const [name = ''] = target.split(' ');
  return world.watchers.get(name)?.spec.strategy ?? {};
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
    const { unmanagedPods, jobPods } = strategyOf(world, target);
    if (!pod.controller) assert.equal(unmanagedPods, 'Delete', 'a bare Pod was restarted');
    if (pod.controller?.kind === 'Job') assert.equal(jobPods, 'Delete', 'a Pod of a Job was restarted');
  }
  const rolledOut = world.rollouts.map(({ workload, target, operator, annotations }) => {
    assert.ok(target && world.recordedAt.has(target), `${operator} rolled out while no change was recorded`);
    return `${workload} for ${JSON.stringify(annotations)}`;
  });
  assert.deepEqual(rolledOut, [...new Set(rolledOut)], 'a template was changed twice for the same change');
}

/** Every Pod that a watcher may restart serves what its ConfigMap says now. */
function assertUpToDate(world: World): void {
  for (const { spec } of world.watchers.values()) {
    const { configMap = '' } = spec;
    const wanted = world.configMaps.get(configMap)?.data;
    for (const pod of world.livePods()) {
      const { kind } = pod.controller ?? {};
      if (!kind || pod.labels.app !== 'web') continue;
      if (kind === 'Job' && spec.strategy?.jobPods !== 'Delete') continue;
      const served = new Map<string, unknown>(JSON.parse(pod.content));
      assert.deepEqual(served.get(configMap), wanted, `${pod.name} kept an old ${configMap}`);
    }
  }
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

  play.relent();
  await converge(world, play.operators);
  assertEachOncePerContent(world);
  assertUpToDate(world);
  assert.ok(world.pods.has(play.outsider.uid), 'a Pod that no selector matches was restarted');
  const ids = [...world.restartIds].filter((id) => id.startsWith(`${first} `));
  assert.ok(ids.length <= play.edits, `${ids.length} restarts for ${play.edits} edits`);
  const deletes = [setting.strategy, setting.second].includes('Delete');
  assert.equal(world.requests.includes('delete pods') && !deletes, false, 'a Pod was deleted');
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
