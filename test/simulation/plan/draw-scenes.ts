/**
 * Draws scenes: an object is brought into a state of the coverage table that few plans come to, and faults of many
 * kinds strike while it is there.
 */
import type { Random } from '../../../src/testing/random.ts';
import { atScenes } from './at-scenes.ts';
import { type FaultDraw, makers, type Trouble } from './draw-faults.ts';
import type { Feature } from './features.ts';
import type { Deed, FaultPlan } from './plan.ts';
import type { Scene, SceneDraw, Scenes, Write } from './scene.ts';
import { watcherScenes } from './watcher-scenes.ts';

/** Ms; fits into the shortest plan. */
const sceneLength = 75_000;
/** A strike is over soon, so that others meet the same state; yet a Lease runs out in that time. */
const longestStrike = 20_000;

/** States to which nothing but a scene leads, or hardly anything. */
const rarest = [
  ...['At RUNNING BetweenAttempts', 'At RUNNING SchedulingGated', 'At RUNNING Stopping'],
  ...['At PENDING CreateFailed', 'At PENDING PodRejected'],
  ...['ConfigWatcher Cooldown', 'ConfigWatcher EvictionBlocked', 'ConfigWatcher NewPodsNotAvailable'],
  ...['ConfigWatcher RolloutInProgress', 'ConfigWatcher Stalled'],
  ...['At PENDING NotAuthorized', 'ConfigWatcher ContentUncertain', 'ConfigWatcher RestartAbandoned'],
];
/** What a plan must have, because the operator runs with another option there. */
const needed: Readonly<Record<string, Feature>> = { 'At PENDING NotAuthorized': 'at-author' };

/** After these there is no object for the others. */
const lethal = ['crd', 'namespace'] as const;

/** What strikes: one feature for each kind of fault. */
const striking: readonly Feature[] = [
  ...(['kill', 'terminate', 'sigstop', 'suspend-machine', 'clock-step', 'partition', 'reset'] as const),
  ...(['half-open', 'bad-network', 'kill-at-write', 'write-meets', 'send-meets', 'refuse'] as const),
  ...(['watch-meets', 'stale-cache', 'slow-cache', 'server-down', 'compact', 'close-watches'] as const),
  ...(['node-loss', 'node-clock', 'drain', 'seats', 'pod-quota', 'restricted', ...lethal] as const),
];

interface Kind {
  readonly resource: 'ats' | 'configwatchers';
  readonly scenes: Scenes;
  /** Status is written so. */
  readonly statusWrite: Write;
  /** A part of the spec that changes nothing in any state. */
  readonly idleEdit: (index: number) => object;
}

const ats: Kind = {
  ...{ resource: 'ats', scenes: atScenes, statusWrite: ['PATCH', '/status'] },
  idleEdit: (index) => ({ ttlSecondsAfterFinished: 7200 + index }),
};
const watchers: Kind = {
  ...{ resource: 'configwatchers', scenes: watcherScenes, statusWrite: ['PUT', '/status'] },
  idleEdit: (index) => ({ cooldown: { max: `${11 + index}m` } }),
};

export function drawScenes(draw: FaultDraw): Trouble {
  const { features } = draw;
  if (!features.has('aimed')) return { deeds: [], faults: [] };
  const count = features.has('at') && features.has('watcher') ? 1 : 2;
  const chosen = [
    ...(features.has('at') ? rowsOf(ats, draw, count) : []),
    ...(features.has('watcher') ? rowsOf(watchers, draw, count) : []),
  ];
  const all = chosen.map(([kind, row], index) => drawScene(kind, row, `scene-${index}`, draw));
  return { deeds: all.flatMap(({ deeds }) => deeds), faults: all.flatMap(({ faults }) => faults) };
}

/** So many states, the rarest more often. */
function rowsOf(kind: Kind, { random, features }: FaultDraw, count: number): (readonly [Kind, string])[] {
  const rows = Object.keys(kind.scenes).filter((row) => features.has(needed[row] ?? 'aimed'));
  const again = rarest.filter((row) => rows.includes(row));
  return sample(random, [...rows, ...again, ...again], count).map((row) => [kind, row]);
}

function drawScene(kind: Kind, row: string, name: string, draw: FaultDraw): Trouble {
  const random = draw.random.fork(name);
  const begin = 1000 + random.integer(draw.duration - sceneLength - 2000);
  const own: SceneDraw = { ...draw, ...{ random, name, begin, end: begin + sceneLength } };
  const scene = kind.scenes[row]?.(own);
  if (scene === undefined) throw new RangeError(`there is no scene for ${row}`);
  const features = [...sample(random, striking, 4 + random.integer(6)), ...ofLease(draw)];
  const strikes = features.map((feature, index) =>
    drawStrike({ kind, row, scene, feature, index, own: { ...draw, random }, name, begin }),
  );
  return {
    deeds: [...scene.deeds, ...strikes.flatMap(({ deeds }) => deeds)],
    faults: [...(scene.faults ?? []), ...strikes.flatMap(({ faults }) => faults)],
  };
}

/** Only plans with an election have them, so each scene of those does. */
function ofLease({ election }: FaultDraw): readonly Feature[] {
  return election ? ['lease', 'lease'] : [];
}

interface StrikeDraw {
  readonly kind: Kind;
  readonly row: string;
  readonly scene: Scene;
  readonly feature: Feature;
  readonly index: number;
  readonly own: FaultDraw;
  readonly name: string;
  readonly begin: number;
}

/** A fault that strikes once the object shows the state, and what makes it show it. */
function drawStrike(draw: StrikeDraw): Trouble {
  const { kind, row, scene, feature, index, own, name, begin } = draw;
  const { from, until = sceneLength } = scene;
  const { random } = own;
  const isLethal = lethal.some((one) => one === feature);
  const at = begin + (isLethal ? until - 1000 : from + random.integer(until - from - 1000));
  const isWrite = feature === 'write-meets' || feature === 'send-meets' || feature === 'kill-at-write';
  const edit = isWrite
    ? { spec: kind.idleEdit(index) }
    : { metadata: { annotations: { touched: `${index}` } } };
  const nudge: Deed = scene.nudge?.(at, index) ?? {
    at,
    do: 'patch',
    resource: kind.resource,
    name,
    body: edit,
  };
  const after = isWrite || scene.nudge !== undefined ? 0 : random.pick([0, 2, 50, 1000]);
  const strikes = (makers[feature]?.(own) ?? []).flatMap((fault) => shaped(fault, draw));
  return {
    deeds: [nudge],
    faults: strikes.map((strike) => ({ at: at - 1, fault: 'aimed', on: row, after, strike })),
  };
}

/** Shorter, and at the next write, if it waits for one. */
function shaped(fault: FaultPlan, { kind, scene: { writes = [] }, own }: StrikeDraw): FaultPlan[] {
  const strike = 'for' in fault ? { ...fault, for: Math.min(fault.for, longestStrike) } : fault;
  if (!('skip' in strike)) return [strike];
  const [method, path] = own.random.pick([kind.statusWrite, ...writes]);
  const next = { ...strike, method, path, skip: 0 };
  if (next.fault !== 'kill-at-write') return [next];
  // Whichever replica does it.
  return Array.from({ length: own.replicas }, (_, replica) => ({ ...next, replica }));
}

/** So many of them, in any order. */
function sample<T>(random: Random, items: readonly T[], count: number): T[] {
  const left = [...items];
  return Array.from({ length: Math.min(count, left.length) }, () => {
    const [item] = left.splice(random.integer(left.length), 1);
    return item as T;
  });
}
