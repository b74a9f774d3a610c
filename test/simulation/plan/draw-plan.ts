/** Draws a plan: the same seed gives the same plan. */
import { Random } from '../../../src/testing/random.ts';
import { drawAts } from './draw-ats.ts';
import { drawTrouble } from './draw-faults.ts';
import { drawWatchers } from './draw-watchers.ts';
import { drawFeatures, type Feature } from './features.ts';
import type { ClockPlan, Plan } from './plan.ts';

const minute = 60_000;

export function drawPlan(seed: string): Plan {
  const random = new Random(`plan ${seed}`);
  const features = drawFeatures(random.fork('features'));
  const duration = random.pick([2, 5, 10, 30]) * minute;
  const replicas = 1 + random.integer(3);
  const servers = 1 + random.integer(2);
  const draw = { random: random.fork('draw'), features, duration, replicas, servers };
  const { faults, deeds } = drawTrouble({ ...draw, random: random.fork('trouble') });
  return {
    ...{ seed, duration, replicas, servers },
    election: random.chance(0.5),
    clocks: Array.from({ length: replicas }, (_, index) =>
      drawClock(random.fork(`clock ${index}`), features),
    ),
    features: [...features],
    deeds: [
      ...drawAts({ ...draw, random: random.fork('ats') }),
      ...drawWatchers({ ...draw, random: random.fork('watchers') }),
      ...deeds,
    ].sort(byTime),
    faults: faults.toSorted(byTime),
  };
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
