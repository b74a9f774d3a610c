/** Draws a plan: the same seed gives the same plan. */
import type { AtSpec } from '../../../src/api/at.generated.ts';
import { Random } from '../../../src/testing/random.ts';
import { dueTimeOf } from '../schedule.ts';
import { drawAts, startsAt } from './draw-ats.ts';
import { drawTrouble } from './draw-faults.ts';
import { drawLateCreates } from './draw-late-create.ts';
import { drawWatchers } from './draw-watchers.ts';
import { drawFeatures, type Feature } from './features.ts';
import type { ClockPlan, Deed, Plan } from './plan.ts';

const minute = 60_000;

export function drawPlan(seed: string): Plan {
  const random = new Random(`plan ${seed}`);
  const features = drawFeatures(random.fork('features'));
  const duration = random.pick([2, 5, 10, 30]) * minute;
  const replicas = 1 + random.integer(3);
  const servers = 1 + random.integer(2);
  const draw = { random: random.fork('draw'), features, duration, replicas, servers };
  const life = [
    ...drawAts({ ...draw, random: random.fork('ats') }),
    ...drawWatchers({ ...draw, random: random.fork('watchers') }),
  ];
  const moments = momentsOf(life, duration);
  const { faults, deeds } = drawTrouble({ ...draw, moments, random: random.fork('trouble') });
  const late = drawLateCreates({ ...draw, random: random.fork('late creates') });
  return {
    ...{ seed, duration, replicas, servers },
    election: random.chance(0.5),
    clocks: Array.from({ length: replicas }, (_, index) =>
      drawClock(random.fork(`clock ${index}`), features),
    ),
    features: [...features],
    deeds: [...life, ...late.deeds, ...deeds].sort(byTime),
    faults: [...faults, ...late.faults].sort(byTime),
  };
}

/** When something is done, falls due, or ends, ms since the start: trouble tells most when it comes together with that. */
function momentsOf(deeds: readonly Deed[], duration: number): number[] {
  const due = deeds.flatMap((deed) => {
    const { spec } = (deed.do === 'create' && deed.resource === 'ats' ? deed.object : {}) as {
      spec?: AtSpec;
    };
    if (spec === undefined) return [];
    const begin = Math.max(dueTimeOf(spec) - startsAt, deed.at);
    return [begin, begin + Number(/--for=(\d+)/.exec(spec.command ?? '')?.[1] ?? 0)];
  });
  return [...deeds.map(({ at }) => at), ...due].filter((at) => at > 0 && at < duration);
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
