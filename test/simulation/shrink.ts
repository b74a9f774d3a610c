/** Shrink: a smaller plan that breaks the same promise, by leaving out parts of it (delta debugging). */
import type { Deed, FaultPlan, Plan } from './plan/plan.ts';

/** Whether a plan still breaks the promise. */
export type Breaks = (plan: Plan) => Promise<boolean>;

/** A deed or a fault. */
type Part = { readonly deed: Deed } | { readonly fault: FaultPlan };

function partsOf({ deeds, faults }: Plan): Part[] {
  return [...faults.map((fault) => ({ fault })), ...deeds.map((deed) => ({ deed }))];
}

function withParts(plan: Plan, parts: readonly Part[]): Plan {
  return {
    ...plan,
    deeds: parts.flatMap((part) => ('deed' in part ? [part.deed] : [])),
    faults: parts.flatMap((part) => ('fault' in part ? [part.fault] : [])),
  };
}

/** Simpler worlds, from the simplest. */
function simpler(plan: Plan): Plan[] {
  const right = plan.clocks.map(() => ({ skew: 0, drift: 0 }));
  const changes: Partial<Plan>[] = [
    { replicas: 1 },
    { replicas: Math.max(1, plan.replicas - 1) },
    { servers: 1 },
    { election: false },
    { clocks: right },
  ];
  return changes
    .map((change) => ({ ...plan, ...change }))
    .filter((other) => JSON.stringify(other) !== JSON.stringify(plan));
}

/** @param maxRuns how many plans are tried. */
export async function shrink(plan: Plan, breaks: Breaks, maxRuns = 300): Promise<Plan> {
  let runs = 0;
  const stillBreaks = async (candidate: Plan) => runs++ < maxRuns && (await breaks(candidate));
  let smallest = await fewerParts(plan, stillBreaks);
  for (let found = true; found && runs < maxRuns; ) {
    found = false;
    for (const candidate of simpler(smallest)) {
      if (!(await stillBreaks(candidate))) continue;
      smallest = candidate;
      found = true;
      break;
    }
  }
  return fewerParts(smallest, stillBreaks);
}

/** ddmin without the step that looks at subsets: leaves out ever smaller pieces. */
async function fewerParts(plan: Plan, breaks: Breaks): Promise<Plan> {
  let parts = partsOf(plan);
  for (let size = Math.ceil(parts.length / 2); size >= 1; ) {
    let left = false;
    for (let start = 0; start < parts.length; ) {
      const rest = [...parts.slice(0, start), ...parts.slice(start + size)];
      if (await breaks(withParts(plan, rest))) {
        parts = rest;
        left = true;
      } else {
        start += size;
      }
    }
    if (size === 1 && !left) break;
    size = size === 1 ? 1 : Math.ceil(size / 2);
  }
  return withParts(plan, parts);
}
