/** Draws a plan: the same seed gives the same plan. */
import type { AtSpec } from '../../../src/api/at.generated.ts';
import { Random } from '../../../src/testing/random.ts';
import { dueTimeOf } from '../schedule.ts';
import { drawAts, startsAt } from './draw-ats.ts';
import { drawBrief } from './draw-brief.ts';
import { drawTrouble, type PlannedRun } from './draw-faults.ts';
import { drawLateCreates } from './draw-late-create.ts';
import { drawScenes } from './draw-scenes.ts';
import { drawWatchers } from './draw-watchers.ts';
import { drawFeatures, type Feature } from './features.ts';
import type { ClockPlan, Deed, Plan } from './plan.ts';

const minute = 60_000;

/** For each number the seed of a long plan and that of a brief one. */
export function* seedsOf(name: string, count = Number.POSITIVE_INFINITY): Generator<string> {
  for (let index = 0; index < count; index += 1) {
    yield `${name}-${index}`;
    yield `${name}-b${index}`;
  }
}

/** A brief plan for seeds such as `name-b7`, a long one for `name-7`. */
export function drawPlan(seed: string): Plan {
  if (/-b\d+$/.test(seed)) return drawBrief(seed);
  const random = new Random(`plan ${seed}`);
  const features = drawFeatures(random.fork('features'));
  const duration = random.pick([2, 5, 10, 30]) * minute;
  const replicas = 1 + random.integer(3);
  const servers = 1 + random.integer(2);
  const election = random.chance(0.5);
  const draw = { random: random.fork('draw'), features, duration, replicas, servers, election };
  const life = [
    ...drawAts({ ...draw, random: random.fork('ats') }),
    ...drawWatchers({ ...draw, random: random.fork('watchers') }),
  ];
  const runs = runsOf(life, duration);
  const moments = momentsOf(life, runs, duration);
  const { faults, deeds } = drawTrouble({ ...draw, moments, runs, random: random.fork('trouble') });
  const late = drawLateCreates({ ...draw, random: random.fork('late creates') });
  const scenes = drawScenes({ ...draw, moments, runs, random: random.fork('scenes') });
  return {
    ...{ seed, duration, replicas, servers, election },
    clocks: Array.from({ length: replicas }, (_, index) =>
      drawClock(random.fork(`clock ${index}`), features),
    ),
    features: [...features],
    deeds: [...life, ...late.deeds, ...scenes.deeds, ...deeds].sort(byTime),
    faults: [...faults, ...late.faults, ...scenes.faults].sort(byTime),
  };
}

function runsOf(deeds: readonly Deed[], duration: number): PlannedRun[] {
  return deeds.flatMap((deed) => {
    if (deed.do !== 'create' || deed.resource !== 'ats') return [];
    const { spec } = deed.object as { spec: AtSpec };
    const begin = Math.max(dueTimeOf(spec) - startsAt, deed.at);
    const end = begin + Number(/--for=(\d+)/.exec(spec.command ?? '')?.[1] ?? 0);
    return begin < duration ? [{ name: deed.name, begin, end }] : [];
  });
}

/** When something is done, falls due, or ends, ms since the start: trouble tells most when it comes together with that. */
function momentsOf(deeds: readonly Deed[], runs: readonly PlannedRun[], duration: number): number[] {
  const all = [...deeds.map(({ at }) => at), ...runs.flatMap(({ begin, end }) => [begin, end])];
  return all.filter((at) => at > 0 && at < duration);
}

function byTime(one: { readonly at: number }, other: { readonly at: number }): number {
  return one.at - other.at;
}

function drawClock(random: Random, features: ReadonlySet<Feature>): ClockPlan {
  if (!features.has('clock-skew')) return { skew: 0, drift: 0 };
  return {
    skew: random.pick([-60_000, -2000, -50, 50, 900, 1_200_000]),
    drift: random.pick([0, 1e-4, -1e-4]),
  };
}
